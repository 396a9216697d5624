package spec_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

type content interface{ content(contents) }

type contents = func(TextContent, ResourceContent, MetadataContent, StartSessionContent, EndSessionContent, StartStreamContent, EndStreamContent)

type (
	ChatMessage struct {
		Timestamp time.Time `json:"timestamp"`
		MsgID     uuid.UUID `json:"msg_id" parley:"uuid4"`
		Content   []content `json:"content"`
	}
	ChatAcknowledgement struct {
		Timestamp         time.Time         `json:"timestamp"`
		AcknowledgedMsgID uuid.UUID         `json:"acknowledged_msg_id" parley:"uuid4"`
		Metadata          map[string]string `json:"metadata,omitempty"`
	}
	TextContent struct {
		Type string `json:"type" parley:"literal=text"`
		Text string `json:"text"`
	}
	Resource struct {
		URI      string            `json:"uri"`
		Metadata map[string]string `json:"metadata"`
	}
	resources interface {
		resources(func(Resource, resourceList))
	}
	resourceList    []Resource
	ResourceContent struct {
		Type       string    `json:"type" parley:"literal=resource"`
		ResourceID uuid.UUID `json:"resource_id" parley:"uuid4"`
		Resource   resources `json:"resource"`
	}
	MetadataContent struct {
		Type     string            `json:"type" parley:"literal=metadata"`
		Metadata map[string]string `json:"metadata"`
	}
	StartSessionContent struct {
		Type string `json:"type" parley:"literal=start-session"`
	}
	EndSessionContent struct {
		Type string `json:"type" parley:"literal=end-session"`
	}
	StartStreamContent struct {
		Type     string    `json:"type" parley:"literal=start-stream"`
		StreamID uuid.UUID `json:"stream_id" parley:"uuid4"`
	}
	EndStreamContent struct {
		Type     string    `json:"type" parley:"literal=end-stream"`
		StreamID uuid.UUID `json:"stream_id" parley:"uuid4"`
	}
)

func (TextContent) content(contents)                        {}
func (ResourceContent) content(contents)                    {}
func (MetadataContent) content(contents)                    {}
func (StartSessionContent) content(contents)                {}
func (EndSessionContent) content(contents)                  {}
func (StartStreamContent) content(contents)                 {}
func (EndStreamContent) content(contents)                   {}
func (Resource) resources(func(Resource, resourceList))     {}
func (resourceList) resources(func(Resource, resourceList)) {}
func (HealthStatus) EnumValues() []any                      { return []any{"healthy", "unhealthy"} }
func (Level) EnumValues() []any                             { return []any{1, 2} }
func (Scalar0) scalars(func(Scalar0, Scalar1))              {}
func (Scalar1) scalars(func(Scalar0, Scalar1))              {}

type (
	HealthStatus string
	Level        int
	Scalar0      int
	Scalar1      string
	AgentHealth  struct {
		AgentName string       `json:"agent_name"`
		Status    HealthStatus `json:"status"`
	}
	ErrorMessage struct {
		_     struct{} `parley:"description='Error message model'"`
		Error string   `json:"error"`
	}
	StructuredOutputPrompt struct {
		Prompt string         `json:"prompt"`
		Schema map[string]any `json:"output_schema"`
	}
	Funds struct {
		Amount   string `json:"amount"`
		Currency string `json:"currency"`
		Method   string `json:"payment_method" parley:"default=fet_direct"`
	}
	Tree struct {
		Value    int    `json:"value"`
		Children []Tree `json:"children" parley:"default=[]"`
	}
	AllScalars struct {
		S string  `json:"s"`
		I int     `json:"i"`
		F float64 `json:"f"`
		B bool    `json:"b"`
	}
	Inherited struct {
		AllScalars
		Extra string `json:"extra"`
	}
	UnionField struct {
		V interface {
			scalars(func(Scalar0, Scalar1))
		} `json:"v"`
	}
	FieldDesc struct {
		A string `json:"a" parley:"description='The a field'"`
		B int    `json:"b" parley:"default=2,description='with é accents',title=Bee,min=0,max=10"`
	}
	FieldConstraints struct {
		A string  `json:"a" parley:"minlen=1,maxlen=5,pattern=^x"`
		B float64 `json:"b" parley:"above=0,below=1"`
		C int     `json:"c" parley:"multiple=5"`
		L []int   `json:"l" parley:"minitems=1,maxitems=3"`
	}
	FieldAlias struct {
		A string `json:"a" parley:"alias=alpha"`
	}
	Cfg struct {
		_ struct{} `parley:"title=CustomTitle,closed"`
		A int      `json:"a"`
	}
	Dates struct {
		DT time.Time     `json:"dt"`
		D  time.Time     `json:"d" parley:"date"`
		T  time.Time     `json:"t" parley:"time"`
		TD time.Duration `json:"td"`
	}
	Uuids struct {
		A uuid.UUID `json:"a"`
		B uuid.UUID `json:"b" parley:"uuid4"`
	}
	Decimals struct {
		D string `json:"d" parley:"decimal"`
	}
	pair struct {
		A int
		B string
	}
	Sets struct {
		A []int `json:"a" parley:"set"`
		B pair  `json:"b" parley:"tuple"`
		C []int `json:"c"`
		D []any `json:"d"`
		E []any `json:"e" parley:"set"`
	}
	AnyField struct {
		A any             `json:"a"`
		B json.RawMessage `json:"b,omitempty"`
		O any             `json:"o"`
	}
	WithBytes struct {
		Raw []byte `json:"raw"`
	}
	OptionalField struct {
		A *string `json:"a"`
		B *int    `json:"b"`
		C *string `json:"c" parley:"default=x"`
	}
)

// A Go struct has the digest of the Python model with the same fields.
func TestFromGoHasThePythonDigest(t *testing.T) {
	for id, model := range map[string]func() (*spec.Record, error){
		"chat.ChatMessage":         spec.FromGo[ChatMessage],
		"chat.ChatAcknowledgement": spec.FromGo[ChatAcknowledgement],
		"error_message":            spec.FromGo[ErrorMessage],
		"payment.Funds":            spec.FromGo[Funds],
		"recursive":                spec.FromGo[Tree],
		"all_scalars":              spec.FromGo[AllScalars],
		"inherited":                spec.FromGo[Inherited],
		"union":                    spec.FromGo[UnionField],
		"field_desc":               spec.FromGo[FieldDesc],
		"field_constraints":        spec.FromGo[FieldConstraints],
		"field_alias":              spec.FromGo[FieldAlias],
		"config":                   spec.FromGo[Cfg],
		"dates":                    spec.FromGo[Dates],
		"uuids":                    spec.FromGo[Uuids],
		"decimals":                 spec.FromGo[Decimals],
		"sets_tuples":              spec.FromGo[Sets],
		"any":                      spec.FromGo[AnyField],
		"bytes":                    spec.FromGo[WithBytes],
		"optional":                 spec.FromGo[OptionalField],
	} {
		t.Run(id, func(t *testing.T) {
			r, err := model()
			if err != nil {
				t.Fatal(err)
			}
			want := recordedSchema(t, id)
			if got := digestOf(t, r); got != want.Digest {
				text, _ := spec.Schema(r)
				t.Errorf("digest = %s, want %s\n got %s\nwant %s", got, want.Digest, text, want.FieldOrder)
			}
		})
	}
}

func TestFromGoHealthAndPrompts(t *testing.T) {
	health, err := spec.FromGo[AgentHealth]()
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := spec.FromGo[StructuredOutputPrompt]()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digestOf(t, health), recordedModel(t, "ai_agent", "AgentHealth"); got != want {
		t.Errorf("AgentHealth = %s, want %s", got, want)
	}
	if got, want := digestOf(t, prompt), recordedModel(t, "ai_agent", "StructuredOutputPrompt"); got != want {
		t.Errorf("StructuredOutputPrompt = %s, want %s", got, want)
	}
}

type page[Item any] struct {
	Items []Item `json:"items"`
}

func TestFromGoNamesGenericTypesWithoutPackages(t *testing.T) {
	r, err := spec.FromGo[page[Resource]]()
	if err != nil {
		t.Fatal(err)
	}

	if want := "page[Resource]"; r.Name != want {
		t.Errorf("name = %q, want %q", r.Name, want)
	}
	schema, err := spec.Schema(r)
	if err != nil || !strings.Contains(string(schema), `"title": "page[Resource]"`) {
		t.Errorf("schema = %s (%v)", schema, err)
	}
}

type nested struct {
	Header struct {
		ID string `json:"id"`
	} `json:"header"`
}

func TestFromGoNamesUnnamedStructsByTheirPlace(t *testing.T) {
	r, err := spec.FromGo[nested]()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := spec.NameOf(r.Fields[0].Type), "nestedHeader"; got != want {
		t.Errorf("name = %q, want %q", got, want)
	}
}

// An embedded struct stands for its fields, wherever it keeps them; what its own
// tag says of it does not count for the struct around it.
func TestFromGoFindsEmbeddedFields(t *testing.T) {
	type inner struct {
		_ struct{} `parley:"description=inner,closed"`
		B int
	}
	type middle struct {
		A int
		inner
	}
	type Outer struct {
		_ struct{} `parley:"description=outer"`
		middle
		C int
	}

	r, err := spec.FromGo[*Outer]()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Fields {
		got = append(got, fmt.Sprint(f.Name, f.Index))
	}
	if want := "A[1 0] B[1 1 1] C[2]"; strings.Join(got, " ") != want {
		t.Errorf("fields = %s, want %s", got, want)
	}
	if r.Description != "outer" || r.Closed {
		t.Errorf("description = %q, closed = %t, want those of the outer struct", r.Description, r.Closed)
	}
}

type (
	address     []byte
	mixedEnum   string
	floatEnum   string
	noEnum      string
	lonely      interface{ lonely(func(lonely)) }
	strangeness interface{ strange(func(Resource)) }
	many        interface {
		one(func(Resource))
		two(func(Resource))
	}
	public interface{ Public(func(Resource)) }
)

func (address) MarshalText() ([]byte, error) { return nil, nil }
func (mixedEnum) EnumValues() []any          { return []any{"a", 1} }
func (floatEnum) EnumValues() []any          { return []any{1.5} }
func (noEnum) EnumValues() []any             { return nil }

// mistakes are Go types that no message can have, with the field that is wrong.
var mistakes = []struct {
	name  string
	model any
	code  fault.Code
	field string
}{
	{"channel", struct{ C chan int }{}, fault.Unsupported, "C"},
	{"function", struct{ F func() }{}, fault.Unsupported, "F"},
	{"pointer-sized integer", struct{ P uintptr }{}, fault.Unsupported, "P"},
	{"complex number, nested", struct {
		Deep struct{ C []map[string]complex128 }
	}{}, fault.Unsupported, "C"},
	{"map key", struct{ M map[float64]int }{}, fault.Unsupported, "M"},
	{"struct that shows nothing", struct{ O []big.Int }{}, fault.Unsupported, ""},
	{"type that writes itself", struct{ A address }{}, fault.Unsupported, "A"},
	{"key that writes itself", struct{ A map[*address]int }{}, fault.Unsupported, "A"},
	{"interface without variants", struct{ E error }{}, fault.Unsupported, "E"},
	{"interface with an exported method", struct{ E public }{}, fault.Unsupported, "E"},
	{"interface of two methods", struct{ E many }{}, fault.Unsupported, "E"},
	{"variant that does not implement", struct{ E strangeness }{}, fault.Unsupported, "E"},
	{"variant that is the union itself", struct{ E lonely }{}, fault.Unsupported, "E"},
	{"enum of strings and integers", struct{ E mixedEnum }{}, fault.Unsupported, "mixedEnum"},
	{"enum of floats", struct{ E floatEnum }{}, fault.Unsupported, "floatEnum"},
	{"enum of nothing", struct{ E []noEnum }{}, fault.Unsupported, "noEnum"},
	{"name used twice", struct {
		AllScalars
		B int `json:"s"`
	}{}, fault.Unsupported, "B"},
	{"embedded pointer", struct{ *AllScalars }{}, fault.Unsupported, "AllScalars"},
	{"tuple with a hidden field", struct {
		T struct{ A, b int } `parley:"tuple"`
	}{}, fault.Unsupported, "T"},
	{"tag with an unknown key", struct {
		A int `parley:"minimum=3"`
	}{}, fault.Malformed, "A.parley tag"},
	{"tag with an unknown word", struct {
		A int `parley:"big"`
	}{}, fault.Malformed, "A.parley tag"},
	{"tag with a word as a key", struct {
		A []int `parley:"set=true"`
	}{}, fault.Malformed, "A.parley tag"},
	{"tag with an open quote", struct {
		A int `parley:"title='one, two"`
	}{}, fault.Malformed, "A.parley tag"},
	{"tag with more after a quote", struct {
		A int `parley:"title='one'untitled"`
	}{}, fault.Malformed, "A.parley tag"},
	{"tag with a key twice", struct {
		A int `parley:"min=1,min=2"`
	}{}, fault.Malformed, "A.parley tag"},
	{"tag that Go cannot read", reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `parley:"min=1`},
	}), fault.Malformed, "A.parley tag"},
	{"word that has no meaning", struct {
		A string `parley:"uuid4"`
	}{}, fault.Malformed, "A.parley tag"},
	{"limit of another kind", struct {
		A []int `parley:"min=3"`
	}{}, fault.Malformed, "A.parley tag"},
	{"limit of a map", struct {
		A map[string]int `parley:"minitems=3"`
	}{}, fault.Malformed, "A.parley tag"},
	{"record's word on a field", struct {
		A int `parley:"closed"`
	}{}, fault.Malformed, "A.parley tag"},
	{"field's word on a record", struct {
		_ struct{} `parley:"default=3"`
	}{}, fault.Malformed, "_.parley tag"},
	{"count that is none", struct {
		A string `parley:"maxlen=many"`
	}{}, fault.Malformed, "A.maxlen"},
	{"count below zero", struct {
		A []int `parley:"minitems=-1"`
	}{}, fault.Malformed, "A.minitems"},
	{"limit that is no number", struct {
		A int `parley:"min=\"1\""`
	}{}, fault.Malformed, "A.min"},
	{"limit that is no JSON", struct {
		A int `parley:"max=ten"`
	}{}, fault.Malformed, "A.max"},
	{"default that is no JSON", struct {
		A int `parley:"default=ten"`
	}{}, fault.Malformed, "A.default"},
	{"literal that is no JSON", struct {
		A int `parley:"literal=1|two"`
	}{}, fault.Malformed, "A.literal"},
}

// Each mistake is reported with the field it is in, when the type is read.
func TestFromGoReportsMistakesWithTheirField(t *testing.T) {
	for _, tc := range mistakes {
		t.Run(tc.name, func(t *testing.T) {
			typ, isType := tc.model.(reflect.Type)
			if !isType {
				typ = reflect.TypeOf(tc.model)
			}
			_, err := spec.FromGoType(typ)
			wantError(t, err, tc.code, strings.TrimSuffix(typ.String()+"."+tc.field, "."))
		})
	}
}

func TestFromGoTakesStructsOnly(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[time.Time](), reflect.TypeFor[[]Tree](), reflect.TypeFor[content]()} {
		_, err := spec.FromGoType(typ)
		wantError(t, err, fault.Unsupported, typ.String())
	}
	_, err := spec.FromGoType(nil)
	wantError(t, err, fault.Unsupported, "")
}

type shade string

func (shade) EnumValues() []any { return []any{"light", "dark"} }
func (shade) ParleyTag() string {
	return "name=Shade,description='How much, or how little.',unmixed,open"
}

type label string

func (label) ParleyTag() string             { return "minlen=1,maxlen=3" }
func (label) described(func(label, number)) {}

type number int64

func (number) described(func(label, number)) {}

type described interface{ described(func(label, number)) }

// What stands in no field of its own has a tag of its own.
func TestFromGoReadsTagsInsideAndOfTypes(t *testing.T) {
	type model struct {
		Names  []string           `json:"names" parley:"minitems=1,item='pattern=\\'[a-z]{1,3}\\',minlen=1'"`
		Scores map[shade]float64  `json:"scores" parley:"item='min=0.5'"`
		ByID   map[uuid.UUID]int  `json:"by_id" parley:"key=uuid4"`
		Any    described          `json:"any"`
		Deep   [][]string         `json:"deep" parley:"item='set,minitems=2'"`
		Few    map[string]float64 `json:"few" parley:"key='literal=a|b'"`
	}
	r, err := spec.FromGo[model]()
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := 1, 2, 3
	wantShade := &spec.Enum{Name: "Shade", Base: spec.Any, Values: []spec.JSON{`"light"`, `"dark"`}, Description: "How much, or how little.", Open: true}
	for name, want := range map[string]spec.Type{
		"names":  &spec.List{Item: spec.String.With(spec.Limits{Pattern: "[a-z]{1,3}", MinLength: &one}), Limits: spec.Limits{MinItems: &one}},
		"scores": &spec.Map{Key: wantShade, Value: spec.Float.With(spec.Limits{Min: "0.5"})},
		"by_id":  &spec.Map{Key: spec.UUID4, Value: spec.Int},
		"deep":   &spec.List{Item: &spec.List{Item: spec.String, Set: true, Limits: spec.Limits{MinItems: &two}}},
		"few":    &spec.Map{Key: &spec.Literal{Values: []spec.JSON{`"a"`, `"b"`}}, Value: spec.Float},
	} {
		if got := r.Field(name).Type; !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %+v, want %+v", name, got, want)
		}
	}
	first := r.Field("any").Type.(*spec.Union).Variants[0]
	if want := spec.String.With(spec.Limits{MinLength: &one, MaxLength: &three}); !reflect.DeepEqual(first, want) {
		t.Errorf("first variant = %+v, want %+v", first, want)
	}
}
