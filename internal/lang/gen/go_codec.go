package gen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// The codecs take the usual way only. What is unusual (sets, keys that are no
// text, variants that only trying tells apart) is left to the codec of package
// uagents: see uagents.Generated.

const uagentsPackage = parleyModule + "/wire/uagents"

// codec writes the methods by which a type reads and writes itself.
func (g *goEmitter) codec(d *Decl) {
	if !g.hasJSON(d.Type) || g.isError(d.Type) {
		return
	}
	name := g.names[d]
	switch t := d.Type.(type) {
	case *spec.Record:
		g.use(uagentsPackage)
		g.writeRecord(name, t)
		g.readRecord(name, t)
		g.ownJSON(name, t)
	case *spec.Enum:
		g.use(uagentsPackage)
		g.readEnum(name, t)
	case *spec.Union:
		g.use(uagentsPackage)
		g.writeUnion(name, d)
		g.readUnion(name, d, t)
	case *spec.Tuple:
		g.use(uagentsPackage)
		g.tuple(name, t)
	}
}

func (g *goEmitter) writeRecord(name string, r *spec.Record) {
	g.line("")
	g.line("// WritePayload writes the message as JSON; see uagents.Generated.")
	receiver := "m "
	if len(r.Fields) == 0 {
		receiver = ""
	}
	g.block("func ("+receiver+name+") WritePayload(w *uagents.Writer) {", func() {
		open := "{"
		fields := g.fields(r)
		if len(fields) > 0 {
			open += quotedKey(fields[0].Name) + ": "
		}
		g.block("if !w.Open("+rawString(open)+") {", func() { g.line("return") }, "}")
		for i, f := range fields {
			if i > 0 {
				g.line("w.Raw(%s)", rawString(", "+quotedKey(f.Name)+": "))
			}
			g.writeField(f)
		}
		g.line(`w.Close("}")`)
	}, "}")
}

// quotedKey writes a key as Python does, in ASCII.
func quotedKey(key string) string { return string(pyjson.AppendString(nil, key, pyjson.Spaced)) }

func (g *goEmitter) writeField(f goField) {
	value := "m." + f.name
	if !f.nilable || f.typ == "any" {
		g.write(f.Type, value)
		return
	}
	g.block("if "+value+" == nil {", func() { g.line("w.Null()") }, "} else {")
	g.indent++
	if f.pointer {
		value = "*" + value
	}
	g.write(f.Type, value)
	g.indent--
	g.line("}")
}

// write writes statements that write a value of a type, given by an expression.
func (g *goEmitter) write(t spec.Type, value string) {
	if s, ok := spec.AsScalar(t); ok {
		if !plainLimits(s) {
			g.line("w.Fail()")
			return
		}
		if check := g.limitCheck(s, value); check != "" {
			g.line("w.Limit(%s)", check)
		}
		g.line("w.%s(%s)", goKinds[s.Kind].method, value)
		return
	}
	switch t := t.(type) {
	case *spec.Literal:
		g.writeLiteral(t, value)
	case *spec.Enum:
		if !t.Open {
			g.line("w.Check(%s.Valid())", parenthesised(value))
		}
		if strings.HasPrefix(string(t.Values[0]), `"`) {
			g.line("w.String(string(%s))", value)
		} else {
			g.line("w.Int64(int64(%s))", value)
		}
	case *spec.Record:
		g.line("%s.WritePayload(w)", parenthesised(value))
	case *spec.Tuple:
		g.line("write%s(w, %s)", g.typ(t), value)
	case *spec.Union:
		if inner, ok := OrNull(t); ok {
			g.block("if "+value+" == nil {", func() { g.line("w.Null()") }, "} else {")
			g.indent++
			g.write(inner, "*"+value)
			g.indent--
			g.line("}")
			return
		}
		g.line("write%s(w, %s)", g.typ(t), value)
	case *spec.List:
		if t.Set {
			g.line("w.Fail()")
			return
		}
		g.countCheck("w", t.Limits, value)
		g.each("uagents.WriteList", value, t.Item)
	case *spec.Map:
		if !textKey(t.Key) {
			g.line("w.Fail()")
			return
		}
		g.each("uagents.WriteMap", value, t.Value)
	default:
		g.line("w.Fail()")
	}
}

// each writes a call that writes all items.
func (g *goEmitter) each(function, value string, item spec.Type) {
	if s, ok := spec.AsScalar(item); ok && s.Limits == (spec.Limits{}) && s.Kind != spec.Null {
		g.line("%s(w, %s, w.%s)", function, value, goKinds[s.Kind].method)
		return
	}
	g.block(fmt.Sprintf("%s(w, %s, func(v %s) {", function, value, g.typ(item)), func() { g.write(item, "v") }, "})")
}

func parenthesised(value string) string {
	if strings.HasPrefix(value, "*") {
		return "(" + value + ")"
	}
	return value
}

// textKey reports whether map keys are text without limits.
func textKey(t spec.Type) bool { return t == nil || t == spec.Type(spec.String) }

func (g *goEmitter) writeLiteral(t *spec.Literal, value string) {
	if literalType(t) != "string" {
		g.line("w.Fail()")
		return
	}
	if len(t.Values) == 1 {
		g.line("w.Literal(%s, %s)", value, goString(t.Values[0]))
		return
	}
	g.line("w.Check(%s)", oneOf(t, value))
	g.line("w.String(%s)", value)
}

func oneOf(t *spec.Literal, value string) string {
	var tests []string
	for _, v := range t.Values {
		tests = append(tests, value+" == "+goString(v))
	}
	return strings.Join(tests, " || ")
}

func (g *goEmitter) countCheck(on string, l spec.Limits, value string) {
	value = "len(" + value + ")"
	if l.MinItems != nil {
		g.line("%s.Check(%s >= %d)", on, value, *l.MinItems)
	}
	if l.MaxItems != nil {
		g.line("%s.Check(%s <= %d)", on, value, *l.MaxItems)
	}
}

// plainLimits reports whether the limits of a scalar can be checked here.
func plainLimits(s spec.Scalar) bool {
	switch s.Kind {
	case spec.String, spec.Int, spec.Int32, spec.UInt32, spec.UInt64, spec.Float:
		return true
	case spec.Null:
		return false
	}
	return s.Limits == spec.Limits{}
}

// limitCheck is an expression that checks the limits of a scalar, or "".
func (g *goEmitter) limitCheck(s spec.Scalar, value string) string {
	if s.Limits == (spec.Limits{}) {
		return ""
	}
	text := "spec." + s.Kind.String() + ", " + limitsLiteral(s.Limits)
	index := -1
	for i, known := range g.limits {
		if known == text {
			index = i
		}
	}
	if index < 0 {
		index = len(g.limits)
		g.limits = append(g.limits, text)
	}
	method := map[spec.Kind]string{
		spec.String: "Text(%s)", spec.Float: "Float(%s)", spec.Int: "Int(%s)", spec.Int32: "Int(int64(%s))",
		spec.UInt64: "Uint(%s)", spec.UInt32: "Uint(uint64(%s))",
	}[s.Kind]
	return "limits" + strconv.Itoa(index+1) + "." + fmt.Sprintf(method, value)
}

func limitsLiteral(l spec.Limits) string {
	var parts []string
	for _, n := range []struct {
		name  string
		limit spec.JSON
	}{{"Min", l.Min}, {"Max", l.Max}, {"Above", l.Above}, {"Below", l.Below}, {"MultipleOf", l.MultipleOf}} {
		if n.limit != "" {
			parts = append(parts, fmt.Sprintf("%s: %q", n.name, string(n.limit)))
		}
	}
	for _, n := range []struct {
		name  string
		count *int
	}{{"MinLength", l.MinLength}, {"MaxLength", l.MaxLength}} {
		if n.count != nil {
			parts = append(parts, fmt.Sprintf("%s: new(%d)", n.name, *n.count))
		}
	}
	if l.Pattern != "" {
		parts = append(parts, fmt.Sprintf("Pattern: %s", rawString(l.Pattern)))
	}
	return "spec.Limits{" + strings.Join(parts, ", ") + "}"
}

// limitVars writes the limits that the codecs check.
func (g *goEmitter) limitVars() {
	if len(g.limits) == 0 {
		return
	}
	g.use(parleyModule + "/spec")
	g.line("")
	g.line("// What values must fit beside their types.")
	g.block("var (", func() {
		for i, text := range g.limits {
			g.line("limits%d = uagents.NewLimits(%s)", i+1, text)
		}
	}, ")")
}

const maxFast = 64 // fields of a record, which are noted in the bits of a word

func (g *goEmitter) readRecord(name string, r *spec.Record) {
	g.line("")
	g.line("// ReadPayload reads the message from JSON; see uagents.Generated.")
	if len(r.Fields) > maxFast {
		g.line("func (m *%s) ReadPayload(r *uagents.Reader) { r.Fail() }", name)
		return
	}
	fields := g.fields(r)
	g.block("func (m *"+name+") ReadPayload(r *uagents.Reader) {", func() {
		g.line("var v %s", name)
		if len(fields) == 0 {
			g.block("for r.Object(); r.Next(); {", func() { g.line("r.Fail()") }, "}")
		} else {
			g.readFields(fields)
		}
		g.block("if r.OK() {", func() { g.line("*m = v") }, "}")
	}, "}")
}

func (g *goEmitter) readFields(fields []goField) {
	g.line("var seen uint64")
	var needed []string
	g.block("for r.Object(); r.Next(); {", func() {
		g.block("switch string(r.Key()) {", func() {
			for i, f := range fields {
				g.line("case %s:", strconv.Quote(f.Key()))
				g.indent++
				g.line("r.Once(&seen, 1<<%d)", i)
				g.readField(f)
				g.indent--
				if f.Required() {
					needed = append(needed, "1<<"+strconv.Itoa(i))
				}
			}
			g.line("default:")
			g.line("\tr.Fail()")
		}, "}")
	}, "}")
	if len(needed) > 0 {
		g.line("r.Need(seen, %s)", strings.Join(needed, "|"))
	}
	for i, f := range fields {
		if f.Default == "" || f.Default == "null" && f.nilable {
			continue
		}
		g.block(fmt.Sprintf("if seen&(1<<%d) == 0 {", i), func() {
			value, ok := g.constant(f.Type, f.Default)
			switch {
			case !ok:
				g.line("r.Fail()")
			case f.pointer:
				g.line("v.%s = new(%s)", f.name, value)
			default:
				g.line("v.%s = %s", f.name, value)
			}
		}, "}")
	}
}

func (g *goEmitter) readField(f goField) {
	place := "v." + f.name
	if f.typ == "any" {
		g.line("%s = %s", place, g.read(f.Type))
		return
	}
	if f.pointer {
		g.line("%s = uagents.ReadPointer(r, %s)", place, g.reader(f.Type))
		return
	}
	if f.nilable {
		g.block("if !r.Null() {", func() { g.line("%s = %s", place, g.read(f.Type)) }, "}")
		return
	}
	s, scalar := spec.AsScalar(f.Type)
	if scalar && plainLimits(s) {
		g.line("%s = r.%s()", place, goKinds[s.Kind].method)
		if check := g.limitCheck(s, place); check != "" {
			g.line("r.Limit(%s)", check)
		}
		return
	}
	switch t := f.Type.(type) {
	case *spec.Record:
		if !g.isError(t) {
			g.line("%s.ReadPayload(r)", place)
			return
		}
	case *spec.Literal:
		if literalType(t) == "string" {
			g.line("%s = r.String()", place)
			g.line("r.Check(%s)", oneOf(t, place))
			return
		}
	}
	g.line("%s = %s", place, g.read(f.Type))
	if l, ok := f.Type.(*spec.List); ok && !l.Set {
		g.countCheck("r", l.Limits, place)
	}
}

// read is an expression that reads a value of a type. At the top of a field the
// limits of a list are checked after it.
func (g *goEmitter) read(t spec.Type) string {
	if s, ok := spec.AsScalar(t); ok && plainLimits(s) && s.Limits == (spec.Limits{}) {
		return "r." + goKinds[s.Kind].method + "()"
	}
	text := g.reader(t)
	if simple, ok := strings.CutPrefix(text, "func() "+g.typ(t)+" { return "); ok {
		return strings.TrimSuffix(simple, " }")
	}
	return text + "()"
}

// reader is an expression for a function that reads a value of a type.
func (g *goEmitter) reader(t spec.Type) string {
	typ := g.typ(t)
	unusual := fmt.Sprintf("func() %s { return uagents.Unusual[%s](r) }", typ, typ)
	if s, ok := spec.AsScalar(t); ok {
		method := goKinds[s.Kind].method
		switch {
		case !plainLimits(s):
			return unusual
		case s.Limits == spec.Limits{}:
			return "r." + method
		}
		return fmt.Sprintf("func() %s {\nv := r.%s()\nr.Limit(%s)\nreturn v\n}", typ, method, g.limitCheck(s, "v"))
	}
	switch t := t.(type) {
	case *spec.Literal:
		if literalType(t) == "string" {
			return fmt.Sprintf("func() string {\nv := r.String()\nr.Check(%s)\nreturn v\n}", oneOf(t, "v"))
		}
	case *spec.Record:
		if !g.isError(t) {
			return fmt.Sprintf("func() %s { return uagents.Record[%s](r) }", typ, typ)
		}
	case *spec.Enum, *spec.Tuple:
		return fmt.Sprintf("func() %s { return read%s(r) }", typ, typ)
	case *spec.Union:
		if inner, ok := OrNull(t); ok {
			return fmt.Sprintf("func() %s { return uagents.ReadPointer(r, %s) }", typ, g.reader(inner))
		}
		return fmt.Sprintf("func() %s { return read%s(r) }", typ, typ)
	case *spec.List:
		if t.Set {
			return unusual
		}
		list := fmt.Sprintf("uagents.ReadList(r, %s)", g.reader(t.Item))
		if t.Limits == (spec.Limits{}) {
			return fmt.Sprintf("func() %s { return %s }", typ, list)
		}
		inner := &goEmitter{}
		inner.countCheck("r", t.Limits, "v")
		return fmt.Sprintf("func() %s {\nv := %s\n%sreturn v\n}", typ, list, inner.buf.String())
	case *spec.Map:
		if textKey(t.Key) {
			return fmt.Sprintf("func() %s { return uagents.ReadMap[string](r, %s) }", typ, g.reader(t.Value))
		}
	}
	return unusual
}

func (g *goEmitter) readEnum(name string, e *spec.Enum) {
	method := "Int64"
	if strings.HasPrefix(string(e.Values[0]), `"`) {
		method = "String"
	}
	g.line("")
	g.block("func read"+name+"(r *uagents.Reader) "+name+" {", func() {
		g.line("v := %s(r.%s())", name, method)
		if !e.Open {
			g.line("r.Check(v.Valid())")
		}
		g.line("return v")
	}, "}")
}

func (g *goEmitter) tuple(name string, t *spec.Tuple) {
	g.line("")
	g.block("func write"+name+"(w *uagents.Writer, v "+name+") {", func() {
		g.block("if !w.Open(`[`) {", func() { g.line("return") }, "}")
		for i, item := range t.Items {
			if i > 0 {
				g.line("w.Item(%d)", i)
			}
			g.write(item, "v.Item"+strconv.Itoa(i+1))
		}
		g.line("w.Close(`]`)")
	}, "}")
	g.line("")
	g.block("func read"+name+"(r *uagents.Reader) (v "+name+") {", func() {
		g.line("r.List()")
		for i, item := range t.Items {
			g.line("r.Check(r.More())")
			g.line("v.Item%d = %s", i+1, g.read(item))
		}
		g.line("r.Check(!r.More())")
		g.line("return v")
	}, "}")
}

func (g *goEmitter) writeUnion(name string, d *Decl) {
	g.line("")
	g.block("func write"+name+"(w *uagents.Writer, v "+name+") {", func() {
		g.block("switch v := v.(type) {", func() {
			for _, variant := range d.Variants {
				g.line("case %s:", g.variantName(variant))
				g.indent++
				value := "v"
				if variant.Made {
					value = g.plainValue(variant.Type)
				}
				g.write(variant.Type, value)
				g.indent--
			}
			g.line("default:")
			g.line("\tw.Fail()")
		}, "}")
	}, "}")
}

// plainValue converts a variant's own type to the one it is made of.
func (g *goEmitter) plainValue(t spec.Type) string {
	typ := g.typ(t)
	if strings.ContainsAny(typ[:1], "[*") {
		return "(" + typ + ")(v)"
	}
	return typ + "(v)"
}

func (g *goEmitter) readUnion(name string, d *Decl, u *spec.Union) {
	g.line("")
	g.block("func read"+name+"(r *uagents.Reader) "+name+" {", func() {
		if key, tags := tagged(u); key != "" {
			g.block(fmt.Sprintf("switch string(r.Tag(%q)) {", key), func() {
				for i, variant := range d.Variants {
					g.line("case %s:", goString(tags[i]))
					g.line("\treturn uagents.Record[%s](r)", g.variantName(variant))
				}
			}, "}")
		} else if kinds := jsonKinds(u); kinds != nil {
			g.block("switch r.Kind() {", func() {
				for i, variant := range d.Variants {
					g.line("case uagents.%sKind:", kinds[i])
					if variant.Made {
						g.line("\treturn %s(%s)", g.variantName(variant), g.read(variant.Type))
					} else {
						g.line("\treturn %s", g.read(variant.Type))
					}
				}
			}, "}")
		}
		g.line("r.Fail()")
		g.line("return nil")
	}, "}")
}

// tagged finds the field whose text tells all variants apart.
func tagged(u *spec.Union) (key string, tags []spec.JSON) {
	first, ok := u.Variants[0].(*spec.Record)
	if !ok {
		return "", nil
	}
	for i := range first.Fields {
		key, seen := first.Fields[i].Key(), make(map[spec.JSON]bool)
		tags = nil
		for _, v := range u.Variants {
			r, _ := v.(*spec.Record)
			if tag, ok := tagOf(r, key); ok && !seen[tag] {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
		if len(tags) == len(u.Variants) {
			return key, tags
		}
	}
	return "", nil
}

func tagOf(r *spec.Record, key string) (spec.JSON, bool) {
	if r == nil {
		return "", false
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		if lit, ok := f.Type.(*spec.Literal); ok && f.Key() == key && len(lit.Values) == 1 && f.Required() && literalType(lit) == "string" {
			return lit.Values[0], true
		}
	}
	return "", false
}

// jsonKinds returns the kinds of JSON values of the variants, if they differ.
func jsonKinds(u *spec.Union) []string {
	seen := make(map[string]bool)
	var kinds []string
	for _, v := range u.Variants {
		kind := jsonKind(v)
		if kind == "" || seen[kind] {
			return nil
		}
		seen[kind] = true
		kinds = append(kinds, kind)
	}
	return kinds
}

func jsonKind(t spec.Type) string {
	switch t := t.(type) {
	case *spec.List, *spec.Tuple:
		return "Array"
	case *spec.Map, *spec.Record:
		return "Object"
	case *spec.Enum:
		if t.Open {
			return ""
		}
		if strings.HasPrefix(string(t.Values[0]), `"`) {
			return "String"
		}
		return "Number"
	case *spec.Literal:
		return map[string]string{"string": "String", "int64": "Number", "bool": "Bool"}[literalType(t)]
	}
	s, ok := spec.AsScalar(t)
	if !ok {
		return ""
	}
	switch s.Kind {
	case spec.Any, spec.Null, spec.Decimal:
		return ""
	case spec.Bool:
		return "Bool"
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64, spec.Float, spec.Float32, spec.Duration:
		return "Number"
	}
	return "String"
}

// ownJSON lets encoding/json write and read a struct as its payload is: for
// literals, unions and what else it does not know.
func (g *goEmitter) ownJSON(name string, r *spec.Record) {
	g.line("")
	g.line("// Validate says why the message could not be sent, or nil.")
	g.line("func (m %s) Validate() error { return uagents.Validate(m) }", name)
	g.line("")
	g.line("// MarshalJSON writes the message as its payload is.")
	g.line("func (m %s) MarshalJSON() ([]byte, error) { return uagents.MarshalJSON(m) }", name)
	g.line("")
	g.line("// UnmarshalJSON reads the message as its payload is.")
	g.line("func (m *%s) UnmarshalJSON(text []byte) error { return uagents.UnmarshalJSON(text, m) }", name)
}
