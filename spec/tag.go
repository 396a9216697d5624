package spec

import (
	"maps"
	"reflect"
	"slices"
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
//
// It notes what was asked for, since a word that nobody asks for has no meaning
// where it stands.
type goTag struct {
	entries map[string]string // by word or key
	used    map[string]bool
}

var tagWords = []string{
	"uuid", "uuid4", "datetime", "date", "time", "duration", "decimal", "uri", "set", "tuple", "optional", "nullable", "closed", "open", "untitled", "unmixed",
}

var tagKeys = []string{
	"name", "title", "description", "default", "alias", "literal", "tag", "format",
	"min", "max", "above", "below", "multiple", "minlen", "maxlen", "pattern", "minitems", "maxitems", "item", "key",
}

func badTag(format string, args ...any) error {
	return fault.Errorf(fault.Malformed, "parley tag", format, args...)
}

func tagOf(sf reflect.StructField) (goTag, error) {
	rest, ok := sf.Tag.Lookup("parley")
	if !ok && strings.Contains(string(sf.Tag), "parley:") {
		return goTag{}, badTag("the tag is not in the form that Go expects: %s", sf.Tag)
	}
	return parseTag(rest)
}

func parseTag(rest string) (goTag, error) {
	t := goTag{entries: make(map[string]string), used: make(map[string]bool)}
	for rest != "" {
		end := strings.IndexAny(rest, "=,")
		if end < 0 {
			end = len(rest)
		}
		name := strings.TrimSpace(rest[:end])
		isPair := strings.HasPrefix(rest[end:], "=")
		value := ""
		rest = rest[end:]
		if isPair {
			var err error
			if value, rest, err = cutValue(rest[1:]); err != nil {
				return t, err
			}
		}
		rest = strings.TrimPrefix(rest, ",")
		known := tagWords
		if isPair {
			known = tagKeys
		}
		if !slices.Contains(known, name) {
			return t, badTag("%q is not known", name)
		}
		if _, twice := t.entries[name]; twice {
			return t, badTag("%q is there twice", name)
		}
		t.entries[name] = value
	}
	return t, nil
}

// cutValue cuts the value off the start of a tag's rest: up to the next comma or,
// in single quotes, up to the closing one.
func cutValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, "'") {
		value, rest, _ = strings.Cut(text, ",")
		return value, rest, nil
	}
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' || text[i-1] == '\\' {
			continue
		}
		value, rest = strings.ReplaceAll(text[1:i], `\'`, `'`), text[i+1:]
		if rest != "" && rest[0] != ',' {
			return "", "", badTag("expected a comma after the closing quote, found %q", rest)
		}
		return value, rest, nil
	}
	return "", "", badTag("the quote of %q is not closed", text)
}

// has reports whether the tag has the word.
func (t goTag) has(word string) bool {
	_, ok := t.get(word)
	return ok
}

func (t goTag) text(key string) string {
	value, _ := t.get(key)
	return value
}

func (t goTag) get(key string) (string, bool) {
	value, ok := t.entries[key]
	if ok {
		t.used[key] = true
	}
	return value, ok
}

// unused returns an error for an entry that nothing asked for.
func (t goTag) unused() error {
	for _, name := range slices.Concat(tagWords, tagKeys) {
		if _, there := t.entries[name]; there && !t.used[name] {
			return badTag("%q has no meaning here", name)
		}
	}
	return nil
}

// inner is the tag as it speaks of the items of a list or the values of a map:
// words go through, values speak of the whole, and what item= holds speaks of
// them alone.
func (t goTag) inner() (goTag, error) {
	words := make(map[string]string)
	for _, word := range tagWords {
		if value, ok := t.entries[word]; ok && word != "set" {
			words[word] = value
		}
	}
	item, err := t.nested("item")
	maps.Copy(words, item.entries)
	return goTag{entries: words, used: t.used}, err
}

// nested is a tag inside the tag.
func (t goTag) nested(key string) (goTag, error) {
	tag, err := parseTag(t.text(key))
	return tag, fault.In(key, err)
}

// json returns the value for key as JSON: as it stands or, where text is meant
// and it is not in quotes, as a string.
func (t goTag) json(key string, isText bool) (JSON, error) {
	value, ok := t.get(key)
	if !ok {
		return "", nil
	}
	return tagJSON(key, value, isText)
}

func tagJSON(key, value string, isText bool) (JSON, error) {
	if isText && !strings.HasPrefix(value, `"`) {
		return jsonOf(pyjson.Of(value)), nil
	}
	v, err := pyjson.Parse([]byte(value), nil)
	if err != nil {
		return "", fault.In(key, err)
	}
	return jsonOf(v), nil
}

// numberLimits reads the limits of a number.
func (t goTag) numberLimits(l *Limits) error {
	for _, n := range []struct {
		key string
		at  *JSON
	}{{"min", &l.Min}, {"max", &l.Max}, {"above", &l.Above}, {"below", &l.Below}, {"multiple", &l.MultipleOf}} {
		text, err := t.json(n.key, false)
		if err != nil {
			return err
		}
		if v, err := text.parse(); text != "" && (err != nil || v.Kind != pyjson.Int && v.Kind != pyjson.Float) {
			return fault.Errorf(fault.Malformed, n.key, "expected a number, found %s", text)
		}
		*n.at = text
	}
	return nil
}

// textLimits reads the limits of a string.
func (t goTag) textLimits(l *Limits) error {
	l.Pattern = t.text("pattern")
	return t.counts("minlen", &l.MinLength, "maxlen", &l.MaxLength)
}

// listLimits reads the limits of a list.
func (t goTag) listLimits(l *Limits) error {
	return t.counts("minitems", &l.MinItems, "maxitems", &l.MaxItems)
}

func (t goTag) counts(minKey string, low **int, maxKey string, high **int) error {
	for _, n := range []struct {
		key string
		at  **int
	}{{minKey, low}, {maxKey, high}} {
		text, ok := t.get(n.key)
		if !ok {
			continue
		}
		count, err := strconv.Atoi(text)
		if err != nil || count < 0 {
			return fault.Errorf(fault.Malformed, n.key, "expected a count, found %q", text)
		}
		*n.at = &count
	}
	return nil
}

// literal returns the values of literal=a|b, of the kind of the Go type.
func (t goTag) literal(isText bool) ([]JSON, error) {
	text, ok := t.get("literal")
	if !ok {
		return nil, nil
	}
	var values []JSON
	for part := range strings.SplitSeq(text, "|") {
		v, err := tagJSON("literal", part, isText)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}
