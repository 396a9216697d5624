package chat

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// The Python classes of this protocol have constructors of their own, and a
// constructor takes other things than the model says: it knows its arguments and
// has defaults for some. Messages pass through it when they are read, so real
// agents send what it takes. This file holds what the constructors do; all else,
// such as numbers for text, is the business of the lax codec.

// Mend completes a ChatMessage as the constructors of the Python library do. It is
// made for parley.Mend:
//
//	parley.On(agent, answer, parley.Mend(chat.Mend))
//
// A content without type becomes the first kind that takes exactly its keys, so
// that {"text": "hi"} is text and {} starts a session. A key that the message or a
// content does not know is refused. A timestamp or msg_id that is missing, or that
// Python counts as false (null, 0, ""), is filled: the time is now, the id is made
// from the payload, the same each time. Two messages of the same bytes without an
// id are thus one message.
func Mend(payload []byte) ([]byte, error) { return mend(payload, new(ChatMessage), messageShape) }

// MendAcknowledgement is [Mend] for a ChatAcknowledgement: unknown keys are
// refused, and a missing timestamp is now.
func MendAcknowledgement(payload []byte) ([]byte, error) {
	return mend(payload, new(ChatAcknowledgement), acknowledgementShape)
}

func mend(payload []byte, whole any, shape func() (*uagents.Codec, error)) ([]byte, error) {
	if len(payload) <= maxWhole && uagents.ReadsItself(payload, whole) {
		return payload, nil // nothing is missing or odd, as in most
	}
	codec, err := shape()
	if err != nil {
		return nil, err
	}
	if err := checkLists(payload); err != nil {
		return nil, err
	}
	text, err := codec.Normalize(payload)
	if err != nil {
		return nil, explain(payload, err)
	}
	message, err := pyjson.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	filled := false
	for key, made := range map[string]func() string{
		"timestamp": func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00") },
		"msg_id":    func() string { return idOf(payload).String() },
	} {
		if given, known := message.Get(key); known && isFalse(given) {
			message.Set(key, pyjson.Of(made()))
			filled = true
		}
	}
	if filled {
		text = pyjson.Append(nil, message, pyjson.Spaced)
	}
	return text, nil
}

const (
	maxPayload = 1 << 20 // what the codec reads
	maxItems   = 10_000  // of a list in a message
	maxWhole   = 200_000 // bytes, with which no list of whole items has more than maxItems
)

// checkLists refuses a message with very many parts. Each is held against all kinds
// of content, and a megabyte of {} would take seconds.
func checkLists(payload []byte) error {
	if len(payload) > maxPayload {
		return nil // the codec refuses it unread
	}
	message, err := pyjson.Parse(payload, nil)
	if err != nil {
		return err
	}
	return checkLength(message)
}

func checkLength(v pyjson.Value) error {
	if len(v.Items) > maxItems {
		return fault.Errorf(fault.TooLarge, "", "a list of %d items, at most %d are read", len(v.Items), maxItems)
	}
	for i, item := range v.Items {
		if err := checkLength(item); err != nil {
			return fault.In("["+strconv.Itoa(i)+"]", err)
		}
	}
	for _, m := range v.Members {
		if err := checkLength(m.Value); err != nil {
			return fault.In(pyjson.Brief(m.Key), err)
		}
	}
	return nil
}

// isFalse is Python's "not v".
func isFalse(v pyjson.Value) bool {
	switch v.Kind {
	case pyjson.Bool:
		return !v.Bool
	case pyjson.Int:
		return v.Text == "0"
	case pyjson.Float:
		return v.Num == 0
	case pyjson.String:
		return v.Text == ""
	}
	return len(v.Items) == 0 && len(v.Members) == 0
}

// idOf makes the id of a message that has none.
func idOf(payload []byte) uuid.UUID {
	hash := sha256.Sum256(payload)
	id := uuid.UUID(hash[:16])
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// What may be filled has no type in these shapes: Python fills it before it looks
// at the type, and 0 is then not the year 1970.
type (
	messageOf struct {
		Timestamp any       `json:"timestamp"`
		MsgID     any       `json:"msg_id"`
		Content   []Content `json:"content"`
	}
	acknowledgementOf struct {
		Timestamp         any               `json:"timestamp"`
		AcknowledgedMsgID uuid.UUID         `json:"acknowledged_msg_id" parley:"uuid4"`
		Metadata          map[string]string `json:"metadata,omitempty"`
	}
)

var (
	messageShape         = sync.OnceValues(func() (*uagents.Codec, error) { return shapeOf[messageOf]("ChatMessage") })
	acknowledgementShape = sync.OnceValues(func() (*uagents.Codec, error) { return shapeOf[acknowledgementOf]("ChatAcknowledgement") })
)

func shapeOf[T any](name string) (*uagents.Codec, error) {
	model, err := spec.FromGo[T]()
	if err != nil {
		return nil, err
	}
	constructed := []spec.Annotation{{Name: uagents.Constructed}}
	model.Name, model.Annotations = name, constructed
	if content := model.Field("content"); content != nil {
		for _, kind := range content.Type.(*spec.List).Item.(*spec.Union).Variants {
			kind.(*spec.Record).Annotations = constructed
		}
	}
	return uagents.NewCodec(model, &uagents.CodecOptions{Lax: true})
}

// kinds are the contents with the keys that each takes beside type.
var kinds = []struct {
	name string
	keys []string
}{
	{"text", []string{"text"}},
	{"resource", []string{"resource_id", "resource"}},
	{"metadata", []string{"metadata"}},
	{"start-session", nil},
	{"end-session", nil},
	{"start-stream", []string{"stream_id"}},
	{"end-stream", []string{"stream_id"}},
}

// explain says of the first content that is of no kind what is wrong with it. The
// codec only knows that none of the kinds fits.
func explain(payload []byte, err error) error {
	message, bad := pyjson.Parse(payload, nil)
	if bad != nil || fault.CodeOf(err) != fault.Malformed {
		return err
	}
	content, _ := message.Get("content")
	for i, item := range content.Items {
		if why := whyNoKind(item); why != nil {
			return fault.In("content", fault.In("["+strconv.Itoa(i)+"]", why))
		}
	}
	return err
}

func whyNoKind(item pyjson.Value) error {
	if item.Kind != pyjson.Object {
		return nil
	}
	var names, keys []string
	for _, kind := range kinds {
		names = append(names, kind.name)
	}
	for _, m := range item.Members {
		if m.Key != "type" {
			keys = append(keys, m.Key)
		}
	}
	given, typed := item.Get("type")
	if typed {
		if given.Kind == pyjson.String && slices.Contains(names, given.Text) {
			return nil
		}
		return fault.Errorf(fault.Malformed, "type", "no kind of content is called %s; expected one of %s",
			pyjson.Brief(string(pyjson.Append(nil, given, pyjson.Compact))), strings.Join(names, ", "))
	}
	for _, kind := range kinds {
		if len(keys) == len(kind.keys) && !slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(kind.keys, key) }) {
			return nil
		}
	}
	return fault.Errorf(fault.Malformed, "", "no kind of content has exactly the keys %s; give it a type, one of %s",
		pyjson.Brief(strings.Join(keys, ", ")), strings.Join(names, ", "))
}
