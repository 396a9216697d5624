package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/spec"
)

// protocolsOf converts and judges the protocols of a file.
func (m *module) protocolsOf() {
	for _, p := range m.protocols {
		m.protocol(p)
	}
}

// protocol makes the data of a protocol once.
func (m *module) protocol(p *Protocol) {
	if p.Spec != nil {
		return
	}
	p.Spec = &spec.Protocol{Name: p.Name, Doc: p.Decl.Doc()}
	p.vague = vague(p.Decl)
	w := &protocolWriter{module: m, Protocol: p, declared: make(map[string]bool), told: make(map[string]bool)}
	p.slips = make(map[string]int)
	w.head()
	w.inherit()
	w.items()
	w.finish()
	m.judge(p)
}

// vague reports whether mistakes of the text hide what a protocol says of its
// messages and roles. A mistake in the body of a type or message does not.
func vague(d *syntax.ProtocolDecl) bool {
	if !d.Broken {
		return false
	}
	inBodies := false
	for _, item := range d.Items {
		if !item.Base().Broken {
			continue
		}
		switch item := item.(type) {
		case *syntax.TypeDecl, *syntax.EnumDecl, *syntax.CustomDecl:
		case *syntax.MessageDecl:
			if body, ok := item.Body.(*syntax.Record); !ok || !body.Whole {
				return true
			}
		default:
			return true
		}
		inBodies = true
	}
	return !inBodies || d.Lost
}

// A protocolWriter turns the tree of a protocol into data.
type protocolWriter struct {
	*module
	*Protocol
	dialogue *syntax.Dialogue
	flow     *syntax.Flow
	roles    *syntax.Roles
	declared map[string]bool // messages, those of the base too
	told     map[string]bool // names of messages and roles that are not there
}

func (w *protocolWriter) head() {
	d, p := w.Decl, w.Spec
	p.Annotations = w.annotations(d.Annotations, onProtocol)
	if name, ok := text(p.Annotations, "name"); ok {
		p.Name = name
	}
	pkg, version := w.identity()
	p.Package = pkg
	if d.Version != nil {
		version = d.Version.Value
	}
	p.Version = version
	if w.pkg != nil {
		found := len(w.c.found)
		p.PackageAnnotations = w.annotations(w.pkg.Annotations, onPackage)
		w.c.found = w.c.found[:found] // told when the file was resolved
	}
}

// once keeps the first of what a protocol may have only once.
func once[T any](w *protocolWriter, first *T, item *T, n *syntax.Node, word string) *T {
	if first == nil {
		return item
	}
	w.unclear = true
	w.report("PAR2006", n.Span, "join them", "a protocol has one '%s'", word)
	return first
}

func (w *protocolWriter) items() {
	for _, item := range w.Decl.Items {
		switch d := item.(type) {
		case *syntax.Roles:
			w.roles = once(w, w.roles, d, &d.Node, "roles")
		case *syntax.Dialogue:
			w.dialogue = once(w, w.dialogue, d, &d.Node, "dialogue")
		case *syntax.Flow:
			w.flow = once(w, w.flow, d, &d.Node, "flow")
		case *syntax.CustomDecl:
			if def := w.converter.types[d.Name.Text]; def != nil {
				if custom, ok := def.typ.(*spec.Custom); ok && def.typ != wrong {
					w.Spec.Customs = append(w.Spec.Customs, custom)
				}
			}
		}
	}
	for _, d := range w.converter.inOrder {
		w.Types = append(w.Types, d.export())
	}
	if w.roles != nil && !w.roles.Broken {
		w.addRoles(w.roles)
	}
	for _, item := range w.Decl.Items {
		if d, ok := item.(*syntax.MessageDecl); ok {
			w.message(d)
		}
	}
	if w.dialogue != nil {
		w.addDialogue(w.dialogue)
	}
	if w.flow != nil {
		w.annotations(w.flow.Annotations, onProtocol)
		w.Spec.Flow = &spec.Flow{Steps: w.steps(w.flow.Block.Steps, nil)}
		w.notYet(w.flow, "the flow is")
	}
}

func (w *protocolWriter) addRoles(d *syntax.Roles) {
	w.annotations(d.Annotations, onProtocol)
	w.Spec.Roles = nil
	for _, r := range d.Roles {
		if w.Spec.Role(r.Name.Text) != nil {
			w.unclear = true
			w.report("PAR2006", r.Name.Span, "", "role '%s' is declared twice", r.Name.Text)
			continue
		}
		role := spec.Role{Name: r.Name.Text}
		if r.Min != nil {
			role.Min = number(r.Min)
			switch {
			case r.Many:
				role.Max = -1
			case r.Max != nil:
				role.Max = number(r.Max)
			default:
				role.Max = role.Min
			}
			if role.Max == 0 || role.Max > 0 && role.Min > role.Max {
				w.unclear = true
				w.report("PAR2005", r.Name.Span, "such as agent[2] or bidder[1..*]", "role '%s' has room for nobody", r.Name.Text)
			}
		}
		w.Spec.Roles = append(w.Spec.Roles, role)
	}
	if len(w.Spec.Roles) > 2 && w.flow == nil && w.dialogue != nil {
		w.unclear = true
		w.report("PAR2005", d.Span, "tell what happens as a `flow`", "a dialogue is between one or two roles, not %d", len(w.Spec.Roles))
	}
}

func number(l *syntax.Literal) int {
	n, _ := strconv.Atoi(l.Raw)
	return n
}

func (w *protocolWriter) message(d *syntax.MessageDecl) {
	def := w.converter.messages[d.Name.Text]
	if def == nil || def.item != syntax.Item(d) {
		return
	}
	if w.declared[d.Name.Text] {
		w.Spec.Messages = slices.DeleteFunc(w.Spec.Messages, func(m spec.Message) bool { return m.Name == d.Name.Text })
	}
	found := len(w.c.found)
	m := spec.Message{Name: d.Name.Text, Doc: d.Doc(), Annotations: w.annotations(d.Annotations, onMessage)}
	w.c.found = w.c.found[:found] // told when the type was resolved
	var ok bool
	if m.Class, ok = w.class(d); !ok {
		w.guessed = w.guessed || m.Class != spec.Unclassified
		w.unclear = w.unclear || m.Class == spec.Unclassified
	}
	if d.From != nil && !d.Broken {
		m.From = w.rolesNamed(d.From)
	}
	if def.typ != wrong {
		m.Body = def.typ
	}
	w.declared[d.Name.Text] = true
	w.Spec.Messages = append(w.Spec.Messages, m)
}

// class resolves the class of a message. One that is misspelt is what was probably
// meant.
func (m *module) class(d *syntax.MessageDecl) (spec.Class, bool) {
	class, ok := classes[d.Class.Text]
	if ok || d.Class.Text == "" {
		return class, true
	}
	hint := diag.DidYouMean(d.Class.Text, classWords)
	if hint == "" {
		hint = "one of " + strings.Join(classWords, ", ")
	}
	m.report("PAR2001", d.Class.Span, hint, "unknown performative class '%s'", d.Class.Text)
	return classes[diag.Nearest(d.Class.Text, classWords)], false
}

// nothing is how one may say that there is no reply.
var nothing = []string{"end", "ends", "none", "nothing", "null", "nil", "stop", "done", "empty", "terminate"}

var classWords = []string{"request", "response", "inform", "query", "acknowledge", "error"}

var classes = map[string]spec.Class{
	"request": spec.Request, "response": spec.Response, "inform": spec.Inform, "query": spec.Query,
	"acknowledge": spec.Acknowledge, "error": spec.ErrorReport,
}

// rolesNamed resolves names of roles.
func (w *protocolWriter) rolesNamed(names []syntax.Name) []string {
	var out []string
	for _, n := range w.distinct(names) {
		if w.Spec.Role(n.Text) == nil {
			w.strangers = true
			out = append(out, n.Text)
			if w.vague || w.told["role "+n.Text] {
				continue // what was not understood may have declared it
			}
			w.told["role "+n.Text] = true
			var known []string
			for _, r := range w.Spec.Roles {
				known = append(known, r.Name)
			}
			hint := diag.DidYouMean(n.Text, known)
			switch {
			case len(known) == 0:
				hint = "declare `roles " + n.Text + ", …`"
			case hint == "":
				hint = "the roles are " + strings.Join(known, ", ")
			}
			w.report("PAR2004", n.Span, hint, "unknown role '%s'", n.Text)
			continue
		}
		out = append(out, n.Text)
	}
	return out
}

// distinct warns of names that are in a list twice.
func (w *protocolWriter) distinct(names []syntax.Name) []syntax.Name {
	if len(names) < 2 {
		return names
	}
	seen := make(map[string]bool, len(names))
	var out []syntax.Name
	for _, n := range names {
		if seen[n.Text] {
			w.report("PAR2007", n.Span, "remove one", "'%s' is in this list twice", n.Text)
			continue
		}
		seen[n.Text] = true
		out = append(out, n)
	}
	return out
}

// messagesNamed resolves names of messages. Those that are not there stay in the
// list, so that what follows from them is not reported.
func (w *protocolWriter) messagesNamed(names []syntax.Name, what string) []string {
	out := make([]string, 0, len(names))
	for _, n := range w.distinct(names) {
		w.messageNamed(n, what, "")
		out = append(out, n.Text)
	}
	return out
}

// messageNamed resolves the name of a message. One that is not there is told
// once; some message will lack what stands here, with the code that follows.
func (w *protocolWriter) messageNamed(n syntax.Name, what, follows string) {
	if n.Text == "" || w.known(n.Text) {
		return
	}
	w.slips[follows]++
	if w.told[n.Text] || w.said[diag.Error] > 2*diag.MaxPerFile {
		return
	}
	w.told[n.Text] = true
	var known []string
	for _, m := range w.Spec.Messages {
		known = append(known, m.Name)
	}
	hint := "declare `message " + n.Text + "` or remove it"
	if near := diag.DidYouMean(n.Text, known); near != "" {
		hint = near
	} else if what != "" && slices.Contains(nothing, strings.ToLower(n.Text)) {
		hint = "if nothing answers, write `[]`"
	}
	w.report("PAR2002", n.Span, hint, "%s'%s' is not a message of this protocol", what, n.Text)
}

// known reports whether there is a message of the name, or may be one in what
// was not understood.
func (w *protocolWriter) known(name string) bool {
	if w.declared[name] || w.converter.messages[name] != nil {
		return true
	}
	return w.vague
}

func (w *protocolWriter) duration(l *syntax.Literal) time.Duration {
	if l == nil {
		return 0
	}
	d, ok := durationOf(l)
	switch {
	case !ok:
		w.report("PAR0008", l.Span, "", "this duration is too long")
	case d == 0:
		w.report("PAR2008", l.Span, "leave it out if there is none", "a time limit must be longer than 0")
	}
	return d
}
