package spec_test

import (
	"fmt"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

// wantError checks the code and the field of an error, and that it has words.
func wantError(t *testing.T, err error, code fault.Code, field string) {
	t.Helper()
	f, ok := err.(*fault.Error)
	if !ok || f.Code != code || f.Field != field || f.Text == "" {
		t.Errorf("error = %v (%T), want %s: %s: …", err, err, code, field)
	}
}

// ping is a protocol without mistakes, for tests to put one in.
func ping() *spec.Protocol {
	return &spec.Protocol{
		Name:  "ping",
		Roles: []spec.Role{{Name: "asker"}, {Name: "answerer"}},
		Messages: []spec.Message{
			{Name: "Ping", Body: &spec.Record{Name: "Ping"}, From: []string{"asker"}},
			{Name: "Pong", Body: &spec.Record{Name: "Pong"}, To: []string{"asker"}},
		},
		Rules: []spec.Rule{{Message: "Ping", Replies: []string{"Pong"}, By: []string{"answerer"}}, {Message: "Pong"}},
	}
}

func TestCheckNamesThePlaceOfAMistake(t *testing.T) {
	if err := ping().Check(); err != nil {
		t.Fatalf("a protocol without mistakes: %v", err)
	}
	for name, tc := range map[string]struct {
		spoil func(*spec.Protocol)
		field string
	}{
		"role without a name":          {func(p *spec.Protocol) { p.Roles[1].Name = "" }, "roles[1]"},
		"role twice":                   {func(p *spec.Protocol) { p.Roles[1].Name = "asker" }, "roles[1]"},
		"message without a name":       {func(p *spec.Protocol) { p.Messages[0].Name = "" }, "messages[0]"},
		"message twice":                {func(p *spec.Protocol) { p.Messages[1].Name = "Ping" }, "messages[1]"},
		"sender that is no role":       {func(p *spec.Protocol) { p.Messages[0].From = []string{"asker", "x"} }, "messages.Ping"},
		"receiver that is no role":     {func(p *spec.Protocol) { p.Messages[1].To = []string{"x"} }, "messages.Pong"},
		"rule twice":                   {func(p *spec.Protocol) { p.Rules[1].Message = "Ping" }, "rules[1]"},
		"rule without a message":       {func(p *spec.Protocol) { p.Rules[0].Message = "" }, "rules[0]"},
		"rule for no message":          {func(p *spec.Protocol) { p.Rules[0].Message = "Pang" }, "rules.Pang"},
		"reply that is no message":     {func(p *spec.Protocol) { p.Rules[0].Replies = []string{"Pong", "Pung"} }, "rules.Ping"},
		"answerer that is no role":     {func(p *spec.Protocol) { p.Rules[0].By = []string{"x"} }, "rules.Ping"},
		"roles where there are none":   {func(p *spec.Protocol) { p.Roles = nil }, "messages.Ping"},
		"message where there are none": {func(p *spec.Protocol) { p.Messages = nil }, "rules.Ping"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ping()
			tc.spoil(p)

			wantError(t, p.Check(), fault.Malformed, tc.field)
			_, err := p.Digest("")
			wantError(t, err, fault.Malformed, tc.field)
		})
	}
}

// Who handles a message follows from who sends it, unless the message says so.
func TestHandledBy(t *testing.T) {
	roles := []spec.Role{{Name: "seller"}, {Name: "buyer"}, {Name: "peer", Min: 2, Max: 2}, {Name: "crowd", Max: -1}, {Name: "one", Min: 1, Max: 1}}
	for _, tc := range []struct {
		from, to []string
		handles  map[string]bool
	}{
		{nil, nil, map[string]bool{"": true, "seller": true, "buyer": true, "peer": true}},
		{[]string{"seller"}, nil, map[string]bool{"": true, "seller": false, "buyer": true, "peer": true}},
		{[]string{"seller", "buyer"}, nil, map[string]bool{"seller": true, "buyer": true}},
		{[]string{"peer"}, nil, map[string]bool{"peer": true, "seller": true}},
		{[]string{"crowd"}, nil, map[string]bool{"crowd": true}},
		{[]string{"one"}, nil, map[string]bool{"one": false, "crowd": true}},
		{[]string{"seller"}, []string{"seller"}, map[string]bool{"": true, "seller": true, "buyer": false}},
		{nil, []string{"buyer", "peer"}, map[string]bool{"": true, "seller": false, "buyer": true, "peer": true}},
		{[]string{"seller"}, []string{}, map[string]bool{"": true, "seller": false, "buyer": false, "peer": false}},
	} {
		t.Run(fmt.Sprintf("from %q to %q", tc.from, tc.to), func(t *testing.T) {
			p := spec.Protocol{Roles: roles}
			m := &spec.Message{Name: "M", From: tc.from, To: tc.to}
			for role, want := range tc.handles {
				if got := p.HandledBy(m, role); got != want {
					t.Errorf("role %q: %t, want %t", role, got, want)
				}
			}
		})
	}
}

// The digest of a role is that of a protocol which has only what the role
// handles, and the answers to it.
func TestDigestOfARoleCoversWhatItHandles(t *testing.T) {
	p := ping()
	asker := spec.Protocol{Messages: p.Messages[1:], Rules: []spec.Rule{{Message: "Pong"}}}
	asker.Messages[0].To = nil
	want, err := asker.Digest("")
	if err != nil {
		t.Fatal(err)
	}

	got, err := ping().Digest("asker")

	if err != nil || got != want {
		t.Errorf("digest = %s (%v), want %s", got, err, want)
	}
	if whole, err := ping().Digest(""); err != nil || whole == want {
		t.Errorf("all roles: %s (%v), want another digest", whole, err)
	}
	_, err = ping().Digest("nobody")
	wantError(t, err, fault.NotFound, "role")
	_, err = (&spec.Protocol{}).Manifest("asker")
	wantError(t, err, fault.NotFound, "role")
}

func TestWhatHasNoSchemaIsRefusedWithItsMessage(t *testing.T) {
	twins := &spec.Record{Name: "Twins", Fields: []spec.Field{
		{Name: "a", Type: &spec.Record{Name: "Same"}}, {Name: "b", Type: &spec.Record{Name: "Same"}},
	}}
	for name, tc := range map[string]struct {
		body  spec.Type
		code  fault.Code
		field string
	}{
		"no body":             {nil, fault.Unsupported, "messages.Ping"},
		"a scalar":            {spec.Int, fault.Unsupported, "messages.Ping"},
		"an enum":             {&spec.Enum{Name: "E", Values: []spec.JSON{"1"}}, fault.Unsupported, "messages.Ping.E"},
		"a custom type":       {with(&spec.Custom{Name: "C"}), fault.Unsupported, "messages.Ping.Ping.a.C"},
		"a kind unknown":      {with(spec.Kind(200)), fault.Unsupported, "messages.Ping.Ping.a"},
		"two types of a name": {twins, fault.Conflict, "messages.Ping.Twins.b.Same"},
		"a type of its name":  {with(&spec.Record{Name: "Ping"}), fault.Conflict, "messages.Ping.Ping.a.Ping"},
		"no name":             {with(&spec.Record{}), fault.Unsupported, "messages.Ping.Ping.a"},
		"a field twice":       {&spec.Record{Name: "Ping", Fields: []spec.Field{{Name: "a"}, {Name: "b", Alias: "a"}}}, fault.Unsupported, "messages.Ping.Ping.a"},
		"no variants":         {with(&spec.Union{}), fault.Unsupported, "messages.Ping.Ping.a"},
		"only null":           {with(&spec.Union{Variants: []spec.Type{spec.Null}}), fault.Unsupported, "messages.Ping.Ping.a"},
		"no literal":          {with(&spec.Literal{}), fault.Unsupported, "messages.Ping.Ping.a"},
		"a list as a literal": {with(&spec.Literal{Values: []spec.JSON{"[]"}}), fault.Unsupported, "messages.Ping.Ping.a"},
		"a default that is no JSON": {
			&spec.Record{Name: "Ping", Fields: []spec.Field{{Name: "a", Type: spec.Int, Default: "one"}}}, fault.Malformed, "messages.Ping.Ping.a",
		},
		"a union of itself":  {with(itself()), fault.Unsupported, "messages.Ping.Ping.a"},
		"a list of itself":   {with(endless()), fault.Unsupported, "messages.Ping.Ping.a"},
		"a tag of no record": {with(&spec.Union{Tag: "kind", Variants: []spec.Type{spec.Int, spec.String}}), fault.Unsupported, "messages.Ping.Ping.a"},
		"a tag that a variant lacks": {
			with(&spec.Union{Tag: "kind", Variants: []spec.Type{&spec.Record{Name: "A"}, &spec.Record{Name: "B"}}}), fault.Unsupported, "messages.Ping.Ping.a",
		},
		"a tag that is no literal": {
			with(&spec.Union{Tag: "kind", Variants: []spec.Type{kindRecord("A", spec.String), kindRecord("B", spec.String)}}),
			fault.Unsupported, "messages.Ping.Ping.a.A.kind",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := ping()
			p.Messages[0].Body = tc.body

			_, err := p.Manifest("")
			wantError(t, err, tc.code, tc.field)
		})
	}
}

// with is a record named Ping whose field a has the type.
func with(t spec.Type) *spec.Record {
	return &spec.Record{Name: "Ping", Fields: []spec.Field{{Name: "a", Type: t}}}
}

// itself is a union whose only variant it is.
func itself() spec.Type {
	u := &spec.Union{}
	u.Variants = []spec.Type{u}
	return u
}

// endless is a list whose items are such lists.
func endless() spec.Type {
	list := &spec.List{}
	list.Item = &spec.Union{Variants: []spec.Type{list, &spec.Literal{Values: []spec.JSON{"1", `"a"`}}}}
	return list
}

func kindRecord(name string, kind spec.Type) *spec.Record {
	return &spec.Record{Name: name, Fields: []spec.Field{{Name: "kind", Type: kind}}}
}

func TestNamesOfUnknownKinds(t *testing.T) {
	for got, want := range map[string]string{
		spec.UUID4.String(): "UUID4", spec.Kind(99).String(): "unknown (99)",
		spec.Acknowledge.String(): "acknowledge", spec.Class(99).String(): "unknown (99)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
