package aea

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

// Source returns the protocol as a source of the language, formatted.
//
// What the framework needs and the language does not have stands in annotations
// named aea; [FromProtocol] reads them.
func (s *Specification) Source() []byte {
	w := &sourceWriter{}
	w.line(`parley "1"`)
	w.line("%s", s.packageAnnotation())
	w.line("package %s.%s version %s", quoted(s.Author), quoted(s.Name), syntax.Quote(s.Version))
	w.line("")
	if s.order == nil {
		w.line("@description(%s)", syntax.Quote(s.Description))
	}
	w.line("@aea(name: %s)", syntax.Quote(s.Name))
	w.line("protocol %s version %s {", quoted(CamelCase(s.Name)), syntax.Quote(s.Version))
	if s.Dialogue != nil {
		w.line("roles %s", roles(s.Dialogue.Roles))
	}
	for _, c := range s.CustomTypes {
		w.custom(c)
	}
	for _, act := range s.SpeechActs {
		w.message(act)
	}
	if s.Dialogue != nil {
		w.dialogue(s.Dialogue)
	}
	w.line("}")
	file, found := syntax.Parse(s.Name+".parley", []byte(w.String()))
	if len(found) > 0 { // a mistake here, not in the specification
		return []byte(w.String())
	}
	return syntax.Format(file)
}

// emptyTypesAnnotation marks files that have a document for custom types with none
// in it.
const emptyTypesAnnotation = "x_aea.empty_types"

// packageAnnotation writes what only the framework knows. If the keys of the file
// are not in the usual order, those after the version stand here in theirs.
func (s *Specification) packageAnnotation() string {
	short := map[string]string{"protocol_specification_id": "id"}
	order := []string{"author", "license", "aea_version", "protocol_specification_id"}
	if s.order != nil {
		order = append([]string{"author"}, slices.DeleteFunc(slices.Clone(s.order), func(key string) bool {
			return key == "name" || key == "author" || key == "version" || key == "speech_acts"
		})...)
	}
	var args []string
	for _, key := range order {
		name := key
		if short[key] != "" {
			name = short[key]
		}
		args = append(args, name+": "+syntax.Quote(*s.fields()[key]))
	}
	annotation := "@aea(" + strings.Join(args, ", ") + ")"
	if s.emptyTypes {
		annotation += "\n@" + emptyTypesAnnotation
	}
	return annotation
}

type sourceWriter struct{ strings.Builder }

func (w *sourceWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
}

// custom writes the body as it is. A text block holds whole lines.
func (w *sourceWriter) custom(c CustomType) {
	if strings.HasSuffix(c.Body, "\n") && !strings.Contains(c.Body, `"""`) && !strings.Contains(c.Body, "\r") {
		w.line("custom %s \"\"\"\n%s\"\"\"", quoted(c.Name), c.Body)
		return
	}
	w.line("custom %s %s", quoted(c.Name), syntax.Quote(c.Body))
}

func (w *sourceWriter) message(act SpeechAct) {
	w.line("message %s {", quoted(act.Name))
	for _, c := range act.Contents {
		t, _ := parseType(c.Type)
		spelled := ""
		if t.String() != c.Type {
			spelled = fmt.Sprintf(" @aea(type: %s)", syntax.Quote(c.Type))
		}
		w.line("%s: %s%s", quoted(c.Name), t.source(), spelled)
	}
	w.line("}")
}

func (w *sourceWriter) dialogue(d *Dialogue) {
	w.line("dialogue {")
	w.line("initiates %s", nameList(d.Initiation))
	for _, r := range d.Reply {
		w.line("%s -> %s", quoted(r.Message), nameList(r.Replies))
	}
	w.line("terminates %s", nameList(d.Termination))
	w.line("end_states %s", nameList(d.EndStates))
	w.line("keep_terminal %t", d.KeepTerminal)
	w.line("}")
}

// roles writes the parties. A single role is played by both sides.
func roles(all []string) string {
	if len(all) == 1 {
		return quoted(all[0]) + "[2]"
	}
	return quoted(all[0]) + ", " + quoted(all[1])
}

func nameList(all []string) string {
	var names []string
	for _, name := range all {
		names = append(names, quoted(name))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// quoted returns a name as it stands in a source.
func quoted(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "`" + name + "`"
}

// builtin are the names that the language has given away; a custom type of such a
// name is written in backticks.
var builtin = []string{
	"Any", "Bool", "Bytes", "Date", "DateTime", "Decimal", "Duration", "Float", "Float32", "Float64", "Int", "Int32", "Int64", "Json",
	"List", "Map", "Null", "Set", "String", "Time", "Tuple", "UInt32", "UInt64", "Uri", "Uuid", "Uuid4",
}

var scalarSources = map[string]string{"bytes": "Bytes", "int": "Int", "float": "Float", "bool": "Bool", "str": "String"}

// source writes a type in the language.
func (t typ) source() string {
	var of []string
	for _, inner := range t.of {
		of = append(of, inner.source())
	}
	switch t.shape {
	case custom:
		if slices.Contains(builtin, t.name) {
			return "`" + t.name + "`"
		}
		return t.name
	case setOf:
		return "Set<" + of[0] + ">"
	case listOf:
		return "List<" + of[0] + ">"
	case dictOf:
		return "Map<" + of[0] + ", " + of[1] + ">"
	case unionOf:
		return strings.Join(of, " | ")
	case optional:
		if t.of[0].shape == unionOf {
			return "(" + of[0] + ")?"
		}
		return of[0] + "?"
	}
	return scalarSources[t.name]
}
