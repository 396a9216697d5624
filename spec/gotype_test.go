package spec_test

import (
	"encoding/json"
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

type (
	withChannel struct{ C chan int }
	withFunc    struct{ F func() }
	withComplex struct {
		Deep struct{ C []complex128 }
	}
	withMapKey  struct{ M map[float64]int }
	withOpenSum struct{ E error }
	withBadTag  struct {
		A int `parley:"minimum=3"`
	}
	withBadLimit struct {
		A string `parley:"maxlen=many"`
	}
	withTwice struct {
		AllScalars
		B int `json:"s"`
	}
	withEmbeddedPointer struct{ *AllScalars }
)

func TestFromGoRefusesWhatNoMessageCarries(t *testing.T) {
	for _, tc := range []struct {
		name  string
		model func() (*spec.Record, error)
		field string
	}{
		{"channel", spec.FromGo[withChannel], "withChannel.C"},
		{"function", spec.FromGo[withFunc], "withFunc.F"},
		{"complex number, nested", spec.FromGo[withComplex], "withComplex.C"},
		{"map key", spec.FromGo[withMapKey], "withMapKey.M"},
		{"interface without variants", spec.FromGo[withOpenSum], "withOpenSum.E"},
		{"unknown tag", spec.FromGo[withBadTag], "withBadTag.A.parley tag"},
		{"bad limit", spec.FromGo[withBadLimit], "withBadLimit.A.maxlen"},
		{"name used twice", spec.FromGo[withTwice], "withTwice.B"},
		{"embedded pointer", spec.FromGo[withEmbeddedPointer], "withEmbeddedPointer.AllScalars"},
		{"no struct", spec.FromGo[int], "int"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.model()
			if err == nil {
				t.Fatal("accepted")
			}
			if code := fault.CodeOf(err); code != fault.Unsupported && code != fault.Malformed {
				t.Errorf("code = %s (%v)", code, err)
			}
			if !strings.Contains(err.Error(), tc.field) {
				t.Errorf("error %q does not name %s", err, tc.field)
			}
		})
	}
}
