package uagents_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

type shape interface{ shape(func(circle, square)) }

type (
	circle struct {
		Kind   string  `json:"kind" parley:"literal=circle"`
		Radius float64 `json:"radius"`
	}
	square struct {
		Kind string `json:"kind" parley:"literal=square"`
		Side int32  `json:"side"`
	}
	point struct {
		X, Y int
	}
	everything struct {
		Text     string                `json:"text" parley:"maxlen=12"`
		Count    int                   `json:"count" parley:"min=0,max=100"`
		Small    uint32                `json:"small"`
		Ratio    float64               `json:"ratio"`
		Half     float32               `json:"half"`
		Flag     bool                  `json:"flag"`
		Raw      []byte                `json:"raw"`
		At       time.Time             `json:"at"`
		Day      time.Time             `json:"day" parley:"date"`
		Clock    time.Time             `json:"clock" parley:"time"`
		Lasts    time.Duration         `json:"lasts"`
		ID       uuid.UUID             `json:"id" parley:"uuid4"`
		Price    string                `json:"price" parley:"decimal"`
		Link     string                `json:"link" parley:"uri"`
		Tags     []string              `json:"tags" parley:"set"`
		Places   map[string]point      `json:"places"`
		ByNumber map[int]bool          `json:"by_number"`
		Pair     point                 `json:"pair" parley:"tuple"`
		Three    [3]int                `json:"three"`
		Shapes   []shape               `json:"shapes"`
		Maybe    *string               `json:"maybe"`
		Level    string                `json:"level" parley:"default=low,literal=low|high"`
		Color    color                 `json:"color"`
		Free     any                   `json:"free"`
		Schema   map[string]any        `json:"schema"`
		Nested   *everything           `json:"nested"`
		Grid     [][]*int              `json:"grid"`
		Verbatim json.RawMessage       `json:"verbatim,omitempty"`
		ByID     map[uuid.UUID][]shape `json:"by_id"`
	}
)

func (circle) shape(func(circle, square)) {}
func (square) shape(func(circle, square)) {}

func codecOf[T any](t testing.TB, opts *uagents.CodecOptions) *uagents.Codec {
	t.Helper()
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	codec, err := uagents.NewCodec(model, opts)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func sample() everything {
	id := uuid.MustParse("0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11")
	text, three := "yes", 3
	return everything{
		Text: "h\"é🤖", Count: 7, Small: 4294967295, Ratio: 2, Half: 0.1, Flag: true, Raw: []byte("bytes"),
		At:  time.Date(2026, 3, 4, 5, 6, 7, 89000000, time.UTC),
		Day: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Clock: time.Date(0, 1, 1, 3, 4, 5, 600000, time.UTC),
		Lasts: 90*time.Second + 500*time.Millisecond, ID: id, Price: "1.10", Link: "https://example.org/a",
		Tags: []string{"a", "b"}, Places: map[string]point{"b": {1, 2}, "a": {3, 4}}, ByNumber: map[int]bool{7: true},
		Pair: point{5, 6}, Three: [3]int{1, 2, 3},
		Shapes: []shape{square{Kind: "square", Side: 2}, circle{Kind: "circle", Radius: 1.5}},
		Maybe:  &text, Level: "high", Color: "red", Free: map[string]any{"n": int64(1), "f": 1.0},
		Schema: map[string]any{"type": "object"}, Grid: [][]*int{{&three, nil}, {}},
		Verbatim: json.RawMessage(`{"z": 1, "a": 2.0}`), ByID: map[uuid.UUID][]shape{id: {}},
	}
}

const sampleText = `{"text": "h\"\u00e9\ud83e\udd16", "count": 7, "small": 4294967295, "ratio": 2.0, "half": 0.1, "flag": true, "raw": "bytes", ` +
	`"at": "2026-03-04T05:06:07.089000+00:00", "day": "2026-01-02", "clock": "03:04:05.000600", "lasts": 90.5, ` +
	`"id": "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11", "price": 1.1, "link": "https://example.org/a", "tags": ["a", "b"], ` +
	`"places": {"a": {"X": 3, "Y": 4}, "b": {"X": 1, "Y": 2}}, "by_number": {"7": true}, "pair": [5, 6], "three": [1, 2, 3], ` +
	`"shapes": [{"kind": "square", "side": 2}, {"kind": "circle", "radius": 1.5}], "maybe": "yes", "level": "high", "color": "red", ` +
	`"free": {"f": 1.0, "n": 1}, "schema": {"type": "object"}, "nested": null, "grid": [[3, null], []], "verbatim": {"z": 1, "a": 2.0}, ` +
	`"by_id": {"0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11": []}}`

// Every kind of Go value is written as Python would write it, and read back.
func TestGoValuesRoundTrip(t *testing.T) {
	codec := codecOf[everything](t, nil)

	text, err := codec.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != sampleText {
		t.Errorf("written:\n got %s\nwant %s", text, sampleText)
	}
	var got everything
	if err := codec.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Price = "1.1" // the wire is a number: the digits beyond its value are not kept
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back:\n got %+v\nwant %+v", got, want)
	}
}

// A payload that does not fit is refused with the place; nothing is changed.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	codec := codecOf[everything](t, nil)
	for name, tc := range map[string]struct{ old, new, want string }{
		"number for a string":       {`"text": "h\"\u00e9\ud83e\udd16"`, `"text": 5`, "text: expected a string, found an integer"},
		"string too long":           {`"text": "h\"\u00e9\ud83e\udd16"`, `"text": "0123456789012"`, "text: expected at most 12 characters, found 13"},
		"string for a number":       {`"count": 7`, `"count": "7"`, "count: expected an integer, found a string"},
		"float for an integer":      {`"count": 7`, `"count": 7.0`, "count: expected an integer, found a float"},
		"above the limit":           {`"count": 7`, `"count": 101`, "count: expected at most 100, found 101"},
		"out of range":              {`"small": 4294967295`, `"small": 4294967296`, "small: 4294967296 is out of the range of UInt32"},
		"number for a boolean":      {`"flag": true`, `"flag": 1`, "flag: expected a boolean, found an integer"},
		"Unix time":                 {`"at": "2026-03-04T05:06:07.089000+00:00"`, `"at": 1772600767`, "at: expected a string, found an integer"},
		"a day that is not":         {`"day": "2026-01-02"`, `"day": "2026-02-30"`, "day: expected a date such as 2026-01-02"},
		"UUID of another version":   {`"id": "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11"`, `"id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, "id: expected a UUID of version 4"},
		"UUID without hyphens":      {`"id": "0b9bd2c6-6d3e-4a39-9a25-0d7f1b0b3c11"`, `"id": "0b9bd2c66d3e4a399a250d7f1b0b3c11"`, "id: expected a UUID such as"},
		"no decimal":                {`"price": 1.1`, `"price": "much"`, "price: expected a decimal number"},
		"no URL":                    {`"link": "https://example.org/a"`, `"link": "example.org"`, "link: expected a URL"},
		"twice in a set":            {`"tags": ["a", "b"]`, `"tags": ["a", "a"]`, "tags[1]: a set holds each item once"},
		"key that is no number":     {`"by_number": {"7": true}`, `"by_number": {"x": true}`, "by_number.x: expected an integer, found a string"},
		"tuple too short":           {`"pair": [5, 6]`, `"pair": [5]`, "pair: expected 2 items, found 1"},
		"unknown tag":               {`"kind": "square", "side": 2`, `"kind": "cube", "side": 2`, "shapes[0]: no variant fits"},
		"known tag, wrong content":  {`"kind": "square", "side": 2`, `"kind": "square"`, "shapes[0].side: the field is required"},
		"no such literal":           {`"level": "high"`, `"level": "middle"`, `level: "middle" is no literal; expected one of "low", "high"`},
		"no such enum value":        {`"color": "red"`, `"color": "mauve"`, `color: "mauve" is no value of color; expected one of "red", "green"`},
		"null":                      {`"flag": true`, `"flag": null`, "flag: expected a boolean, found null"},
		"left out":                  {`"flag": true, `, ``, "flag: the field is required"},
		"key twice":                 {`"flag": true`, `"flag": true, "flag": true`, "flag: the key is there twice"},
		"half a surrogate pair":     {`\ud83e\udd16`, `\ud83e`, "half a surrogate pair"},
		"nested, the path is whole": {`"nested": null`, `"nested": {"text": 5}`, "nested.text: expected a string"},
	} {
		t.Run(name, func(t *testing.T) {
			payload := strings.Replace(sampleText, tc.old, tc.new, 1)
			if payload == sampleText {
				t.Fatal("the case changes nothing")
			}
			got := everything{Text: "as it was"}
			err := codec.Unmarshal([]byte(payload), &got)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %q", err, tc.want)
			}
			if code := fault.CodeOf(err); code != fault.Malformed {
				t.Errorf("code = %s", code)
			}
			if !reflect.DeepEqual(got, everything{Text: "as it was"}) {
				t.Error("the value was changed")
			}
		})
	}
}

// What real agents send passes although a model says less: a time without
// offset is UTC, unknown fields are ignored, null means left out.
func TestNamedLeniencies(t *testing.T) {
	type event struct {
		At    time.Time `json:"at"`
		Note  *string   `json:"note"`
		Ratio float64   `json:"ratio" parley:"default=0.5"`
	}
	var got event
	err := codecOf[event](t, nil).Unmarshal([]byte(`{"at": "2026-03-04T05:06:07", "note": null, "extra": [1]}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	if want := (event{At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Ratio: 0.5}); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	codec := codecOf[everything](t, nil)
	for name, spoil := range map[string]func(*everything){
		"id: expected a UUID of version 4":                 func(e *everything) { e.ID = uuid.Nil },
		"text: text must be valid UTF-8":                   func(e *everything) { e.Text = "\xff" },
		"raw: text must be valid UTF-8":                    func(e *everything) { e.Raw = []byte{0xff} },
		"price: expected a decimal number":                 func(e *everything) { e.Price = "much" },
		`color: "mauve" is no value of color`:              func(e *everything) { e.Color = "mauve" },
		"shapes[0]: nil where a value is needed":           func(e *everything) { e.Shapes[0] = nil },
		"at: the year 10000 cannot be written":             func(e *everything) { e.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"free: unsupported":                                func(e *everything) { e.Free = struct{ C chan int }{} },
		"nested.id: expected a UUID of version 4":          func(e *everything) { e.Nested = &everything{Price: "1", Link: "https://x"} },
		`level: "middle" is no value of literal; expected`: func(e *everything) { e.Level = "middle" },
	} {
		e := sample()
		spoil(&e)
		text, err := codec.Marshal(e)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "unsupported: free", "free: unsupported"), name) {
			t.Errorf("written %s (%v), want an error that says %q", text, err, name)
		}
	}
}

// What a model does not allow is not sent either: the peer would refuse it.
func TestLimitsHoldForWhatIsSent(t *testing.T) {
	type limited struct {
		Count int            `json:"count" parley:"min=1,max=3"`
		Text  string         `json:"text" parley:"maxlen=3,pattern=^a"`
		Items []int          `json:"items" parley:"minitems=1"`
		Price string         `json:"price" parley:"decimal,above=0"`
		Link  string         `json:"link" parley:"uri"`
		Names map[string]int `json:"names"`
	}
	codec := codecOf[limited](t, nil)
	good := func() limited {
		return limited{Count: 1, Text: "abc", Items: []int{1}, Price: "0.5", Link: "https://x/"}
	}
	if _, err := codec.Marshal(good()); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*limited){
		"count: expected at most 3, found 4":             func(v *limited) { v.Count = 4 },
		"text: expected at most 3 characters, found 4":   func(v *limited) { v.Text = "abcd" },
		"text: expected text like ^a":                    func(v *limited) { v.Text = "b" },
		"items: expected at least 1 items, found 0":      func(v *limited) { v.Items = nil },
		"price: expected more than 0, found 0":           func(v *limited) { v.Price = "0" },
		"link: expected a URL such as https://host/path": func(v *limited) { v.Link = "here" },
		"names.\xff: text must be valid UTF-8":           func(v *limited) { v.Names = map[string]int{"\xff": 1} },
	} {
		v := good()
		spoil(&v)
		if text, err := codec.Marshal(v); err == nil || err.Error() != "malformed: "+want {
			t.Errorf("written %s (%v), want malformed: %s", text, err, want)
		}
	}
}

// A value that contains itself, or a value of another type, is an error and not
// the end of the program.
func TestWrongGoValuesAreRefused(t *testing.T) {
	type node struct {
		Next *node `json:"next"`
		Any  any   `json:"any"`
	}
	circle := &node{}
	circle.Next = circle
	list := []any{nil}
	list[0] = list
	codec := codecOf[node](t, nil)
	for name, tc := range map[string]struct {
		value any
		code  fault.Code
	}{
		"a circle":           {circle, fault.TooLarge},
		"a list of itself":   {node{Any: list}, fault.TooLarge},
		"nil":                {nil, fault.Malformed},
		"a nil pointer":      {(*node)(nil), fault.Malformed},
		"another struct":     {struct{ next, any int }{}, fault.Internal},
		"a smaller struct":   {struct{ A *int }{}, fault.Internal},
		"a struct of others": {struct{ A, B chan int }{A: make(chan int)}, fault.Internal},
		"no struct":          {5, fault.Internal},
	} {
		if text, err := codec.Marshal(tc.value); fault.CodeOf(err) != tc.code {
			t.Errorf("%s: written %s (%v), want code %q", name, text, err, tc.code)
		}
	}
	text := []byte(`{"next": {"next": null, "any": 1}, "any": [1]}`)
	for name, dst := range map[string]any{
		"another struct":     &struct{ next, any int }{},
		"a smaller struct":   &struct{ A *int }{},
		"a struct of others": &struct{ A, B chan int }{},
		"no struct":          new(int),
		"no pointer":         node{},
		"nil":                nil,
		"a nil pointer":      (*node)(nil),
	} {
		if err := codec.Unmarshal(text, dst); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v, want code %q", name, err, fault.Internal)
		}
	}
}

// A number that does not fit the Go field is refused, never cut.
func TestNumbersThatDoNotFitAreRefused(t *testing.T) {
	type numbers struct {
		Small int8          `json:"small"`
		Half  float32       `json:"half"`
		Any   float64       `json:"any" parley:"default=1"`
		For   time.Duration `json:"for"`
	}
	codec := codecOf[numbers](t, &uagents.CodecOptions{Lax: true})
	for payload, want := range map[string]string{
		`{"small": 127, "half": 3e38, "for": 1}`:                                     "",
		`{"small": 128, "half": 0, "for": 1}`:                                        "small: 128 is out of the range of int8",
		`{"small": 1, "half": 1e39, "for": 1}`:                                       "half: 1e+39 is out of the range of float32",
		`{"small": 1, "half": 1, "for": 1e11}`:                                       "for: the duration is out of range",
		`{"small": 1, "half": 1, "for": 1, "any": ` + strings.Repeat("9", 400) + `}`: "any: " + strings.Repeat("9", 64) + "… is out of the range of a float",
	} {
		var v numbers
		err := codec.Unmarshal([]byte(payload), &v)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != "malformed: "+want) {
			t.Errorf("%s: %v, want %q", payload, err, want)
		}
	}
}

// A default that an author mistyped is an error for the reader, not a panic.
func TestWrongDefaultsAreRefused(t *testing.T) {
	type odd struct {
		Pair [2]int `json:"pair" parley:"default=[1]"`
	}
	var v odd
	if err := codecOf[odd](t, nil).Unmarshal([]byte(`{}`), &v); fault.CodeOf(err) != fault.Internal {
		t.Errorf("%v, want code %q", err, fault.Internal)
	}
	model := &spec.Record{Name: "M", Fields: []spec.Field{{Name: "a", Type: spec.Int, Default: "one"}}}
	if _, err := uagents.NewCodec(model, nil); err == nil || !strings.HasPrefix(err.Error(), "malformed: M.a.default: ") {
		t.Errorf("NewCodec = %v, want malformed: M.a.default", err)
	}
}

func TestLiteralsOfOneValueNeedNotBeSet(t *testing.T) {
	text, err := codecOf[square](t, nil).Marshal(square{Side: 2})
	if want := `{"kind": "square", "side": 2}`; err != nil || string(text) != want {
		t.Errorf("written %s (%v), want %s", text, err, want)
	}
}

func TestLimitsOfSizeAndDepth(t *testing.T) {
	type free struct {
		V any `json:"v"`
	}
	codec := codecOf[free](t, &uagents.CodecOptions{MaxSize: 100, MaxDepth: 4})
	for payload, want := range map[string]fault.Code{
		`{"v": [[[1]]]}`:                           "",
		`{"v": [[[[1]]]]}`:                         fault.TooLarge,
		`{"v": "` + strings.Repeat("x", 91) + `"}`: "",
		`{"v": "` + strings.Repeat("x", 92) + `"}`: fault.TooLarge,
	} {
		var v free
		if err := codec.Unmarshal([]byte(payload), &v); fault.CodeOf(err) != want {
			t.Errorf("%s: %v, want code %q", payload, err, want)
		}
	}
	if _, err := codec.Marshal(free{V: strings.Repeat("x", 92)}); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("writing over the limit: %v", err)
	}
}

// Patterns mean what they mean in Python, or honest agents would be refused.
func TestPatternsAreThoseOfPython(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		fits          bool
	}{
		{`^\w+$`, "été", true}, {`^\w+$`, "a\n", true}, {`^\w+$`, "a\nb", false}, {`\d`, "٣", true}, {`[\d]$`, "x٣", false}, {`b`, "ab", false},
		{`^[[]$`, "[", true}, {`a\Z`, "a\n", false}, {`^\S\s\S$`, "a\x1cb", true}, {`^[$]$`, "$", true}, {`^\$`, "$", true},
		{`^[a-z]*$`, "a\n", true}, {`^[[:alpha:]]$`, "x", false}, {`^[[:alpha:]]$`, ":]", true},
	} {
		model := &spec.Record{Name: "M", Fields: []spec.Field{{Name: "x", Type: spec.String.With(spec.Limits{Pattern: tc.pattern})}}}
		text, err := json.Marshal(map[string]string{"x": tc.text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newCodec(t, model, nil).Normalize(text); (err == nil) != tc.fits {
			t.Errorf("%s and %q: %v, want a match: %t", tc.pattern, tc.text, err, tc.fits)
		}
	}
}

func TestPatternsThatCannotBeMatchedAreRefusedAtTheStart(t *testing.T) {
	type odd struct {
		A string `json:"a" parley:"pattern='(?=x)'"`
	}
	model, err := spec.FromGo[odd]()
	if err != nil {
		t.Fatal(err)
	}
	_, err = uagents.NewCodec(model, nil)
	if fault.CodeOf(err) != fault.Unsupported || !strings.Contains(err.Error(), ": odd.a.pattern: ") {
		t.Errorf("NewCodec = %v, want unsupported: odd.a.pattern", err)
	}
}

// A payload of many members must not cost the square of its size: a minute
// would be an explosion.
func TestLargePayloadsAreReadInTime(t *testing.T) {
	type list struct {
		Items []everything   `json:"items"`
		Set   []int          `json:"set" parley:"set"`
		Map   map[string]int `json:"map"`
	}
	var b strings.Builder
	b.WriteString(`{"items": [], "set": [`)
	for i := range 60_000 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(strings.Repeat("1", 1+i%3) + string(rune('0'+i/6000)) + itoa(i))
	}
	b.WriteString(`], "map": {`)
	for i := range 30_000 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"k` + itoa(i) + `": 1`)
	}
	b.WriteString("}}")
	start := time.Now()
	var v list
	err := codecOf[list](t, &uagents.CodecOptions{Lax: true}).Unmarshal([]byte(b.String()), &v)
	if err != nil || time.Since(start) > time.Minute {
		t.Errorf("took %v (%v)", time.Since(start), err)
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }
