package gen

import (
	"cmp"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/spec"
)

// emitGo writes two Go files. The first is for people: rules, types, and for each
// role what an agent in it must handle and how others speak to it. The second is
// for machines: codecs and manifests.
func emitGo(plan *Plan, found *problems) []File {
	g := &goEmitter{
		plan: plan, found: found, imports: make(map[string]bool), names: make(map[*Decl]string), taken: make(map[string]bool),
		replyNames: make(map[*spec.Rule]string), enums: make(map[*Decl][]string), made: make(map[string]string),
		prefixes: make(map[*Protocol]string), roleNames: make(map[*Protocol]map[string]string),
	}
	g.printer.unit = "\t"
	for _, p := range plan.Protocols {
		g.reserve(p)
	}
	for _, d := range plan.Decls {
		g.names[d] = g.unique(goIdentifier(d.Name))
	}
	for _, d := range plan.Decls {
		for _, v := range d.Variants {
			if v.Made {
				g.made[v.Name] = g.unique(goIdentifier(v.Name))
			}
		}
		if u, ok := d.Type.(*spec.Union); ok {
			g.ownError = g.ownError || slices.ContainsFunc(u.Variants, g.isError)
		}
	}
	g.check()
	if len(found.list) > 0 {
		return nil
	}
	name, _, _ := strings.Cut(plan.Source, ".")
	for _, p := range plan.Protocols {
		g.protocol(p)
	}
	for _, d := range plan.Decls {
		g.decl(d)
	}
	for _, p := range plan.Protocols {
		g.replies(p)
		g.roles(p)
	}
	files := []File{g.file(name + ".gen.go")}
	for _, d := range plan.Decls {
		g.codec(d)
	}
	g.limitVars()
	for _, p := range plan.Protocols {
		if g.speaks(p) {
			g.manifests(p)
		}
	}
	if g.buf.Len() > 0 {
		files = append(files, g.file(name+"_wire.gen.go"))
	}
	return files
}

// file takes what was written so far as a file.
func (g *goEmitter) file(path string) File {
	text := g.assemble()
	formatted, err := format.Source(text)
	if err != nil {
		panic("gen: the Go code does not parse: " + err.Error() + "\n" + string(text))
	}
	g.buf.Reset()
	clear(g.imports)
	return File{Path: path, Text: formatted}
}

type goEmitter struct {
	printer
	plan    *Plan
	found   *problems
	imports map[string]bool
	names   map[*Decl]string
	taken   map[string]bool
	limits  []string // variables for limits, in order of use

	prefixes   map[*Protocol]string
	roleNames  map[*Protocol]map[string]string // by the names of roles
	replyNames map[*spec.Rule]string
	enums      map[*Decl][]string // names of constants
	made       map[string]string  // names of types made for variants, by those in the plan

	ownError bool // the library's error is a variant of a union here, so it is declared again
}

const parleyModule = "github.com/parley-agents/parley"

func (g *goEmitter) use(imp string) { g.imports[imp] = true }

// reserve claims the names by which every protocol is known, before messages can
// have them.
func (g *goEmitter) reserve(p *Protocol) {
	g.roleNames[p] = make(map[string]string)
	given := make(map[string]bool)
	for _, r := range p.Spec.Roles {
		name := goIdentifier(r.Name)
		for n := 2; given[name]; n++ {
			name = goIdentifier(r.Name) + strconv.Itoa(n)
		}
		given[name] = true
		g.roleNames[p][r.Name] = name
	}
	if p.Prefix != "" {
		g.prefixes[p] = goIdentifier(p.Prefix)
	}
	for n := 2; slices.ContainsFunc(g.reserved(p), func(name string) bool { return g.taken[name] }); n++ {
		g.prefixes[p] = goIdentifier(p.Prefix) + strconv.Itoa(n)
	}
	for _, name := range g.reserved(p) {
		g.taken[name] = true
	}
}

func (g *goEmitter) reserved(p *Protocol) []string {
	constants := cmp.Or(g.prefixes[p], "Protocol")
	names := []string{g.prefixes[p] + "Rules", constants + "Name", constants + "Version", constants + "Digest"}
	for _, r := range p.Spec.Roles {
		names = append(names, g.roleConst(p, r.Name))
	}
	return names
}

// unique claims a name of the Go package.
func (g *goEmitter) unique(name string) string {
	text := name
	for n := 2; g.taken[text]; n++ {
		text = name + strconv.Itoa(n)
	}
	g.taken[text] = true
	return text
}

// assemble puts the header and the imports that are used before the declarations.
func (g *goEmitter) assemble() []byte {
	used := packagesIn(g.buf.String())
	var std, ours, others []string
	for imp := range g.imports {
		switch {
		case !used[path.Base(imp)]:
			delete(g.imports, imp)
		case strings.HasPrefix(imp, parleyModule):
			ours = append(ours, imp)
		case strings.Contains(imp, "."):
			others = append(others, imp)
		default:
			std = append(std, imp)
		}
	}
	head := &printer{unit: "\t"}
	head.line("// %s", g.plan.header())
	head.line("")
	head.line("package %s", g.plan.Package)
	head.line("")
	if all := slices.Concat(std, others, ours); len(all) == 1 {
		head.line("import %q", all[0])
	} else if len(all) > 1 {
		head.block("import (", func() {
			for _, group := range [][]string{std, others, ours} {
				slices.Sort(group)
				for _, imp := range group {
					head.line("%q", imp)
				}
				head.line("")
			}
		}, ")")
	}
	head.buf.Write(g.buf.Bytes())
	return head.buf.Bytes()
}

// packagesIn returns the names before dots in Go declarations.
func packagesIn(text string) map[string]bool {
	used := make(map[string]bool)
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
	if err != nil {
		return used // which is told when it is formatted
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	return used
}

// initialisms are written in capitals in Go names.
var initialisms = strings.Fields("acl api aea ascii cpu css db dns eof guid html http https id ip json llm rpc sla sql ssh tcp tls ttl udp ui uid uri url utf8 uuid vm xml")

// goIdentifier writes a name as Go programs do: "msg_id" becomes "MsgID".
func goIdentifier(name string) string {
	var b strings.Builder
	for _, word := range Words(name) {
		if slices.Contains(initialisms, strings.ToLower(word)) {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		b.WriteString(capital(word))
	}
	text := b.String()
	if text == "" || text[0] < 'A' || text[0] > 'Z' {
		return "X" + text
	}
	return text
}

// methodNames are those of generated structs, which their fields cannot have.
var methodNames = strings.Fields("WritePayload ReadPayload MarshalJSON UnmarshalJSON Validate MessageID Confirms")

// fieldNames gives the fields of a record their Go names.
func fieldNames(r *spec.Record) []string {
	taken := make(map[string]bool)
	var names []string
	for i := range r.Fields {
		name := goIdentifier(localName(&r.Fields[i]))
		for taken[name] || slices.Contains(methodNames, name) {
			name += "_"
		}
		taken[name] = true
		names = append(names, name)
	}
	return names
}

// isError reports whether a record is the error of the uAgents library, which
// package parley has.
func (g *goEmitter) isError(t spec.Type) bool {
	r, ok := t.(*spec.Record)
	return ok && !g.ownError && r.Name == "ErrorMessage" && r.Description == "Error message model" &&
		len(r.Fields) == 1 && r.Fields[0].Name == "error" && r.Fields[0].Type == spec.Type(spec.String) && r.Fields[0].Required()
}

// check reports what Go types and their tags cannot say.
func (g *goEmitter) check() {
	for _, p := range g.plan.Protocols {
		for _, m := range p.Messages {
			if m.Decl == nil && m.Body != nil {
				g.found.add("PAR5030", m.at, "make it a record with a field", "message '%s' is no record, which a Go message is", m.Name)
			}
		}
	}
	for _, d := range g.plan.Decls {
		g.checkDecl(d)
	}
}

func (g *goEmitter) refuse(at diag.Span, hint, format string, args ...any) {
	g.found.add("PAR5030", at, hint, format, args...)
}

func (g *goEmitter) checkDecl(d *Decl) {
	switch t := d.Type.(type) {
	case *spec.Record:
		if t.Key != "" || len(t.Keywords) > 0 {
			g.refuse(d.at, "", "the schema of '%s' has keywords that no Go type can say", t.Name)
		}
		for i := range t.Fields {
			f := &t.Fields[i]
			at, _ := d.field(g.plan.file, f)
			if f.Name == "-" || strings.ContainsAny(f.Name, ",\"\\'`") || f.Name != strings.ToValidUTF8(f.Name, "") {
				g.refuse(at, "give it another name", "the name %q of a field has no form in the tags of Go", f.Name)
			}
			if len(f.Keywords) > 0 {
				g.refuse(at, "", "the schema of field '%s' has keywords that no Go type can say", f.Name)
			}
			g.checkType(f.Type, at)
		}
	case *spec.Enum:
		g.checkEnum(d, t)
	case *spec.Union:
		if len(t.Keywords) > 0 {
			g.refuse(d.at, "", "the schema of '%s' has keywords that no Go type can say", d.Name)
		}
		for _, v := range t.Variants {
			if v == spec.Type(spec.Null) {
				g.refuse(d.at, "make the field optional", "Go has no form for null as one of several variants")
				continue
			}
			g.checkType(v, d.at)
		}
	case *spec.Tuple:
		for _, item := range t.Items {
			g.checkType(item, d.at)
		}
	}
}

func (g *goEmitter) checkEnum(d *Decl, e *spec.Enum) {
	if e.Key != "" || len(e.Keywords) > 0 {
		g.refuse(d.at, "", "the schema of '%s' has keywords that no Go type can say", e.Name)
	}
	text, whole := 0, 0
	for _, v := range e.Values {
		if strings.HasPrefix(string(v), `"`) {
			text++
		} else if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			whole++
		}
	}
	if text != len(e.Values) && whole != len(e.Values) || e.Base == spec.Float {
		g.refuse(d.at, "use strings only, or integers only", "the values of '%s' are neither all strings nor all integers", e.Name)
	}
}

func (g *goEmitter) checkType(t spec.Type, at diag.Span) {
	switch t := t.(type) {
	case *spec.Scalar:
		if len(t.Keywords) > 0 {
			g.refuse(at, "", "the schema has keywords that no Go type can say")
		}
	case spec.Kind:
		if t == spec.Null {
			g.refuse(at, "use an optional field", "Go has no type that holds only null")
		}
	case *spec.List:
		if len(t.Keywords) > 0 {
			g.refuse(at, "", "the schema has keywords that no Go type can say")
		}
		g.checkType(t.Item, at)
	case *spec.Map:
		if len(t.Keywords) > 0 {
			g.refuse(at, "", "the schema has keywords that no Go type can say")
		}
		g.checkType(t.Value, at)
	case *spec.Literal:
		for _, v := range t.Values {
			if strings.ContainsAny(string(v), "|") {
				g.refuse(at, "use an enum", "a literal with '|' has no form in Go")
			}
		}
	case *spec.Union:
		if inner, ok := OrNull(t); ok {
			g.checkType(inner, at)
		}
	case *spec.Alias:
		g.refuse(at, "make it a record", "'%s' contains itself without a record, for which there is no Go form", t.Name)
	}
}

// hasJSON reports whether a type has a form in JSON: custom types have none.
func (g *goEmitter) hasJSON(t spec.Type) bool { return hasJSON(t, make(map[spec.Type]bool)) }

func hasJSON(t spec.Type, seen map[spec.Type]bool) bool {
	if t == nil || seen[t] {
		return true
	}
	switch t := t.(type) {
	case *spec.Custom:
		return false
	case *spec.Record:
		seen[t] = true
		for i := range t.Fields {
			if !hasJSON(t.Fields[i].Type, seen) {
				return false
			}
		}
	case *spec.Union:
		seen[t] = true
		return !slices.ContainsFunc(t.Variants, func(v spec.Type) bool { return !hasJSON(v, seen) })
	case *spec.Tuple:
		return !slices.ContainsFunc(t.Items, func(v spec.Type) bool { return !hasJSON(v, seen) })
	case *spec.List:
		return hasJSON(t.Item, seen)
	case *spec.Map:
		return hasJSON(t.Value, seen)
	case *spec.Alias:
		seen[t] = true
		return hasJSON(t.Type, seen)
	}
	return true
}
