package spec

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// A goTag is the content of a struct field's parley tag: words and key=value
// pairs between commas, a value with commas in single quotes.
//
//	`parley:"uuid4"`
//	`parley:"title=Bee,description='one, two',default=2,min=0,max=10"`
type goTag struct {
	words  map[string]bool
	values map[string]string
}

var tagWords = map[string]bool{
	"uuid4": true, "date": true, "time": true, "decimal": true, "uri": true, "set": true, "tuple": true,
	"optional": true, "nullable": true, "closed": true, "open": true, "untitled": true,
}

var tagValues = map[string]bool{
	"name": true, "title": true, "description": true, "default": true, "alias": true, "literal": true, "tag": true, "format": true,
	"min": true, "max": true, "above": true, "below": true, "multiple": true,
	"minlen": true, "maxlen": true, "pattern": true, "minitems": true, "maxitems": true,
}

func parseTag(text string) (goTag, error) {
	t := goTag{words: make(map[string]bool), values: make(map[string]string)}
	for _, part := range splitTag(text) {
		key, value, isPair := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		switch {
		case isPair && tagValues[key]:
			if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
				value = strings.ReplaceAll(value[1:len(value)-1], `\'`, `'`)
			}
			t.values[key] = value
		case !isPair && tagWords[key]:
			t.words[key] = true
		case key == "" && !isPair:
		default:
			return t, fault.Errorf(fault.Malformed, "parley tag", "%q is not known", part)
		}
	}
	return t, nil
}

// splitTag cuts at commas outside single quotes.
func splitTag(text string) []string {
	var parts []string
	quoted, start := false, 0
	for i := range len(text) {
		switch {
		case text[i] == '\'' && (i == 0 || text[i-1] != '\\'):
			quoted = !quoted
		case text[i] == ',' && !quoted:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// json returns the value for key as JSON: as it stands or, where text is meant
// and it is not in quotes, as a string.
func (t goTag) json(key string, isText bool) (JSON, error) {
	value, ok := t.values[key]
	if !ok {
		return "", nil
	}
	if isText && !strings.HasPrefix(value, `"`) {
		return jsonOf(pyjson.Of(value)), nil
	}
	v, err := pyjson.Parse([]byte(value), nil)
	if err != nil {
		return "", fault.In(key, err)
	}
	return jsonOf(v), nil
}

func (t goTag) limits() (Limits, error) {
	var l Limits
	for key, at := range map[string]*JSON{"min": &l.Min, "max": &l.Max, "above": &l.Above, "below": &l.Below, "multiple": &l.MultipleOf} {
		var err error
		if *at, err = t.json(key, false); err != nil {
			return l, err
		}
	}
	for key, at := range map[string]**int{"minlen": &l.MinLength, "maxlen": &l.MaxLength, "minitems": &l.MinItems, "maxitems": &l.MaxItems} {
		text, ok := t.values[key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return l, fault.Errorf(fault.Malformed, key, "expected a count, found %q", text)
		}
		*at = &n
	}
	l.Pattern = t.values["pattern"]
	return l, nil
}

// literal returns the values of literal=a|b, of the kind of the Go type.
func (t goTag) literal(isText bool) ([]JSON, error) {
	text, ok := t.values["literal"]
	if !ok {
		return nil, nil
	}
	var values []JSON
	for part := range strings.SplitSeq(text, "|") {
		v, err := goTag{values: map[string]string{"literal": part}}.json("literal", isText)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// isTextual reports whether defaults and literals of the Go type are text.
func isTextual(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || t == timeType || t == uuidType || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
