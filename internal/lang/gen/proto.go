package gen

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/spec"
)

// protoTypes writes the types of a source in proto3, with a message for each
// protocol that holds one of its messages.
func protoTypes(plan *Plan, found *problems) File {
	p := &protoEmitter{plan: plan, found: found, imports: make(map[string]bool), taken: maps.Clone(plan.taken)}
	p.printer.unit = "  "
	for _, protocol := range plan.Protocols {
		if !isAEA(protocol.Spec) {
			p.envelope(protocol)
		}
	}
	for _, d := range plan.Decls {
		p.decl(d)
	}
	head := &printer{unit: "  "}
	head.line("// %s", plan.header())
	head.line("syntax = \"proto3\";")
	head.line("")
	head.line("package %s;", plan.Package)
	if len(p.imports) > 0 {
		head.line("")
	}
	for _, name := range []string{"duration", "struct", "timestamp"} {
		if p.imports[name] {
			head.line("import \"google/protobuf/%s.proto\";", name)
		}
	}
	head.buf.Write(p.buf.Bytes())
	name, _, _ := strings.Cut(plan.Source, ".")
	return File{Path: name + ".proto", Text: head.buf.Bytes()}
}

type protoEmitter struct {
	printer
	plan    *Plan
	found   *problems
	imports map[string]bool
	taken   map[string]bool // names of the package: also those of enums' values
}

// name returns a name that is not taken in a scope, and refuses letters that
// protobuf does not have.
func (p *protoEmitter) name(taken map[string]bool, name string, at diag.Span) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		p.found.add("PAR5032", at, "give it another name", "the name '%s' has letters that names in protobuf do not have", name)
	}
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "x" + name
	}
	unique := name
	for n := 2; taken[unique] || taken[jsonName(unique)]; n++ {
		unique = name + strconv.Itoa(n)
	}
	taken[unique], taken[jsonName(unique)] = true, true
	return unique
}

// jsonName is what protobuf calls a field in JSON unless it is told otherwise. Two
// fields cannot have the same.
func jsonName(field string) string {
	words := strings.Split(field, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = capital(words[i])
		}
	}
	return strings.Join(words, "")
}

func (p *protoEmitter) envelope(of *Protocol) {
	p.line("")
	p.comment("//", "One message of "+of.Spec.Name+".")
	p.block("message "+p.name(p.taken, Pascal(of.Name)+"Message", of.place(p.plan, "", ""))+" {", func() {
		fields := map[string]bool{"message": true} // the oneof is called so
		p.block("oneof message {", func() {
			for i, m := range of.Messages {
				if m.Decl == nil {
					p.found.add("PAR5032", m.at, "make it a record", "message '%s' is no record, which a protobuf message is", m.Name)
					continue
				}
				p.line("%s %s = %d;", m.Decl.Name, p.name(fields, snake(m.Name), m.at), i+1)
			}
		}, "}")
	}, "}")
}

// snake writes a name with underscores: "ChatMessage" becomes "chat_message".
func snake(name string) string {
	words := Words(name)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return strings.Join(words, "_")
}

func (p *protoEmitter) decl(d *Decl) {
	p.name(make(map[string]bool), d.Name, d.at)
	p.line("")
	p.comment("//", d.Doc)
	switch t := d.Type.(type) {
	case *spec.Record:
		if len(t.Fields) == 0 {
			p.line("message %s {}", d.Name)
			return
		}
		p.block("message "+d.Name+" {", func() { p.fields(d, t) }, "}")
	case *spec.Enum:
		prefix := strings.ToUpper(snake(d.Name)) + "_"
		p.block("enum "+d.Name+" {", func() {
			p.line("%s = 0;", p.name(p.taken, prefix+"UNSPECIFIED", d.at))
			for i, v := range t.Values {
				word := strings.Trim(string(v), `"`)
				if i < len(t.Names) {
					word = t.Names[i]
				}
				p.line("%s = %d;", p.name(p.taken, prefix+strings.ToUpper(snake(word)), d.at), i+1)
			}
		}, "}")
	case *spec.Union:
		p.block("message "+d.Name+" {", func() {
			fields := map[string]bool{"value": true} // the oneof is called so
			p.block("oneof value {", func() {
				for i, v := range d.Variants {
					p.variant(d, v, i+1, fields)
				}
			}, "}")
		}, "}")
		for _, v := range d.Variants {
			if label, typ, ok := p.typ(v.Type, d.at); ok && v.Made && (label != "" || strings.HasPrefix(typ, "map<")) {
				p.line("")
				p.block("message "+v.Name+" {", func() { p.line("%s%s items = 1;", label, typ) }, "}")
			}
		}
	case *spec.Tuple:
		p.block("message "+d.Name+" {", func() {
			for i, item := range t.Items {
				if label, typ, ok := p.typ(item, d.at); ok {
					p.line("%s%s item%d = %d;", label, typ, i+1, i+1)
				}
			}
		}, "}")
	case *spec.Custom:
		p.block("message "+d.Name+" {", func() {
			for line := range strings.SplitSeq(strings.TrimSpace(t.Body), "\n") {
				p.line("%s", strings.TrimRight(line, " "))
			}
		}, "}")
	}
}

// variant writes one of a union's types; a list or map needs a message around it.
func (p *protoEmitter) variant(d *Decl, v Variant, number int, fields map[string]bool) {
	label, typ, ok := p.typ(v.Type, d.at)
	if !ok {
		return
	}
	if label != "" || strings.HasPrefix(typ, "map<") {
		typ = v.Name
	}
	p.line("%s %s = %d;", typ, p.name(fields, snake(strings.TrimPrefix(v.Name, d.Name)), d.at), number)
}

func (p *protoEmitter) fields(d *Decl, r *spec.Record) {
	taken := make(map[int]bool)
	for i := range r.Fields {
		if n, ok := tagNumber(&r.Fields[i]); ok {
			taken[n] = true
		}
	}
	next := 1
	names := make(map[string]bool)
	for i := range r.Fields {
		f := &r.Fields[i]
		if l, ok := f.Type.(*spec.Literal); ok && len(l.Values) == 1 {
			continue // the place in a oneof says it
		}
		at, _ := d.field(p.plan.file, f)
		number, tagged := tagNumber(f)
		if !tagged {
			for taken[next] {
				next++
			}
			number = next
			next++
		}
		label, typ, ok := p.typ(f.Type, at)
		if !ok {
			continue
		}
		if label == "" && (f.Optional || f.Nullable) && !strings.HasPrefix(typ, "map<") {
			label = "optional "
		}
		p.comment("//", f.Doc)
		name := p.name(names, snake(localName(f)), at)
		option := ""
		if f.Name != jsonName(name) {
			option = " [json_name = " + strconv.Quote(f.Name) + "]"
		}
		p.line("%s%s %s = %d%s;", label, typ, name, number, option)
	}
}

// tagNumber is the number that a source gives to a field by @tag.
func tagNumber(f *spec.Field) (int, bool) {
	for _, a := range f.Annotations {
		if a.Name == "tag" && len(a.Args) == 1 {
			n, err := strconv.Atoi(string(a.Args[0].Value))
			return n, err == nil
		}
	}
	return 0, false
}

var protoScalars = map[spec.Kind]string{
	spec.Any: "google.protobuf.Value", spec.Bool: "bool", spec.String: "string", spec.Int: "int64", spec.Int32: "int32", spec.UInt32: "uint32",
	spec.UInt64: "uint64", spec.Float: "double", spec.Float32: "float", spec.Decimal: "string", spec.Bytes: "bytes",
	spec.DateTime: "google.protobuf.Timestamp", spec.Date: "string", spec.Time: "string", spec.Duration: "google.protobuf.Duration",
	spec.UUID: "string", spec.UUID4: "string", spec.URI: "string", spec.Null: "google.protobuf.NullValue",
}

var protoImports = map[spec.Kind]string{spec.Any: "struct", spec.Null: "struct", spec.DateTime: "timestamp", spec.Duration: "duration"}

// typ returns the label and the type of a field.
func (p *protoEmitter) typ(t spec.Type, at diag.Span) (label, typ string, ok bool) {
	if s, ok := spec.AsScalar(t); ok {
		if imp := protoImports[s.Kind]; imp != "" {
			p.imports[imp] = true
		}
		return "", protoScalars[s.Kind], true
	}
	if name := p.plan.Name(t); name != "" {
		return "", name, true
	}
	switch t := t.(type) {
	case *spec.Literal:
		return "", "string", true
	case *spec.List:
		label, typ, ok := p.typ(t.Item, at)
		if ok && (label != "" || strings.HasPrefix(typ, "map<")) {
			return p.refuse(at, "protobuf has no list of lists or maps")
		}
		return "repeated ", typ, ok
	case *spec.Map:
		key := spec.Scalar{Kind: spec.String}
		if t.Key != nil {
			key, _ = spec.AsScalar(t.Key)
			if _, isEnum := t.Key.(*spec.Enum); isEnum {
				key = spec.Scalar{Kind: spec.String}
			}
		}
		label, typ, ok := p.typ(t.Value, at)
		if ok && (label != "" || strings.HasPrefix(typ, "map<")) {
			return p.refuse(at, "protobuf has no map of lists or maps")
		}
		name := protoScalars[key.Kind]
		if !slices.Contains([]string{"string", "bool", "int64", "int32", "uint32", "uint64"}, name) {
			return p.refuse(at, "protobuf has no such keys")
		}
		return "", "map<" + name + ", " + typ + ">", ok
	case *spec.Union:
		if inner, isNull := OrNull(t); isNull {
			return p.typ(inner, at)
		}
	case *spec.Alias:
		return p.refuse(at, "protobuf has no type that contains itself without a message")
	}
	return p.refuse(at, "the type has no form in protobuf")
}

func (p *protoEmitter) refuse(at diag.Span, text string) (string, string, bool) {
	p.found.add("PAR5032", at, "wrap the inner one in a record", "%s", text)
	return "", "", false
}
