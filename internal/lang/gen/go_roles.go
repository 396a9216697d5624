package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-agents/parley/spec"
)

// speaks reports whether the protocol can be spoken with package parley: all its
// messages are records with a JSON form.
func (g *goEmitter) speaks(p *Protocol) bool {
	return len(p.Messages) > 0 && !slices.ContainsFunc(p.Messages, func(m *Message) bool { return m.Decl == nil || !g.hasJSON(m.Body) })
}

// roleConst is the name of the constant for a role.
func (g *goEmitter) roleConst(p *Protocol, role string) string {
	return g.prefixes[p] + "Role" + g.roleNames[p][role]
}

// protocol writes the constants and the rules of a protocol.
func (g *goEmitter) protocol(p *Protocol) {
	s := p.Spec
	prefix := cmp.Or(g.prefixes[p], "Protocol")
	g.line("")
	g.line("// The protocol %s.", p.ID())
	g.block("const (", func() {
		g.line("%sName = %q", prefix, s.Name)
		g.line("%sVersion = %q", prefix, s.Version)
		g.line("%sDigest = %q // of the protocol itself, on every wire", prefix, p.Digest())
	}, ")")
	if len(s.Roles) == 1 {
		role := g.roleConst(p, s.Roles[0].Name)
		g.line("")
		g.line("// %s is the role of all who speak %s.", role, s.Name)
		g.line("const %s = %q", role, s.Roles[0].Name)
	} else if len(s.Roles) > 1 {
		g.line("")
		g.line("// The roles of %s.", s.Name)
		g.block("const (", func() {
			for _, r := range s.Roles {
				g.line("%s = %q", g.roleConst(p, r.Name), r.Name)
			}
		}, ")")
	}
	g.rules(p)
}

// manifests writes what a Python agent in each role publishes, and its digest.
func (g *goEmitter) manifests(p *Protocol) {
	roles := []string{""}
	if len(p.Spec.Roles) > 0 {
		roles = nil
		for _, r := range p.Spec.Roles {
			roles = append(roles, r.Name)
		}
	}
	g.line("")
	g.line("// What uAgents publish who speak %s, by the role they play, and its digests.", p.Spec.Name)
	g.block("const (", func() {
		for _, role := range roles {
			manifest, err := p.Spec.Manifest(role)
			if err != nil {
				g.refuse(p.place(g.plan, "", ""), "", "there is no manifest: %v", err)
				return
			}
			digest, _ := p.Spec.Digest(role)
			name := g.prefixes[p]
			if role != "" {
				name += g.roleNames[p][role]
			} else if name == "" {
				name = "Protocol"
			}
			g.line("%s = %q", g.unique(name+"ManifestDigest"), digest)
			g.line("%s = %s", g.unique(name+"Manifest"), rawString(string(manifest)))
		}
	}, ")")
}

func rawString(s string) string {
	if strings.Contains(s, "`") {
		return strconv.Quote(s)
	}
	return "`" + s + "`"
}

// rules writes the protocol as data.
func (g *goEmitter) rules(p *Protocol) {
	g.use(parleyModule + "/spec")
	s := p.Spec
	name := g.prefixes[p] + "Rules"
	g.line("")
	g.line("// %s returns %s as data, anew with each call.", name, s.Name)
	g.block("func "+name+"() *spec.Protocol {", func() {
		g.block("return &spec.Protocol{", func() {
			g.line("Name: %q, Version: %q, Package: %q,", s.Name, s.Version, s.Package)
			if len(s.Roles) > 0 {
				g.block("Roles: []spec.Role{", func() {
					for _, r := range s.Roles {
						bounds := ""
						if r.Min != 0 || r.Max != 0 {
							bounds = fmt.Sprintf(", Min: %d, Max: %d", r.Min, r.Max)
						}
						g.line("{Name: %s%s},", g.roleConst(p, r.Name), bounds)
					}
				}, "},")
			}
			g.block("Messages: []spec.Message{", func() {
				for _, m := range p.Messages {
					g.line("{%s},", strings.Join(g.messageParts(m), ", "))
				}
			}, "},")
			g.block("Rules: []spec.Rule{", func() {
				for i := range s.Rules {
					g.line("{%s},", strings.Join(g.ruleParts(&s.Rules[i]), ", "))
				}
			}, "},")
			if s.Dialogue != nil {
				g.dialogue(s.Dialogue)
			}
		}, "}")
	}, "}")
}

func (g *goEmitter) messageParts(m *Message) []string {
	parts := []string{fmt.Sprintf("Name: %q", m.Name)}
	if m.Decl != nil && g.hasJSON(m.Body) {
		parts = append(parts, "Body: spec.MustFromGo["+g.typ(m.Body)+"]()")
	}
	if m.Class != spec.Unclassified {
		parts = append(parts, "Class: spec."+classConsts[m.Class])
	}
	parts = append(parts, names("From", m.From)...)
	return append(parts, names("To", m.To)...)
}

var classConsts = map[spec.Class]string{
	spec.Request: "Request", spec.Response: "Response", spec.Inform: "Inform", spec.Query: "Query",
	spec.Acknowledge: "Acknowledge", spec.ErrorReport: "ErrorReport",
}

// names writes a list of names, if it is not nil.
func names(key string, list []string) []string {
	if list == nil {
		return nil
	}
	return []string{key + ": " + stringList(list)}
}

func stringList(list []string) string {
	var quoted []string
	for _, s := range list {
		quoted = append(quoted, strconv.Quote(s))
	}
	return "[]string{" + strings.Join(quoted, ", ") + "}"
}

func (g *goEmitter) ruleParts(r *spec.Rule) []string {
	parts := []string{fmt.Sprintf("Message: %q", r.Message)}
	if len(r.Replies) > 0 {
		parts = append(parts, names("Replies", r.Replies)...)
	}
	if r.MayRest {
		parts = append(parts, "MayRest: true")
	}
	parts = append(parts, names("By", r.By)...)
	if r.Within != 0 {
		parts = append(parts, "Within: "+g.duration(r.Within))
	}
	if r.Else != "" {
		parts = append(parts, fmt.Sprintf("Else: %q", r.Else))
	}
	return parts
}

func (g *goEmitter) duration(d time.Duration) string {
	g.use("time")
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
		if d%unit.of == 0 {
			return fmt.Sprintf("%d * time.%s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%d", d)
}

func (g *goEmitter) dialogue(d *spec.Dialogue) {
	g.block("Dialogue: &spec.Dialogue{", func() {
		g.block("Initiates: []spec.Initiation{", func() {
			for _, i := range d.Initiates {
				g.line("{%s},", strings.Join(append(names("Messages", i.Messages), names("By", i.By)...), ", "))
			}
		}, "},")
		for _, part := range append(names("Terminates", d.Terminates), names("EndStates", d.EndStates)...) {
			g.line("%s,", part)
		}
		if d.KeepTerminal {
			g.line("KeepTerminal: true,")
		}
		if d.Timeout != 0 {
			g.line("Timeout: %s,", g.duration(d.Timeout))
		}
		if len(d.Outcomes) > 0 {
			g.block("Outcomes: []spec.Outcome{", func() {
				for _, o := range d.Outcomes {
					parts := []string{fmt.Sprintf("State: %q", o.State)}
					if o.OnTimeout {
						parts = append(parts, "OnTimeout: true")
					}
					parts = append(parts, names("Messages", o.Messages)...)
					g.line("{%s},", strings.Join(append(parts, names("After", o.After)...), ", "))
				}
			}, "},")
		}
	}, "},")
}

// repliesTo lists the messages by which somebody in a role may answer. Errors of
// the uAgents library are left out: what a handler returns as error becomes one.
func (g *goEmitter) repliesTo(p *Protocol, rule *spec.Rule, role string) []*Message {
	if role != "" && rule.By != nil && !slices.Contains(rule.By, role) {
		return nil
	}
	var all []*Message
	for _, m := range p.Messages {
		if slices.Contains(rule.Replies, m.Name) && !g.isError(m.Body) {
			all = append(all, m)
		}
	}
	return all
}

// replyType is what a handler of a message returns: a message, an interface that
// only the allowed replies implement, or "" for nothing.
func (g *goEmitter) replyType(p *Protocol, rule *spec.Rule, replies []*Message) string {
	switch {
	case len(replies) == 0:
		return ""
	case len(replies) == 1 && !rule.MayRest:
		return g.typ(replies[0].Body)
	}
	if g.replyNames[rule] == "" {
		message := g.typ(p.Spec.Message(rule.Message).Body)
		name := message + "Reply"
		if g.taken[name] { // a message is called so
			name = message + "Answer"
		}
		g.replyNames[rule] = g.unique(name)
	}
	return g.replyNames[rule]
}

// replies writes the interfaces of replies, also of protocols that only another
// wire can carry.
func (g *goEmitter) replies(p *Protocol) {
	if slices.ContainsFunc(p.Messages, func(m *Message) bool { return m.Decl == nil }) {
		return
	}
	for i := range p.Spec.Rules {
		rule := &p.Spec.Rules[i]
		if g.isError(p.Spec.Message(rule.Message).Body) {
			continue
		}
		all := g.repliesTo(p, rule, "")
		name := g.replyType(p, rule, all)
		if name == "" || name != g.replyNames[rule] {
			continue
		}
		var types []string
		for _, m := range all {
			types = append(types, g.typ(m.Body))
		}
		g.line("")
		g.comment("//", wrapped(fmt.Sprintf("%s is what may answer %s: %s.", name, g.typ(p.Spec.Message(rule.Message).Body), strings.Join(types, ", "))))
		if rule.MayRest {
			g.line("// Nil is no answer.")
		}
		g.sealed(name, types)
	}
}

// roles writes for each role its server and its client.
func (g *goEmitter) roles(p *Protocol) {
	if !g.speaks(p) {
		return
	}
	if len(p.Spec.Roles) == 0 {
		g.role(p, "")
	}
	for _, r := range p.Spec.Roles {
		g.role(p, r.Name)
	}
}

func (g *goEmitter) role(p *Protocol, role string) {
	var handled []*Message
	for _, m := range p.Messages {
		if p.Spec.HandledBy(m.Message, role) && p.Spec.Rule(m.Name) != nil && !g.isError(m.Body) {
			handled = append(handled, m)
		}
	}
	if len(handled) == 0 {
		return
	}
	title := g.prefixes[p] + g.roleNames[p][role]
	words := "in the role " + role + " of " + p.Spec.Name
	if role == "" {
		title, words = g.prefixes[p], "that speaks "+p.Spec.Name
	}
	g.server(p, role, title, words, handled)
	g.client(p, role, title, words, handled)
}

func (g *goEmitter) server(p *Protocol, role, title, words string, handled []*Message) {
	g.use("context")
	g.use(parleyModule)
	server, include := g.unique(title+"Server"), g.unique("Include"+title)
	g.line("")
	g.comment("//", wrapped(server+" handles what an agent "+words+" receives. Handlers of different dialogues run concurrently."))
	g.block("type "+server+" interface {", func() {
		for _, m := range handled {
			rule := p.Spec.Rule(m.Name)
			in := g.typ(m.Body)
			if out := g.replyType(p, rule, g.repliesTo(p, rule, role)); out != "" {
				g.line("%s(ctx context.Context, t *parley.Turn, in %s) (%s, error)", in, in, out)
			} else {
				g.line("%s(ctx context.Context, t *parley.Turn, in %s) error", in, in)
			}
		}
	}, "}")
	g.line("")
	g.comment("//", wrapped(include+" makes an agent one "+words+". The role in opts is set; nil opts are the defaults."))
	g.block(fmt.Sprintf("func %s(a *parley.Agent, s %s, opts *parley.Include) {", include, server), func() {
		g.line("p := parley.NewProtocol(%sRules())", g.prefixes[p])
		for _, m := range handled {
			rule := p.Spec.Rule(m.Name)
			function := "On"
			if g.replyType(p, rule, g.repliesTo(p, rule, role)) != "" {
				function = "Handle"
			}
			g.line("parley.%s(p, s.%s)", function, g.typ(m.Body))
		}
		g.line("var in parley.Include")
		g.block("if opts != nil {", func() { g.line("in = *opts") }, "}")
		if role != "" {
			g.line("in.Role = %s", g.roleConst(p, role))
		}
		g.line("a.Include(p, &in)")
	}, "}")
}

// client writes how others begin to speak to an agent in a role.
func (g *goEmitter) client(p *Protocol, role, title, words string, handled []*Message) {
	var first []*Message
	for _, m := range handled {
		if initiates(p.Spec, m.Name) {
			first = append(first, m)
		}
	}
	if len(first) == 0 {
		return
	}
	g.use(parleyModule + "/identity")
	client := g.unique(title + "Client")
	g.line("")
	g.comment("//", wrapped(client+" speaks to an agent "+words+"."))
	g.block("type "+client+" struct {", func() {
		g.line("From parley.Asker // a turn, or an agent outside of one")
		g.line("To identity.Address")
	}, "}")
	for _, m := range first {
		in := g.typ(m.Body)
		rule := p.Spec.Rule(m.Name)
		var answers []*Message
		for _, r := range g.repliesTo(p, rule, role) {
			if r.Class != spec.Acknowledge {
				answers = append(answers, r)
			}
		}
		g.line("")
		if len(answers) == 0 {
			g.line("// %s sends a message when the turn is committed.", in)
			g.line("func (c %s) %s(t *parley.Turn, m %s) error { return t.Send(c.To, m) }", client, in, in)
			continue
		}
		out := g.replyType(p, rule, answers)
		g.line("// %s asks and waits for the answer; see parley.Ask.", in)
		g.block(fmt.Sprintf("func (c %s) %s(ctx context.Context, m %s) (%s, error) {", client, in, in, out), func() {
			g.line("return parley.Ask[%s](ctx, c.From, c.To, m)", out)
		}, "}")
	}
}

// initiates reports whether a message opens an exchange.
func initiates(p *spec.Protocol, message string) bool {
	if p.Dialogue != nil {
		return slices.ContainsFunc(p.Dialogue.Initiates, func(i spec.Initiation) bool { return slices.Contains(i.Messages, message) })
	}
	return !slices.ContainsFunc(p.Rules, func(r spec.Rule) bool { return slices.Contains(r.Replies, message) })
}
