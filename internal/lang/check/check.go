// Package check turns parsed sources into protocols: it resolves names and
// imports, checks types, constraints, defaults and annotations, has the dialogue
// judged by package verify, and says with a place and a code what is wrong.
//
//	result := check.All([]check.Source{{Name: "shop.parley", Text: text}}, check.Options{})
//	if result.Diagnostics.HasErrors() { … }
//	for _, p := range result.Protocols { fmt.Println(p.Name, p.Digest()) }
//
// A mistake is reported once, at its cause: what rests on something that is
// wrong is taken as right.
package check

import (
	"path"
	"regexp"
	"slices"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/syntax"
	"github.com/parley-agents/parley/internal/lang/verify"
	"github.com/parley-agents/parley/spec"
)

// A Source is a text to check. Its name is a path with slashes.
type Source struct {
	Name string
	Text []byte
}

// Options say where imports are and what else to check.
type Options struct {
	// Load returns the text of a file that is imported. It is asked for the
	// path relative to the importing file first, then to each of the roots. Nil
	// finds nothing. Whatever error it returns means that the file is not there.
	Load  func(name string) ([]byte, error)
	Roots []string

	// Bounds asks for time limits; see [verify.Options].
	Bounds bool
}

// A Result is what a set of sources says.
type Result struct {
	Files       []*syntax.File // in the order of the sources
	Protocols   []*Protocol    // of the sources, in their order
	Types       []*Type        // declared in the sources outside protocols, in their order
	Imported    []*Type        // declared in what the sources import, in the order it was found
	Diagnostics diag.List      // in order
}

// A Protocol is a checked protocol.
type Protocol struct {
	Name   string // as declared; that of Spec may be another by @name
	File   *syntax.File
	Decl   *syntax.ProtocolDecl
	Spec   *spec.Protocol
	Types  []*Type // declared inside, in order
	Broken bool    // there are errors in what it is made of: Spec is not to be relied on

	base      *Protocol
	converter *scope
	vague     bool            // parts of the protocol were not understood: names may be missing
	unclear   bool            // what is missing in the dialogue cannot be judged
	guessed   bool            // a class is a guess
	strangers bool            // a role is not known: who sends what cannot be judged
	slips     map[string]int  // unknown names, by the code of what follows from them
	solved    map[string]bool // messages whose senders the source does not name
}

// A Type is a declared type: a record, an enum, a custom type, or whatever an
// alias stands for.
type Type struct {
	Name string
	File *syntax.File
	Decl syntax.Item
	Spec spec.Type
}

// All checks sources with everything they import.
func All(sources []Source, options Options) *Result {
	c := newChecker(options)
	for _, s := range sources {
		name := path.Clean(s.Name)
		if c.modules[name] == nil {
			c.add(name, s.Name, s.Text)
		}
	}
	for i := 0; i < len(c.order); i++ { // grows by what is imported
		c.order[i].imported()
	}
	c.cycles()
	for _, m := range c.order {
		m.declare()
	}
	for _, m := range c.order {
		m.resolve()
	}
	c.fill()
	c.deferred()
	for _, m := range c.order {
		m.protocolsOf()
	}
	c.deferred()
	c.mark()
	result := &Result{}
	for _, s := range sources {
		m := c.modules[path.Clean(s.Name)]
		result.Files = append(result.Files, m.file)
		for _, d := range m.top.inOrder {
			result.Types = append(result.Types, d.export())
		}
		result.Protocols = append(result.Protocols, m.protocols...)
	}
	for _, m := range c.order {
		if !slices.Contains(result.Files, m.file) {
			for _, d := range m.top.inOrder {
				result.Imported = append(result.Imported, d.export())
			}
		}
	}
	result.Diagnostics = c.found.Tidy()
	return result
}

// File checks one source.
func File(name string, text []byte, options Options) *Result {
	return All([]Source{{name, text}}, options)
}

// checker is the state of one run.
type checker struct {
	options Options
	modules map[string]*module // by cleaned path
	order   []*module
	found   diag.List

	records  map[*spec.Record]*filling
	fills    []*filling    // in the order of the sources
	aliases  []*definition // that contain themselves
	endless  map[spec.Type]bool
	later    []func() // what needs every record to be filled
	patterns map[string]*regexp.Regexp

	copied int // members copied by spreads
	pairs  int // variants compared
	depth  int // of aliases that are being resolved
	size   int // of the type that is being resolved
}

func newChecker(options Options) *checker {
	return &checker{
		options: options, modules: make(map[string]*module), records: make(map[*spec.Record]*filling),
		endless: make(map[spec.Type]bool), patterns: make(map[string]*regexp.Regexp),
	}
}

func (c *checker) add(path, name string, text []byte) *module {
	file, found := syntax.Parse(name, text)
	m := &module{c: c, path: path, file: file}
	c.modules[path] = m
	c.order = append(c.order, m)
	c.found = append(c.found, found...)
	return m
}

// fill gives all records their fields; some have records inside.
func (c *checker) fill() {
	for i := 0; i < len(c.fills); i++ {
		c.fills[i].fill()
	}
	c.grounded()
}

// deferred runs what waited for all records to be filled.
func (c *checker) deferred() {
	for len(c.later) > 0 {
		now := c.later
		c.later = nil
		for _, f := range now {
			f()
		}
	}
}

// mark tells the protocols that rest on a file with errors.
func (c *checker) mark() {
	bad := make(map[string]bool)
	for _, d := range c.found {
		bad[d.Span.File] = bad[d.Span.File] || d.Severity == diag.Error
	}
	for _, m := range c.order {
		seen := make(map[*module]bool)
		var rests func(o *module) bool
		rests = func(o *module) bool {
			if seen[o] {
				return false
			}
			seen[o] = true
			return bad[o.file.Name] || slices.ContainsFunc(o.imports, func(im importOf) bool { return rests(im.module) })
		}
		if broken := rests(m); broken {
			for _, p := range m.protocols {
				p.Broken = true
			}
		}
	}
}

func (m *module) report(code string, at syntax.Span, hint, format string, args ...any) {
	if m.full(code) {
		return
	}
	m.c.found = append(m.c.found, diag.New(code, m.file.At(at), hint, format, args...))
}

// full counts what is said about a file, by how bad it is, and reports whether
// it was enough. Errors are never crowded out by others.
func (m *module) full(code string) bool {
	info, _ := diag.Lookup(code)
	m.said[info.Severity]++
	return m.said[info.Severity] > 2*diag.MaxPerFile
}

// judge lets package verify look at the dialogue and places what it finds.
func (m *module) judge(p *Protocol) {
	if p.vague || !verify.Covers(p.Spec) {
		return
	}
	result := verify.Protocol(p.Spec, verify.Options{Bounds: m.c.options.Bounds && !p.unclear})
	count := make(map[string]int)
	for _, f := range result.Findings {
		count[f.Code]++
	}
	for _, f := range result.Findings {
		if count[f.Code] <= p.slips[f.Code] {
			continue // what lacks it is what the unknown name was meant for
		}
		if p.follows(f.Code) {
			continue
		}
		if m.full(f.Code) {
			continue
		}
		m.c.found = append(m.c.found, diag.New(f.Code, p.place(f.At), f.Hint, "%s", f.Message))
	}
	if !p.unclear && !p.strangers {
		p.setSenders(result.Senders)
	}
}

// follows reports whether a finding may only follow from something else that was
// said of the protocol. What is written wrongly is wrong in any case.
func (p *Protocol) follows(code string) bool {
	switch code {
	case "PAR2107", "PAR2108", "PAR2141":
		return false
	case "PAR2120", "PAR2121":
		return p.unclear || p.strangers
	}
	return p.unclear
}

// setSenders completes who sends what, so that each role's manifest holds what
// that role receives.
func (p *Protocol) setSenders(senders map[string][]string) {
	p.solved = make(map[string]bool)
	for i := range p.Spec.Messages {
		msg := &p.Spec.Messages[i]
		if from := senders[msg.Name]; msg.From == nil && len(from) > 0 && len(from) < len(p.Spec.Roles) {
			msg.From = from
			p.solved[msg.Name] = true
		}
	}
}
