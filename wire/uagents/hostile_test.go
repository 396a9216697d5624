package uagents_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// inTime runs what would take no end if it were done the simple way: a minute
// would be an explosion, the work takes a fraction of a second.
func inTime(t *testing.T, run func()) {
	t.Helper()
	done := make(chan struct{})
	start := time.Now()
	go func() { defer close(done); run() }()
	select {
	case <-done:
		t.Logf("took %v", time.Since(start))
	case <-time.After(time.Minute):
		t.Fatal("still running after a minute")
	}
}

func newCodec(t *testing.T, model spec.Type, opts *uagents.CodecOptions) *uagents.Codec {
	t.Helper()
	codec, err := uagents.NewCodec(model, opts)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// branching is a record whose field may be this record or its twin, so that
// there are two ways at every level.
func branching() *spec.Record {
	a, b := &spec.Record{Name: "A"}, &spec.Record{Name: "B"}
	next := &spec.Union{Variants: []spec.Type{a, b}}
	a.Fields = []spec.Field{{Name: "x", Type: next, Optional: true}, {Name: "kind", Type: &spec.Literal{Values: []spec.JSON{`"a"`}}}}
	b.Fields = []spec.Field{{Name: "x", Type: next, Optional: true}, {Name: "kind", Type: &spec.Literal{Values: []spec.JSON{`"b"`}}}}
	return a
}

// A payload nested as deep as may be, through unions that all look alike until
// the innermost value, is read in time and refused with a text of bounded size.
func TestUnionsInUnionsAreReadInTime(t *testing.T) {
	const depth = 60
	build := func(kinds func(int) string) string {
		text := `{"kind": "` + kinds(depth) + `"}`
		for i := range depth {
			text = `{"x": ` + text + `, "kind": "` + kinds(depth-1-i) + `"}`
		}
		return text
	}
	good := build(func(i int) string { return map[bool]string{true: "a", false: "b"}[i%2 == 0] })
	bad := build(func(i int) string { return map[bool]string{true: "c", false: "a"}[i == depth] })
	for _, lax := range []bool{false, true} {
		codec := newCodec(t, branching(), &uagents.CodecOptions{Lax: lax})
		inTime(t, func() {
			if _, err := codec.Normalize([]byte(good)); err != nil {
				t.Errorf("lax=%t: %.200v", lax, err)
			}
			_, err := codec.Normalize([]byte(bad))
			if err == nil || len(err.Error()) > 2000 {
				t.Errorf("lax=%t: the error has %d bytes: %.200v", lax, len(fmt.Sprint(err)), err)
			}
		})
	}
}

type expression interface{ expression(func(sum, product)) }

type (
	sum struct {
		Parts []expression `json:"parts"`
		Kind  string       `json:"kind" parley:"literal=sum"`
	}
	product struct {
		Parts []expression `json:"parts"`
		Kind  string       `json:"kind" parley:"literal=product"`
	}
)

func (sum) expression(func(sum, product))     {}
func (product) expression(func(sum, product)) {}

// The same holds for filling Go values.
func TestNestedUnionsAreFilledInTime(t *testing.T) {
	value := product{Parts: []expression{}, Kind: "product"}
	for range 28 {
		value = product{Parts: []expression{value, sum{Parts: []expression{}, Kind: "sum"}}, Kind: "product"}
	}
	codec := codecOf[product](t, nil)
	text, err := codec.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	inTime(t, func() {
		var got product
		if err := codec.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, value) {
			t.Errorf("read back %.100v (%v)", got, err)
		}
	})
}

// An object of many members, or a record of many fields, costs no square.
func TestManyMembersAndFieldsAreReadInTime(t *testing.T) {
	wide := &spec.Record{Name: "Wide", Closed: true}
	var b strings.Builder
	b.WriteString(`{"k0": 0`)
	wide.Fields = append(wide.Fields, spec.Field{Name: "k0", Type: spec.Int})
	for i := 1; b.Len() < 900_000; i++ {
		name := "k" + itoa(i)
		wide.Fields = append(wide.Fields, spec.Field{Name: name, Type: spec.Int, Optional: true})
		b.WriteString(`, "` + name + `": 1`)
	}
	payload := []byte(b.String() + "}")
	pairs := []byte("[" + strings.ReplaceAll(strings.ReplaceAll(strings.Trim(string(payload), "{}"), ", ", "], ["), `": `, `", `) + "]")
	pairs = []byte("[" + string(pairs) + "]")
	numbers := []byte(strings.ReplaceAll(string(payload), `"k`, `" `))
	record := spec.Type(&spec.Record{Name: "R", Fields: []spec.Field{{Name: "map", Type: &spec.Map{Value: spec.Int}}}})
	byNumber := spec.Type(&spec.Alias{Name: "N", Type: &spec.Map{Key: spec.Int, Value: spec.Int}})
	lax := &uagents.CodecOptions{Lax: true, MaxSize: 4 << 20}
	for name, tc := range map[string]struct {
		model   spec.Type
		opts    *uagents.CodecOptions
		payload []byte
	}{
		"many fields":               {wide, nil, payload},
		"a list of pairs":           {wide, lax, pairs},
		"many members":              {record, nil, []byte(`{"map": ` + string(payload) + `}`)},
		"members as pairs":          {record, lax, []byte(`{"map": ` + string(pairs) + `}`)},
		"keys that are spelled odd": {byNumber, lax, numbers},
	} {
		t.Run(name, func(t *testing.T) {
			codec := newCodec(t, tc.model, tc.opts)
			inTime(t, func() {
				if _, err := codec.Normalize(tc.payload); err != nil {
					t.Errorf("%.200v", err)
				}
			})
		})
	}
}

// A long list of values to choose from is not searched for every item.
func TestManyChoicesAreReadInTime(t *testing.T) {
	enum := &spec.Enum{Name: "E", Base: spec.String}
	for i := range 20_000 {
		enum.Values = append(enum.Values, spec.JSON(`"v`+itoa(i)+`"`))
	}
	codec := newCodec(t, &spec.Alias{Name: "A", Type: &spec.List{Item: enum}}, nil)
	payload := "[" + strings.Repeat(`"v19999",`, 50_000) + `"v1"]`
	inTime(t, func() {
		if _, err := codec.Normalize([]byte(payload)); err != nil {
			t.Errorf("%.200v", err)
		}
	})
	if _, err := codec.Normalize([]byte(`["x"]`)); err == nil || len(err.Error()) > 2000 {
		t.Errorf("the error has %d bytes", len(fmt.Sprint(err)))
	}
}

// Types that multiply the ways to read even a small value run out of steps.
func TestReadingHasAnEnd(t *testing.T) {
	var way spec.Type = spec.Int
	for i := range 60 {
		way = &spec.Alias{Name: "A" + itoa(i), Type: &spec.Union{Variants: []spec.Type{way, way}}}
	}
	codec := newCodec(t, way, nil)
	inTime(t, func() {
		if _, err := codec.Normalize([]byte(`"x"`)); fault.CodeOf(err) != fault.TooLarge {
			t.Errorf("%.200v, want %s", err, fault.TooLarge)
		}
	})
}

func TestTypesThatStandForThemselvesAreRefused(t *testing.T) {
	alias := &spec.Alias{Name: "A"}
	alias.Type = &spec.Union{Variants: []spec.Type{spec.Int, alias}}
	chain := &spec.Alias{Name: "B"}
	chain.Type = &spec.Alias{Name: "C", Type: chain}
	within := &spec.Alias{Name: "D"}
	within.Type = &spec.Union{Variants: []spec.Type{spec.Int, &spec.List{Item: within}}}
	for name, tc := range map[string]struct {
		model spec.Type
		code  fault.Code
	}{
		"an alias that may be itself":      {alias, fault.Unsupported},
		"two aliases in a circle":          {chain, fault.Unsupported},
		"in a field":                       {&spec.Record{Name: "R", Fields: []spec.Field{{Name: "f", Type: &spec.List{Item: alias}}}}, fault.Unsupported},
		"a list between makes it harmless": {within, ""},
	} {
		if _, err := uagents.NewCodec(tc.model, nil); fault.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want code %q", name, err, tc.code)
		}
	}
}

// Whatever a stranger sends, the text of a refusal stays short enough for a log.
func TestRefusalsAreShort(t *testing.T) {
	long := strings.Repeat("x", 500_000)
	codec := codecOf[everything](t, &uagents.CodecOptions{Lax: true})
	strict := codecOf[everything](t, nil)
	for _, tc := range []struct{ old, new string }{
		{`"level": "high"`, `"level": "` + long + `"`},
		{`"color": "red"`, `"color": "` + long + `"`},
		{`"count": 7`, `"count": "` + long + `"`},
		{`"ratio": 2.0`, `"ratio": "` + long + `"`},
		{`"at": "2026-03-04T05:06:07.089000+00:00"`, `"at": "` + long + `"`},
		{`"id": "0b9bd2c6`, `"id": "` + long + `0b9bd2c6`},
		{`"price": 1.1`, `"price": "` + long + `"`},
		{`"by_number": {"7": true}`, `"by_number": {"` + long + `": true}`},
		{`"places": {"a": `, `"places": {"` + long + `": 5, "a": `},
		{`"kind": "square", "side": 2`, `"kind": "` + long + `"`},
		{`"flag": true`, `"flag": true, "` + long + `": 1, "` + long + `": 2`},
		{`"small": 4294967295`, `"small": ` + strings.Repeat("9", 4000)},
		{`"half": 0.1`, `"half": ` + strings.Repeat("9", 4000)},
	} {
		payload := strings.Replace(sampleText, tc.old, tc.new, 1)
		if payload == sampleText {
			t.Fatalf("%s changes nothing", tc.old)
		}
		for _, c := range []*uagents.Codec{codec, strict} {
			var v everything
			if err := c.Unmarshal([]byte(payload), &v); err != nil && len(err.Error()) > 1000 {
				t.Errorf("%s: the error has %d bytes: %.100v", tc.old, len(err.Error()), err)
			}
		}
	}
}

func TestRefusalsOfManyVariantsAreShort(t *testing.T) {
	u := &spec.Union{}
	for i := range 200 {
		u.Variants = append(u.Variants, &spec.Record{Name: "R" + itoa(i), Fields: []spec.Field{{Name: "f", Type: spec.Int}}})
	}
	_, err := newCodec(t, &spec.Alias{Name: "A", Type: u}, nil).Normalize([]byte(`{"f": "x"}`))
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "f: expected an integer, found a string; …") {
		t.Errorf("%d bytes: %.300v", len(fmt.Sprint(err)), err)
	}
}

// A key may be spelled in other words than another and mean the same.
func TestKeysThatMeanTheSame(t *testing.T) {
	model := &spec.Alias{Name: "A", Type: &spec.Map{Key: spec.UUID, Value: spec.Int}}
	payload := []byte(`{"6BA7B810-9DAD-11D1-80B4-00C04FD430C8": 1, "6ba7b810-9dad-11d1-80b4-00c04fd430c8": 2}`)
	if _, err := newCodec(t, model, nil).Normalize(payload); fault.CodeOf(err) != fault.Malformed {
		t.Errorf("strict: %v, want a refusal", err)
	}
	text, err := newCodec(t, model, &uagents.CodecOptions{Lax: true}).Normalize(payload)
	if want := `{"6ba7b810-9dad-11d1-80b4-00c04fd430c8": 2}`; err != nil || string(text) != want {
		t.Errorf("lax: %s (%v), want %s", text, err, want)
	}
	numbers := &spec.Alias{Name: "A", Type: &spec.Map{Key: spec.Int, Value: spec.Int}}
	for _, key := range []string{"007", "+7", "-0", " 7", "7.0", ""} {
		if text, err := newCodec(t, numbers, nil).Normalize([]byte(`{"` + key + `": 1}`)); err == nil {
			t.Errorf("the key %q is read as %s", key, text)
		}
	}
}
