package gen_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/gen/everything"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/health"
	"github.com/parley-agents/parley/protocol/http"
	"github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/protocol/messaging"
	"github.com/parley-agents/parley/protocol/payment"
	"github.com/parley-agents/parley/protocol/subscriptions"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// rounds is how many random values a test makes.
func rounds() int {
	if os.Getenv("PARLEY_LONG") != "" {
		return 20_000
	}
	return 400
}

// A pair is a message type with the codec that uses what was generated and the
// one that does not.
type pair struct {
	name            string
	model           *spec.Record
	fresh           func() any
	generated, slow *uagents.Codec
}

func pairOf[T any](t testing.TB) pair {
	t.Helper()
	model := spec.MustFromGo[T]()
	generated, err := uagents.NewCodec(model, &uagents.CodecOptions{Generated: true})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := uagents.NewCodec(model, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pair{model.Name, model, func() any { return new(T) }, generated, slow}
}

func pairs(t testing.TB) []pair {
	return []pair{
		pairOf[everything.Scalars](t), pairOf[everything.Optionals](t), pairOf[everything.Defaults](t),
		pairOf[everything.Composites](t), pairOf[everything.Unions](t), pairOf[everything.Variants](t), pairOf[everything.Renamed](t), pairOf[everything.Empty](t),
		pairOf[chat.ChatMessage](t), pairOf[chat.ChatAcknowledgement](t),
		pairOf[llm.ContextPrompt](t), pairOf[llm.Response](t), pairOf[llm.StructuredOutputPrompt](t), pairOf[llm.StructuredOutputResponse](t),
		pairOf[health.HealthCheck](t), pairOf[health.AgentHealth](t), pairOf[payment.RequestPayment](t), pairOf[payment.CommitPayment](t),
		pairOf[subscriptions.Tier](t), pairOf[messaging.Message](t), pairOf[http.Request](t), pairOf[http.Response](t),
	}
}

// agree reads a payload with both codecs and, if they take it, writes it again.
func (p pair) agree(t *testing.T, payload []byte) (taken bool) {
	t.Helper()
	fast, slow := p.fresh(), p.fresh()
	err, want := p.generated.Unmarshal(payload, fast), p.slow.Unmarshal(payload, slow)
	if fmt.Sprint(err) != fmt.Sprint(want) {
		t.Fatalf("%s\ngenerated: %v\nreflective: %v", payload, err, want)
	}
	if !reflect.DeepEqual(fast, slow) {
		t.Fatalf("%s\ngenerated: %+v\nreflective: %+v", payload, fast, slow)
	}
	if err != nil {
		return false
	}
	text, err := p.generated.Marshal(fast)
	wantText, want := p.slow.Marshal(slow)
	if !bytes.Equal(text, wantText) || fmt.Sprint(err) != fmt.Sprint(want) {
		t.Fatalf("%s\ngenerated: %s (%v)\nreflective: %s (%v)", payload, text, err, wantText, want)
	}
	return true
}

func TestGeneratedCodecsReadAndWriteWhatReflectiveOnesDo(t *testing.T) {
	for _, p := range pairs(t) {
		t.Run(p.name, func(t *testing.T) {
			random := &values{Rand: rand.New(rand.NewPCG(7, 7))}
			taken := 0
			for range rounds() {
				payload := random.payload(p.model)
				if p.agree(t, payload) {
					taken++
				}
				p.agree(t, random.damaged(payload))
			}
			if taken < rounds()/5 {
				t.Errorf("only %d of %d payloads were taken: the test tests too little", taken, rounds())
			}
		})
	}
}

// Most payloads take the way without reflection, or it would be of no use.
func TestUsualPayloadsNeedNoReflection(t *testing.T) {
	for _, p := range pairs(t) {
		if p.name == "Composites" || p.name == "Unions" || p.name == "Variants" || p.name == "Defaults" {
			continue // they hold what is unusual by design
		}
		random := &values{Rand: rand.New(rand.NewPCG(8, 8)), plain: true}
		for range 100 {
			payload := random.payload(p.model)
			into := p.fresh()
			if !uagents.ReadsItself(payload, into) {
				t.Fatalf("%s: the generated reader gives up on %s", p.name, payload)
			}
			if !uagents.WritesItself(into) {
				t.Fatalf("%s: the generated writer gives up on %s", p.name, payload)
			}
		}
	}
}

func FuzzGeneratedCodecs(f *testing.F) {
	all := pairs(f)
	random := &values{Rand: rand.New(rand.NewPCG(9, 9))}
	for i, p := range all {
		f.Add(uint8(i), random.payload(p.model))
	}
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		all[int(which)%len(all)].agree(t, payload)
	})
}

// What is sent is what encoding/json writes, and it reads it.
func TestGeneratedStructsWorkWithEncodingJSON(t *testing.T) {
	want := chat.Text("héllo")
	text, err := json.Marshal(want)
	if err != nil || !strings.Contains(string(text), `"type":"text"`) {
		t.Fatalf("%s (%v), want the tag of the content", text, err)
	}
	var got chat.ChatMessage
	if err := json.Unmarshal(text, &got); err != nil || got.Text() != want.Text() || got.MsgID != want.MsgID {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	if err := (chat.ChatMessage{Content: []chat.Content{nil}}).Validate(); err == nil {
		t.Error("Validate takes a content that is nil, and an id that is none")
	}
}

// values makes payloads for models.
type values struct {
	*rand.Rand
	plain bool // only what is usual
	depth int
}

func (v *values) payload(r *spec.Record) []byte {
	v.depth = 0
	return []byte(v.record(r))
}

func (v *values) record(r *spec.Record) string {
	v.depth++
	defer func() { v.depth-- }()
	var parts []string
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case !f.Required() && (v.IntN(3) == 0 || v.depth > 4):
			continue
		case (f.Optional || f.Nullable) && v.IntN(3) == 0:
			parts = append(parts, quote(f.Key())+": null")
			continue
		}
		parts = append(parts, quote(f.Key())+v.pick(":", ": ", " : ")+v.typ(f.Type))
	}
	if !v.plain && v.IntN(20) == 0 {
		parts = append(parts, `"unknown": [1, {"a": null}]`)
	}
	v.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, v.pick(",", ", ", " ,\n")) + "}"
}

func (v *values) pick(from ...string) string { return from[v.IntN(len(from))] }

func (v *values) list(n int, item func() string) string {
	var items []string
	for range n {
		items = append(items, item())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (v *values) typ(t spec.Type) string {
	if s, ok := spec.AsScalar(t); ok {
		return v.scalar(s)
	}
	switch t := t.(type) {
	case *spec.List:
		n := v.IntN(3)
		if t.Limits.MinItems != nil {
			n += *t.Limits.MinItems
		}
		if v.depth > 4 {
			n = 0
		}
		return v.list(n, func() string { return v.typ(t.Item) })
	case *spec.Map:
		var parts []string
		n := v.IntN(3)
		if v.depth > 4 {
			n = 0
		}
		for i := range n {
			key := v.typ(t.Key)
			if t.Key == nil || t.Key == spec.Type(spec.String) {
				key = v.pick(`"k`, `"k `, `"`) + strconv.Itoa(i) + `"`
			} else if key[0] != '"' {
				key = quote(key)
			}
			parts = append(parts, key+": "+v.typ(t.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *spec.Tuple:
		i := -1
		return v.list(len(t.Items), func() string { i++; return v.typ(t.Items[i]) })
	case *spec.Union:
		return v.typ(t.Variants[v.IntN(len(t.Variants))])
	case *spec.Literal:
		return string(t.Values[v.IntN(len(t.Values))])
	case *spec.Enum:
		return string(t.Values[v.IntN(len(t.Values))])
	case *spec.Record:
		return v.record(t)
	}
	return "null"
}

func quote(s string) string { return strconv.Quote(s) }

func (v *values) scalar(s spec.Scalar) string {
	switch s.Kind {
	case spec.Any:
		if v.depth > 4 {
			return "null"
		}
		v.depth++
		defer func() { v.depth-- }()
		return v.pick("null", "true", "12", "-1.5", "1e3", `"text"`, `{"a": [1, 2.0, {"b": "c"}]}`, "[]", "{}", `["x", null]`)
	case spec.Null:
		return "null"
	case spec.Bool:
		return v.pick("true", "false")
	case spec.String:
		if s.Limits.Pattern != "" || s.Limits.MinLength != nil {
			return v.pick(`"abc"`, `"a,b"`, `"a'"`, `"xy"`)
		}
		if v.plain {
			return v.pick(`""`, `"plain"`, `"h\u00e9\n\"\\\/"`, `"\ud83d\ude00"`)
		}
		return v.pick(`""`, `"plain"`, `"hé"`, `"\u00e9\n"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u0000\u007f"`, `"a\/b"`)
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64:
		if s.Limits != (spec.Limits{}) {
			return v.pick("2", "4", "8")
		}
		return v.pick("2", "4", "0", "10", "8")
	case spec.Float, spec.Float32, spec.Duration:
		return v.pick("1", "0.5", "1.25e1", "3.0")
	case spec.Decimal:
		return v.pick("1", "1.50", `"2.50"`, `"1e3"`)
	case spec.Bytes:
		return v.pick(`""`, `"bytes"`)
	case spec.DateTime:
		return v.pick(`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.678901+02:00"`, `"2026-01-02T03:04:05.1234567"`, `"2026-01-02T03:04:05.000000999+00:00"`)
	case spec.Date:
		return `"2026-01-02"`
	case spec.Time:
		return v.pick(`"03:04:05"`, `"03:04:05.250000"`)
	case spec.UUID, spec.UUID4:
		return v.pick(`"0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11"`, `"0B9BD2C6-6D3E-4A39-9A25-0D7F1B0B3C1F"`)
	}
	return `"https://example.org/a"`
}

// damaged changes a payload, mostly into one that is refused.
func (v *values) damaged(payload []byte) []byte {
	text := string(payload)
	swap := func(old, new string) string { return strings.Replace(text, old, new, 1+v.IntN(2)) }
	switch v.IntN(16) {
	case 0:
		return []byte(text[:v.IntN(len(text)+1)])
	case 1:
		return []byte(text + v.pick(" ", "\n", "x", "}", ","))
	case 2:
		return []byte(swap("{", v.pick("{,", "[", `{"kind": "circle", `)))
	case 3:
		return []byte(swap("}", v.pick(",}", "]", "", `, "text": "twice"}`)))
	case 4:
		return []byte(swap(": ", v.pick(": null, ", ": -", ": 0", `: "`)))
	case 5:
		return []byte(swap(`"`, v.pick(`'`, `\"`, `"\u00`, `"\x`)))
	case 6:
		return []byte(swap("4", v.pick("5", "", "999999999999999999999", "-")))
	case 7:
		return []byte(swap("2", v.pick("-0", "02", "2.", "2e", "NaN", "Infinity", "1e400", "true")))
	case 8:
		return []byte(swap("true", v.pick("tru", "1", `"true"`)))
	case 9:
		return []byte(swap("[", v.pick("[,", "[null,", "[[")))
	case 10:
		return []byte(swap("05", v.pick("61", "5", "05.", "05,5")))
	case 11:
		return []byte(strings.Repeat(v.pick("[", `{"a":`), 70))
	case 12:
		return append([]byte{0xff}, payload...)
	}
	bad := bytes.Clone(payload)
	if len(bad) > 0 {
		bad[v.IntN(len(bad))] = "\"\\{}[],:0-.eEtnx \x01\x80"[v.IntN(19)]
	}
	return bad
}
