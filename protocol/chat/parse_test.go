package chat_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// A peer leaves out what the constructors of its library fill in.
func ExampleMend() {
	payload := `{"msg_id": "3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c", "timestamp": 1772600767, "content": [{}, {"text": "hi"}]}`

	mended, err := chat.Mend([]byte(payload))

	fmt.Println(string(mended), err)
	// Output:
	// {"timestamp": 1772600767, "msg_id": "3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c", "content": [{"type": "start-session"}, {"type": "text", "text": "hi"}]} <nil>
}

// A parsed is what the library made of a payload.
type parsed struct {
	Input  string `json:"input"`
	OK     bool   `json:"ok"`
	Result struct {
		JSON  string   `json:"json"`
		Types []string `json:"types"`
		Text  string   `json:"text()"`
	} `json:"result"`
	Exception string `json:"exception"`
	Message   string `json:"message"`
}

// Every recorded payload is read, or refused, as the library did.
func TestParseVectors(t *testing.T) {
	codec := laxCodec[chat.ChatMessage](t)
	vectors.Cases(t, vectors.Load(t, "chat.json")["parse"], func(c parsed) string { return c.Input }, func(t *testing.T, c parsed) {
		mended, err := chat.Mend([]byte(c.Input))
		var m chat.ChatMessage
		if err == nil {
			err = codec.Unmarshal(mended, &m)
		}
		if (err == nil) != c.OK {
			t.Fatalf("%s (%v), the library: %v %s", mended, err, c.OK, c.Message)
		}
		if err != nil {
			return
		}
		text, err := codec.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := withoutFilled(t, c.Input, string(text)), withoutFilled(t, c.Input, c.Result.JSON); got != want {
			t.Errorf("read and written:\n got %s\nwant %s", got, want)
		}
		var types []string
		for _, content := range m.Content {
			types = append(types, reflect.TypeOf(content).Name())
		}
		if strings.Join(types, " ") != strings.Join(c.Result.Types, " ") || m.Text() != c.Result.Text {
			t.Errorf("types %v and text %q, want %v and %q", types, m.Text(), c.Result.Types, c.Result.Text)
		}
	})
}

// withoutFilled takes out what a constructor made up.
func withoutFilled(t *testing.T, input, output string) string {
	t.Helper()
	in, err := pyjson.Parse([]byte(input), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pyjson.Parse([]byte(output), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"timestamp", "msg_id"} {
		if _, given := in.Get(key); !given {
			out.Set(key, pyjson.Value{})
		}
	}
	return string(pyjson.Append(nil, out, pyjson.Spaced))
}

func laxCodec[T any](t testing.TB) *uagents.Codec {
	t.Helper()
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	codec, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: true})
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// Whatever Python counts as false is filled, not read: 0 is not 1970.
func TestMendFillsWhatPythonCountsAsFalse(t *testing.T) {
	codec := laxCodec[chat.ChatMessage](t)
	for _, nothing := range []string{`null`, `0`, `0.0`, `-0.0`, `""`, `false`, `[]`, `{}`} {
		before := time.Now().Add(-time.Second)
		mended, err := chat.Mend(fmt.Appendf(nil, `{"content": [], "timestamp": %s, "msg_id": %s}`, nothing, nothing))
		if err != nil {
			t.Errorf("%s: %v", nothing, err)
			continue
		}
		var m chat.ChatMessage
		if err := codec.Unmarshal(mended, &m); err != nil {
			t.Errorf("%s: %v\n%s", nothing, err, mended)
		}
		if m.Timestamp.Before(before) || m.Timestamp.After(time.Now().Add(time.Second)) {
			t.Errorf("%s: the timestamp is %s, not now", nothing, m.Timestamp)
		}
		if m.MsgID.Version() != 4 {
			t.Errorf("%s: msg_id %s is of version %d", nothing, m.MsgID, m.MsgID.Version())
		}
	}
}

// A node reads a message more than once; it must stay the same message.
func TestMendMakesTheSameIDEachTime(t *testing.T) {
	id := func(payload string) string {
		mended, err := chat.Mend([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			MsgID string `json:"msg_id"`
		}
		if err := json.Unmarshal(mended, &m); err != nil {
			t.Fatal(err)
		}
		return m.MsgID
	}
	once := id(`{"content": [{"text": "hi"}]}`)

	if again := id(`{"content": [{"text": "hi"}]}`); again != once {
		t.Errorf("the same payload has the ids %s and %s", once, again)
	}
	if other := id(`{"content": [{"text": "ho"}]}`); other == once {
		t.Errorf("two payloads have the id %s", once)
	}
}

// A refusal names the place and says what would do.
// A message that is as it should be is not written anew.
func TestMendLeavesWhatIsWhole(t *testing.T) {
	whole := `{"timestamp":"2026-11-15T08:00:00.5+00:00", "msg_id":"3f2b8c1e-7a4d-4c6b-9e2f-5d1c0b8a7e10", "content":[{"type":"text","text":"\u00e9"},{"type":"metadata","metadata":{"a":"b"}}]}`
	if got, err := chat.Mend([]byte(whole)); err != nil || string(got) != whole {
		t.Errorf("Mend = %s (%v)", got, err)
	}
	if got, err := chat.Mend([]byte(strings.Replace(whole, `"type":"text",`, "", 1))); err != nil || !strings.Contains(string(got), `{"type": "text", "text":`) {
		t.Errorf("Mend = %s (%v), want the type", got, err)
	}
}

func TestMendRefuses(t *testing.T) {
	const kinds = "text, resource, metadata, start-session, end-session, start-stream, end-stream"
	for _, tc := range []struct{ name, payload, want string }{
		{"an unknown key in the message", `{"content": [], "extra": 1}`, "malformed: extra: ChatMessage has no such field"},
		{"an unknown key in a content", `{"content": [{}, {"type": "text", "text": "x", "extra": 1}]}`, "malformed: content[1].extra: TextContent has no such field"},
		{"an unknown kind", `{"content": [{"type": "unknown", "text": "x"}]}`, `malformed: content[0].type: no kind of content is called "unknown"; expected one of ` + kinds},
		{"keys of no kind", `{"content": [{"txt": "x"}]}`, "malformed: content[0]: no kind of content has exactly the keys txt; give it a type, one of " + kinds},
		{"no content", `{"msg_id": null}`, "malformed: content: the field is required"},
		{"no JSON", `{"content": [}`, "malformed: expected a value at byte 13 of the JSON text, found '}'"},
		{"too deep", `{"content": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "too_large: the JSON text nests too deep at byte 75"},
		{"too many parts", `{"content": [` + strings.Repeat(`{},`, 10_000) + `{}]}`, "too_large: content: a list of 10001 items, at most 10000 are read"},
		{"too many whole parts", `{"timestamp":"2026-11-15T08:00:00Z","msg_id":"3f2b8c1e-7a4d-4c6b-9e2f-5d1c0b8a7e10","content":[` + strings.Repeat(`{"type":"end-session"},`, 10_000) + `{"type":"end-session"}]}`,
			"too_large: content: a list of 10001 items, at most 10000 are read"},
		{"too many parts, in pairs", `[["content", [` + strings.Repeat(`{},`, 10_000) + `{}]]]`, "too_large: [0][1]: a list of 10001 items, at most 10000 are read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if mended, err := chat.Mend([]byte(tc.payload)); err == nil || err.Error() != tc.want {
				t.Errorf("Mend = %s, %v\nwant %s", mended, err, tc.want)
			}
		})
	}
	if _, err := chat.Mend([]byte(`{"content": [{"text": "` + strings.Repeat("x", 1<<20) + `"}]}`)); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("over a megabyte: %v", err)
	}
}

func TestMendAcknowledgement(t *testing.T) {
	const id = "3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c"
	codec := laxCodec[chat.ChatAcknowledgement](t)
	mended, err := chat.MendAcknowledgement([]byte(`{"acknowledged_msg_id": "` + id + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	var ack chat.ChatAcknowledgement
	if err := codec.Unmarshal(mended, &ack); err != nil {
		t.Fatal(err)
	}
	if ack.AcknowledgedMsgID.String() != id || time.Since(ack.Timestamp).Abs() > time.Minute || ack.Metadata != nil {
		t.Errorf("%s is read as %+v", mended, ack)
	}
	for payload, want := range map[string]string{
		`{"acknowledged_msg_id": "` + id + `", "note": 1}`: "malformed: note: ChatAcknowledgement has no such field",
		`{"timestamp": 1}`: "malformed: acknowledged_msg_id: the field is required",
	} {
		if mended, err := chat.MendAcknowledgement([]byte(payload)); err == nil || err.Error() != want {
			t.Errorf("%s: %s, %v\nwant %s", payload, mended, err, want)
		}
	}
}

// FuzzMend checks that no payload crashes, that what comes out has an id and is
// not changed by mending it again, and that the id does not depend on the time.
func FuzzMend(f *testing.F) {
	var cases []parsed
	if err := json.Unmarshal(vectors.Load(f, "chat.json")["parse"], &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		f.Add([]byte(c.Input))
	}
	f.Add([]byte(`[["content", [{}]]]`))
	f.Add([]byte(`{"acknowledged_msg_id": "3f2c1a4e-8b5d-4f6a-9c7b-1d2e3f4a5b6c", "metadata": [["a", 1]]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, mend := range []func([]byte) ([]byte, error){chat.Mend, chat.MendAcknowledgement} {
			once, err := mend(payload)
			if err != nil {
				if code := fault.CodeOf(err); code != fault.Malformed && code != fault.TooLarge {
					t.Fatalf("%q: %v", payload, err)
				}
				continue
			}
			twice, err := mend(once)
			if err != nil && fault.CodeOf(err) != fault.TooLarge || err == nil && string(twice) != string(once) {
				t.Fatalf("%q\nis mended %s\nand then  %s (%v)", payload, once, twice, err)
			}
			if v, _ := pyjson.Parse(once, nil); v.Kind == pyjson.Object {
				if id, known := v.Get("msg_id"); known && id.Kind == pyjson.Null {
					t.Fatalf("%q: no id in %s", payload, once)
				}
			}
		}
	})
}
