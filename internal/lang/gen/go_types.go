package gen

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/spec"
)

// goKinds are the Go types of the kinds, with the word of a parley tag.
var goKinds = map[spec.Kind]struct{ typ, word, imp, method string }{
	spec.Any:      {typ: "any", method: "Any"},
	spec.Bool:     {typ: "bool", method: "Bool"},
	spec.String:   {typ: "string", method: "String"},
	spec.Int:      {typ: "int64", method: "Int64"},
	spec.Int32:    {typ: "int32", method: "Int32"},
	spec.UInt32:   {typ: "uint32", method: "Uint32"},
	spec.UInt64:   {typ: "uint64", method: "Uint64"},
	spec.Float:    {typ: "float64", method: "Float64"},
	spec.Float32:  {typ: "float32", method: "Float32"},
	spec.Decimal:  {typ: "string", word: "decimal", method: "Decimal"},
	spec.Bytes:    {typ: "[]byte", method: "Bytes"},
	spec.DateTime: {typ: "time.Time", imp: "time", method: "Time"},
	spec.Date:     {typ: "time.Time", word: "date", imp: "time", method: "Date"},
	spec.Time:     {typ: "time.Time", word: "time", imp: "time", method: "TimeOfDay"},
	spec.Duration: {typ: "time.Duration", imp: "time", method: "Duration"},
	spec.UUID:     {typ: "uuid.UUID", imp: "github.com/google/uuid", method: "UUID"},
	spec.UUID4:    {typ: "uuid.UUID", word: "uuid4", imp: "github.com/google/uuid", method: "UUID4"},
	spec.URI:      {typ: "string", word: "uri", method: "URI"},
}

// typ returns the Go type of a type.
func (g *goEmitter) typ(t spec.Type) string {
	if s, ok := spec.AsScalar(t); ok {
		kind := goKinds[s.Kind]
		if kind.imp != "" {
			g.use(kind.imp)
		}
		return kind.typ
	}
	switch t := t.(type) {
	case *spec.List:
		return "[]" + g.typ(t.Item)
	case *spec.Map:
		key := "string"
		if t.Key != nil {
			key = g.typ(t.Key)
		}
		return "map[" + key + "]" + g.typ(t.Value)
	case *spec.Literal:
		return literalType(t)
	case *spec.Union:
		if inner, ok := OrNull(t); ok {
			return "*" + g.typ(inner)
		}
	}
	if g.isError(t) {
		g.use(parleyModule)
		return "parley.ErrorMessage"
	}
	return g.names[g.plan.names[t]]
}

// literalType is the Go type that holds all values of a literal.
func literalType(t *spec.Literal) string {
	common := ""
	for _, v := range t.Values {
		kind := "any"
		switch {
		case strings.HasPrefix(string(v), `"`):
			kind = "string"
		case v == "true" || v == "false":
			kind = "bool"
		default:
			if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				kind = "int64"
			}
		}
		if common != "" && common != kind {
			return "any"
		}
		common = kind
	}
	return common
}

// tags returns what a parley tag says of a type.
func (g *goEmitter) tags(t spec.Type) []string {
	var tags []string
	if s, ok := spec.AsScalar(t); ok {
		if word := goKinds[s.Kind].word; word != "" {
			tags = append(tags, word)
		}
		if s.Format != "" {
			tags = append(tags, pair("format", s.Format))
		}
		return append(tags, limitTags(s.Limits)...)
	}
	switch t := t.(type) {
	case *spec.List:
		if t.Set {
			tags = append(tags, "set")
		}
		tags = append(tags, limitTags(t.Limits)...)
		return append(tags, g.inner("item", t.Item)...)
	case *spec.Map:
		if t.Key != nil {
			tags = append(tags, g.inner("key", t.Key)...)
		}
		return append(tags, g.inner("item", t.Value)...)
	case *spec.Tuple:
		return []string{"tuple"}
	case *spec.Literal:
		var values []string
		for _, v := range t.Values {
			values = append(values, tagValue(v, literalType(t) == "string"))
		}
		return []string{pair("literal", strings.Join(values, "|"))}
	case *spec.Union:
		if inner, ok := OrNull(t); ok {
			return g.tags(inner)
		}
		if t.Tag != "" {
			return []string{pair("tag", t.Tag)}
		}
	}
	return nil
}

func (g *goEmitter) inner(key string, t spec.Type) []string {
	if tags := g.tags(t); len(tags) > 0 {
		return []string{pair(key, strings.Join(tags, ","))}
	}
	return nil
}

func limitTags(l spec.Limits) (tags []string) {
	for _, n := range []struct {
		key   string
		limit spec.JSON
	}{{"min", l.Min}, {"max", l.Max}, {"above", l.Above}, {"below", l.Below}, {"multiple", l.MultipleOf}} {
		if n.limit != "" {
			tags = append(tags, pair(n.key, string(n.limit)))
		}
	}
	for _, n := range []struct {
		key   string
		count *int
	}{{"minlen", l.MinLength}, {"maxlen", l.MaxLength}, {"minitems", l.MinItems}, {"maxitems", l.MaxItems}} {
		if n.count != nil {
			tags = append(tags, pair(n.key, strconv.Itoa(*n.count)))
		}
	}
	if l.Pattern != "" {
		tags = append(tags, pair("pattern", l.Pattern))
	}
	return tags
}

// pair writes an entry of a tag, in quotes where it needs them.
func pair(key, value string) string {
	if strings.ContainsAny(value, ",'") {
		value = "'" + strings.ReplaceAll(value, "'", `\'`) + "'"
	}
	return key + "=" + value
}

// tagValue writes a JSON value in a tag: text as it is where that is clear.
func tagValue(v spec.JSON, textual bool) string {
	var text string
	if textual && json.Unmarshal([]byte(v), &text) == nil && text != "" && strings.Trim(text, plainLetters) == "" {
		return text
	}
	return string(v)
}

const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:# "

// A goField is a field of a struct.
type goField struct {
	*spec.Field
	name    string // in Go
	typ     string
	pointer bool // typ points to what the field holds
	nilable bool // nil stands for null
	tags    []string
	json    string
}

func (g *goEmitter) fields(r *spec.Record) []goField {
	names := fieldNames(r)
	var fields []goField
	for i := range r.Fields {
		f := goField{Field: &r.Fields[i], name: names[i], typ: g.typ(r.Fields[i].Type), json: r.Fields[i].Name}
		f.tags = g.tags(f.Type)
		g.absence(&f)
		for _, t := range []struct{ key, value string }{{"alias", f.Alias}, {"title", f.Title}, {"description", f.Description}} {
			if t.value != "" {
				f.tags = append(f.tags, pair(t.key, t.value))
			}
		}
		if f.Untitled {
			f.tags = append(f.tags, "untitled")
		}
		fields = append(fields, f)
	}
	return fields
}

// absence decides how a field is left out.
func (g *goEmitter) absence(f *goField) {
	isAny, isUnion, isSlice := f.typ == "any", false, strings.HasPrefix(f.typ, "[]") || strings.HasPrefix(f.typ, "map[")
	if u, ok := f.Type.(*spec.Union); ok {
		_, orNull := OrNull(u)
		isUnion = !orNull
	}
	scalar, _ := spec.AsScalar(f.Type)
	f.nilable = f.Optional || f.Nullable
	switch {
	case isAny && scalar.Kind == spec.Any && f.Default == "":
		if !f.Optional {
			f.tags = append(f.tags, "nullable") // else it could be left out, as any Any can
		} else {
			f.json += ",omitempty"
		}
	case !f.nilable:
	case isAny || isUnion:
		if f.Optional {
			f.json += ",omitempty"
		} else {
			f.tags = append(f.tags, "nullable")
		}
	case f.Default != "" || f.Nullable && !f.Optional:
		f.typ, f.pointer = "*"+f.typ, true
		if f.Default == "" {
			f.tags = append(f.tags, "nullable")
		}
	case isSlice:
		f.json += ",omitempty"
	default:
		f.typ, f.pointer = "*"+f.typ, true
		f.json += ",omitempty"
	}
	if f.Default != "" {
		f.tags = append(f.tags, pair("default", tagValue(f.Default, g.textual(f.Type))))
	}
}

// textual reports whether FromGo takes a default without quotes for text.
func (g *goEmitter) textual(t spec.Type) bool {
	if l, ok := t.(*spec.Literal); ok {
		return literalType(l) == "string"
	}
	if e, ok := t.(*spec.Enum); ok {
		return strings.HasPrefix(string(e.Values[0]), `"`)
	}
	s, ok := spec.AsScalar(t)
	if !ok {
		return false
	}
	switch s.Kind {
	case spec.String, spec.URI, spec.Bytes, spec.DateTime, spec.Date, spec.Time, spec.UUID, spec.UUID4:
		return true
	}
	return false
}

// decl writes the declaration of a type.
func (g *goEmitter) decl(d *Decl) {
	name := g.names[d]
	switch t := d.Type.(type) {
	case *spec.Record:
		if g.isError(t) {
			return
		}
		g.line("")
		g.docOf(name, d.Doc, g.recordWords(d))
		g.structOf(name, t)
	case *spec.Enum:
		g.enum(name, d, t)
	case *spec.Union:
		g.union(name, d)
	case *spec.Tuple:
		g.line("")
		g.docOf(name, d.Doc, "is a tuple.")
		g.block("type "+name+" struct {", func() {
			for i, item := range t.Items {
				typ, tags := g.typ(item), g.tags(item)
				if typ == "any" {
					tags = nil
				}
				g.line("Item%d %s %s", i+1, typ, structTag("", tags))
			}
		}, "}")
	case *spec.Custom:
		g.line("")
		g.docOf(name, d.Doc, "is a protobuf message, encoded. Its body is:")
		g.line("//")
		for line := range strings.SplitSeq(strings.TrimSpace(t.Body), "\n") {
			g.line("%s", strings.TrimRight("//\t"+line, " \t"))
		}
		g.line("type %s []byte", name)
	}
}

// recordWords describes a record of which the source says nothing.
func (g *goEmitter) recordWords(d *Decl) string {
	for _, p := range g.plan.Protocols {
		for _, m := range p.Messages {
			if m.Decl == d {
				return "is the message " + m.Name + " of " + p.Spec.Name + "."
			}
		}
	}
	return "is a record of " + g.plan.Source + "."
}

// docOf writes a doc comment that begins with the name.
func (g *goEmitter) docOf(name, doc, otherwise string) {
	doc = strings.TrimSpace(doc)
	switch {
	case doc == "":
		g.comment("//", wrapped(name+" "+otherwise))
	case strings.HasPrefix(doc, name+" "):
		g.comment("//", doc)
	default:
		g.comment("//", name+": "+doc)
	}
}

func (g *goEmitter) structOf(name string, r *spec.Record) {
	var about []string
	if r.Name != name {
		about = append(about, pair("name", r.Name))
	}
	if r.Title != "" {
		about = append(about, pair("title", r.Title))
	}
	if r.Description != "" {
		about = append(about, pair("description", r.Description))
	}
	if r.Closed {
		about = append(about, "closed")
	}
	if r.Open {
		about = append(about, "open")
	}
	fields := g.fields(r)
	if len(about)+len(fields) == 0 {
		g.line("type %s struct{}", name)
		return
	}
	g.block("type "+name+" struct {", func() {
		if len(about) > 0 {
			g.line("_ struct{} %s", structTag("", about))
		}
		for _, f := range fields {
			doc := strings.TrimSpace(f.Doc)
			if strings.Contains(doc, "\n") {
				g.comment("//", doc)
				doc = ""
			}
			if doc != "" {
				doc = " // " + doc
			}
			g.line("%s", f.name+" "+f.typ+" "+structTag(f.json, f.tags)+doc)
		}
	}, "}")
	g.constructor(name, fields)
}

// constructor writes a function that gives a struct its defaults, if it has any.
func (g *goEmitter) constructor(name string, fields []goField) {
	var set []string
	for _, f := range fields {
		if f.Default == "" || f.Default == "null" {
			continue
		}
		value, ok := g.constant(f.Type, f.Default)
		if !ok {
			continue
		}
		if f.pointer {
			value = "new(" + value + ")"
		}
		set = append(set, f.name+": "+value)
	}
	if len(set) == 0 {
		return
	}
	function := g.unique("New" + name)
	g.line("")
	g.comment("//", function+" returns a "+name+" with its defaults.")
	g.line("func %s() %s { return %s{%s} }", function, name, name, strings.Join(set, ", "))
}

// constant writes a JSON value as a Go expression of the type.
func (g *goEmitter) constant(t spec.Type, v spec.JSON) (string, bool) {
	if e, ok := t.(*spec.Enum); ok {
		for i, value := range e.Values {
			if value == v {
				return g.enumNames(g.plan.names[e])[i], true
			}
		}
		return "", false
	}
	s, ok := spec.AsScalar(t)
	if !ok {
		return "", false
	}
	switch s.Kind {
	case spec.String:
		var text string
		if json.Unmarshal([]byte(v), &text) != nil {
			return "", false
		}
		return strconv.Quote(text), true
	case spec.Bool:
		return string(v), v == "true" || v == "false"
	case spec.Int, spec.Int32, spec.UInt32, spec.UInt64:
		_, err := strconv.ParseInt(string(v), 10, 64)
		return goKinds[s.Kind].typ + "(" + string(v) + ")", err == nil
	case spec.Float:
		_, err := strconv.ParseFloat(string(v), 64)
		return "float64(" + string(v) + ")", err == nil
	}
	return "", false
}

// structTag writes the tag of a struct's field.
func structTag(name string, tags []string) string {
	var parts []string
	if name != "" {
		parts = append(parts, "json:"+strconv.Quote(name))
	}
	if len(tags) > 0 {
		parts = append(parts, "parley:"+strconv.Quote(strings.Join(tags, ",")))
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, " ")
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

// enumNames are the names of an enum's constants.
func (g *goEmitter) enumNames(d *Decl) []string {
	if known := g.enums[d]; known != nil {
		return known
	}
	e := d.Type.(*spec.Enum)
	var names []string
	for i, v := range e.Values {
		word := string(v)
		if i < len(e.Names) {
			word = e.Names[i]
		}
		if word == strings.ToUpper(word) {
			word = strings.ToLower(word)
		}
		names = append(names, g.unique(g.names[d]+strings.TrimPrefix(goIdentifier("x_"+word), "X")))
	}
	g.enums[d] = names
	return names
}

func (g *goEmitter) enum(name string, d *Decl, e *spec.Enum) {
	base := "int64"
	if strings.HasPrefix(string(e.Values[0]), `"`) {
		base = "string"
	}
	g.line("")
	g.docOf(name, d.Doc, "is one of a few values.")
	g.line("type %s %s", name, base)
	names := g.enumNames(d)
	g.line("")
	g.line("// The values of %s.", name)
	g.block("const (", func() {
		for i, v := range e.Values {
			g.line("%s %s = %s", names[i], name, goString(v))
		}
	}, ")")
	g.line("")
	g.line("// EnumValues lists the values.")
	var values []string
	for _, n := range names {
		values = append(values, base+"("+n+")")
	}
	g.line("func (%s) EnumValues() []any { return []any{%s} }", name, strings.Join(values, ", "))
	g.line("")
	g.line("// Valid reports whether the value is one of them.")
	g.block("func (v "+name+") Valid() bool {", func() {
		g.block("switch v {", func() {
			g.line("case %s:", strings.Join(names, ", "))
			g.line("\treturn true")
		}, "}")
		g.line("return false")
	}, "}")
	var about []string
	if e.Name != name {
		about = append(about, pair("name", e.Name))
	}
	if e.Title != "" {
		about = append(about, pair("title", e.Title))
	}
	if e.Description != "" {
		about = append(about, pair("description", e.Description))
	}
	if e.Open {
		about = append(about, "open")
	}
	if e.Base == spec.Any {
		about = append(about, "unmixed")
	}
	g.parleyTag(name, about)
}

func (g *goEmitter) parleyTag(name string, tags []string) {
	if len(tags) == 0 {
		return
	}
	g.line("")
	g.line("// ParleyTag is what the protocol says of the type beside that; see spec.Tagged.")
	g.line("func (%s) ParleyTag() string { return %s }", name, strconv.Quote(strings.Join(tags, ",")))
}

// goString writes a JSON string or integer in Go.
func goString(v spec.JSON) string {
	var text string
	if json.Unmarshal([]byte(v), &text) == nil {
		return strconv.Quote(text)
	}
	return string(v)
}

// union writes a sealed interface and the types made for its variants.
func (g *goEmitter) union(name string, d *Decl) {
	var types []string
	for _, v := range d.Variants {
		types = append(types, g.variantName(v))
	}
	words := "is one of " + strings.Join(types, ", ") + "."
	g.line("")
	g.docOf(name, d.Doc, words)
	if strings.TrimSpace(d.Doc) != "" {
		g.line("//")
		g.comment("//", wrapped("It "+words))
	}
	g.sealed(name, types)
	for _, v := range d.Variants {
		if v.Made {
			g.line("")
			g.line("// %s is a variant of %s.", g.variantName(v), name)
			g.line("type %s %s", g.variantName(v), g.typ(v.Type))
			g.parleyTag(g.variantName(v), append(definedAs(v.Type), g.tags(v.Type)...))
		}
	}
}

// definedAs is the word for a type that is defined as one with a meaning in
// package spec, which it would lose.
func definedAs(t spec.Type) []string {
	s, _ := spec.AsScalar(t)
	switch s.Kind {
	case spec.UUID:
		return []string{"uuid"}
	case spec.DateTime:
		return []string{"datetime"}
	case spec.Duration:
		return []string{"duration"}
	}
	return nil
}

func (g *goEmitter) variantName(v Variant) string {
	if v.Made {
		return g.made[v.Name]
	}
	if g.isError(v.Type) {
		return g.typ(v.Type)
	}
	return g.names[g.plan.names[v.Type]]
}

func byLength(a, b string) int { return len(a) - len(b) }

// sealed writes an interface that only the given types implement, in the form
// that spec.FromGo understands.
func (g *goEmitter) sealed(name string, types []string) {
	method, seal := "is"+name, "func("+strings.Join(types, ", ")+")"
	if len(types) > 3 || len("func () () {}"+method+seal)+len(slices.MaxFunc(types, byLength)) > columns {
		alias := strings.ToLower(name[:1]) + name[1:] + "Variants"
		g.line("type %s interface{ %s(%s) }", name, method, alias)
		g.line("")
		g.line("type %s = %s", alias, seal)
		seal = alias
	} else {
		g.line("type %s interface{ %s(%s) }", name, method, seal)
	}
	g.line("")
	for _, t := range types {
		g.line("func (%s) %s(%s) {}", t, method, seal)
	}
}
