package spec_test

import (
	"fmt"
	"time"

	"github.com/parley-agents/parley/spec"
)

// Weather is a message as a Go program declares it. In Python it would be
//
//	class Weather(Model):
//	    """What the sky does."""
//	    city: str
//	    celsius: float = Field(ge=-90, le=60)
//	    measured_at: datetime
//	    note: Optional[str] = None
type Weather struct {
	_          struct{}  `parley:"description='What the sky does.'"`
	City       string    `json:"city"`
	Celsius    float64   `json:"celsius" parley:"min=-90,max=60"`
	MeasuredAt time.Time `json:"measured_at"`
	Note       *string   `json:"note"`
}

// A Go struct has the digest of the Python class that says the same.
func ExampleFromGo() {
	weather, err := spec.FromGo[Weather]()
	if err != nil {
		panic(err)
	}
	digest, err := spec.Digest(weather)
	if err != nil {
		panic(err)
	}
	fmt.Println(digest)
	for _, f := range weather.Fields {
		fmt.Println(f.Name, f.Required())
	}
	// Output:
	// model:3ace53826e4b82d21227666cd17c14dbba7d7a2881f05c6832e994b0a654d60a
	// city true
	// celsius true
	// measured_at true
	// note false
}

// What no message can carry is refused when the program starts, with the place.
func ExampleFromGo_refused() {
	type Upload struct {
		Name string          `json:"name"`
		Done <-chan struct{} `json:"done"`
	}

	_, err := spec.FromGo[Upload]()
	fmt.Println(err)
	// Output:
	// unsupported: spec_test.Upload.Done: a chan cannot be part of a message
}

// A peer's manifest says what it understands. What comes out of it is the same
// data that a Go program would have written, with the same digest.
func ExampleParseManifest() {
	p, err := spec.ParseManifest([]byte(peerManifest))
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Name, p.Version)
	for _, rule := range p.Rules {
		fmt.Println(rule.Message, "is answered by", rule.Replies)
	}
	for _, f := range p.Message("Forecast").Body.(*spec.Record).Fields {
		switch t := f.Type.(type) {
		case *spec.Enum:
			fmt.Println(f.Name, "is one of", t.Values)
		case *spec.Union:
			fmt.Println(f.Name, "is a", t.Variants[0], "or a", t.Variants[1])
		default:
			fmt.Println(f.Name, "is a", t)
		}
	}
	digest, err := p.Digest("")
	if err != nil {
		panic(err)
	}
	fmt.Println(digest)
	// Output:
	// weather 1.2.0
	// AskForecast is answered by [Forecast]
	// day is a Date
	// sky is one of ["clear" "grey"]
	// rain is a Float or a String
	// proto:df1a2e2d32acb4c08478ceb7300ad081132836e098698af42752566d5866b508
}

// peerManifest is what a Python agent with two models publishes.
const peerManifest = `{
	"version": "1.0",
	"metadata": {"name": "weather", "version": "1.2.0"},
	"interactions": [{"type": "normal", "request": "model:ask", "responses": ["model:forecast"]}],
	"models": [
		{"digest": "model:ask", "schema": {
			"title": "AskForecast", "type": "object",
			"properties": {"city": {"title": "City", "type": "string"}}, "required": ["city"]}},
		{"digest": "model:forecast", "schema": {
			"title": "Forecast", "type": "object",
			"properties": {
				"day": {"title": "Day", "type": "string", "format": "date"},
				"sky": {"$ref": "#/definitions/Sky"},
				"rain": {"title": "Rain", "anyOf": [{"type": "number"}, {"type": "string"}]}},
			"required": ["day", "sky", "rain"],
			"definitions": {"Sky": {
				"title": "Sky", "description": "An enumeration.", "enum": ["clear", "grey"], "type": "string"}}}}
	]}`

// A protocol with roles has a digest per role: that of the messages which the
// role handles, and of the answers to them.
func ExampleProtocol_Digest() {
	offer := &spec.Record{Name: "Offer", Fields: []spec.Field{
		{Name: "item", Type: spec.String},
		{Name: "price", Type: spec.Decimal.With(spec.Limits{Above: "0"})},
	}}
	accept := &spec.Record{Name: "Accept"}
	decline := &spec.Record{Name: "Decline", Fields: []spec.Field{
		{Name: "reason", Type: spec.String, Optional: true},
	}}
	trade := spec.Protocol{
		Name: "trade", Version: "0.1.0",
		Roles: []spec.Role{{Name: "seller"}, {Name: "buyer"}},
		Messages: []spec.Message{
			{Name: "Offer", Body: offer, From: []string{"seller"}},
			{Name: "Accept", Body: accept, From: []string{"buyer"}},
			{Name: "Decline", Body: decline, From: []string{"buyer"}},
		},
		Rules: []spec.Rule{
			{Message: "Offer", Replies: []string{"Accept", "Decline"}},
			{Message: "Accept"},
			{Message: "Decline"},
		},
	}

	for _, role := range []string{"seller", "buyer", "bystander"} {
		digest, err := trade.Digest(role)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(role, digest)
	}
	// Output:
	// seller proto:d1a18c8b41347bf7e4f4fc6398452298bd16f4a08e5e915da12711366c62c5db
	// buyer proto:e6ac60189eb4d59c425bddea9dd2bfb796e4345f667527f086e15ffaf6afd338
	// not_found: role: protocol trade has no role "bystander"; it has seller, buyer
}

// A schema that cannot be read, or not be written again with the same digest, is
// refused with the place: a peer would take a changed digest for another message.
func ExampleParseSchema_refused() {
	_, err := spec.ParseSchema([]byte(`{"title": "Node", "type": "object",
		"properties": {"next": {"$ref": "#/definitions/Nod"}}, "definitions": {"Node": {}}}`))
	fmt.Println(err)
	// Output:
	// malformed: properties.next.$ref: there is no definition "Nod"
}
