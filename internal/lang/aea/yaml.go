package aea

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-agents/parley/fault"
	"go.yaml.in/yaml/v3"
)

// Limits of what is read. Real files have a few kilobytes.
const (
	maxSize   = 1 << 20
	maxNodes  = 50_000 // with aliases written out
	maxNested = 32
)

// A kind is the type that Python's reader gives to a value.
type kind string

const (
	null  kind = "NoneType"
	boole kind = "bool"
	inte  kind = "int"
	float kind = "float"
	date  kind = "date"
	str   kind = "str"
	list  kind = "list"
	dict  kind = "dict"
	set   kind = "set" // as !!set; {a, b} is a dict
)

// A value is a piece of a document. Of a dict, keys and items belong together; a
// key that is there twice has the value of the last.
type value struct {
	kind  kind
	text  string // of scalars, as written
	keys  []value
	items []value
	line  int
}

// isTrue tells what a bool means.
func (v *value) isTrue() bool { return trueWords.MatchString(v.text) }

// get returns the value of a key.
func (v *value) get(key string) (*value, bool) {
	for i := range v.keys {
		if v.keys[i].kind == str && v.keys[i].text == key {
			return &v.items[i], true
		}
	}
	return nil, false
}

// readDocuments reads the documents of a file.
func readDocuments(text []byte) ([]value, error) {
	if len(text) > maxSize {
		return nil, fault.Errorf(fault.TooLarge, "", "the file has %d bytes, at most %d are read", len(text), maxSize)
	}
	if line := strayTab(string(text)); line > 0 {
		return nil, fault.Errorf(fault.Malformed, "", "not YAML: line %d: a tab where Python's reader takes only blanks", line)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(editions.ReplaceAll(text, []byte("%YAML 1.1"))))
	r := reader{left: maxNodes}
	var documents []value
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fault.Errorf(fault.Malformed, "", "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if node.Kind == 0 || len(node.Content) == 0 {
			documents = append(documents, value{kind: null})
			continue
		}
		v, err := r.value(node.Content[0], 0)
		if err != nil {
			return nil, err
		}
		documents = append(documents, v)
	}
}

// editions of YAML that Python's reader takes, all as 1.1.
var editions = regexp.MustCompile(`(?m)^%YAML 1\.[0-9]+`)

// blockHead ends a line after which a text stands in lines of its own.
var blockHead = regexp.MustCompile(`(^|[ :-])[|>][-+0-9]*[ ]*( #.*)?\r?$`)

// strayTab returns the line of a tab outside texts and comments, which Python's
// reader refuses wherever it stands; 0 if there is none.
func strayTab(text string) int {
	if !strings.Contains(text, "\t") {
		return 0
	}
	var quote byte // the one that is open
	block := -1    // the indentation of the line whose text follows
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if indent := len(line) - len(strings.TrimLeft(line, " ")); block >= 0 {
			if indent > block || strings.TrimSpace(line) == "" {
				continue
			}
			block = -1
		}
		for i := 0; i < len(line); i++ {
			c := line[i]
			switch {
			case quote == '"' && c == '\\':
				i++
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '#' && (i == 0 || line[i-1] == ' '):
				i = len(line)
			case c == '\t':
				return number
			case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,", line[i-1]) >= 0):
				quote = c
			}
		}
		if quote == 0 && blockHead.MatchString(line) {
			block = len(line) - len(strings.TrimLeft(line, " "))
		}
	}
	return 0
}

// A reader writes aliases out, within bounds.
type reader struct{ left int }

func (r *reader) value(n *yaml.Node, depth int) (value, error) {
	r.left--
	switch {
	case depth > maxNested:
		return value{}, fault.Errorf(fault.TooLarge, "", "line %d: nested more than %d deep", n.Line, maxNested)
	case r.left < 0:
		return value{}, fault.Errorf(fault.TooLarge, "", "line %d: more than %d values", n.Line, maxNodes)
	}
	v := value{line: n.Line}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.ScalarNode:
		v.text = n.Value
		var err error
		v.kind, err = scalarKind(n)
		return v, err
	case yaml.SequenceNode:
		v.kind = list
		if n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != "!!seq" {
			return v, fault.Errorf(fault.Unsupported, "", "line %d: the tag %s is not read", n.Line, n.Tag)
		}
		for _, c := range n.Content {
			item, err := r.value(c, depth+1)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
		return v, nil
	case yaml.MappingNode:
		return r.dict(n, depth)
	}
	return v, fault.Errorf(fault.Malformed, "", "line %d: unexpected YAML", n.Line)
}

func (r *reader) dict(n *yaml.Node, depth int) (value, error) {
	v := value{kind: dict, line: n.Line}
	if n.Style&yaml.TaggedStyle != 0 {
		switch n.ShortTag() {
		case "!!map":
		case "!!set":
			v.kind = set
		default:
			return v, fault.Errorf(fault.Unsupported, "", "line %d: the tag %s is not read", n.Line, n.Tag)
		}
	}
	var keys, items []value
	var merged []value
	for i := 0; i+1 < len(n.Content); i += 2 {
		item, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return v, err
		}
		if isMerge(n.Content[i]) {
			merged = append(merged, item)
			continue
		}
		key, err := r.value(n.Content[i], depth+1)
		if err != nil {
			return v, err
		}
		if key.kind == list || key.kind == dict || key.kind == set {
			return v, fault.Errorf(fault.Malformed, "", "line %d: a key must be a plain value", key.line)
		}
		keys, items = append(keys, key), append(items, item)
	}
	for _, m := range slices.Backward(merged) { // what comes later counts
		if m.kind == dict {
			m.items = []value{m}
		} else if m.kind != list {
			return v, fault.Errorf(fault.Malformed, "", "line %d: what is merged is a %s, want keys and values", m.line, m.kind)
		}
		for _, from := range m.items {
			if from.kind != dict {
				return v, fault.Errorf(fault.Malformed, "", "line %d: what is merged is a %s, want keys and values", from.line, from.kind)
			}
			keys, items = slices.Concat(from.keys, keys), slices.Concat(from.items, items)
			if r.left -= len(keys); r.left < 0 {
				return v, fault.Errorf(fault.TooLarge, "", "line %d: more than %d values", n.Line, maxNodes)
			}
		}
	}
	place := make(map[string]int)
	for i, key := range keys {
		id := string(key.kind) + " " + key.text
		if at, twice := place[id]; twice {
			v.items[at] = items[i]
			continue
		}
		place[id] = len(v.keys)
		v.keys, v.items = append(v.keys, key), append(v.items, items[i])
	}
	return v, nil
}

// isMerge reports whether a key says that the keys of another dict come in here.
func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && n.Style == 0
}

// What Python's reader makes of plain words is YAML 1.1.
var (
	nullWords  = regexp.MustCompile(`^(~|null|Null|NULL|)$`)
	boolWords  = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	trueWords  = regexp.MustCompile(`^(?i:yes|true|on)$`)
	intWords   = regexp.MustCompile(`^[-+]?(0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)$`)
	floatWords = regexp.MustCompile(`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	dateWords = regexp.MustCompile(`^[0-9]{4}-([0-9]{2}-[0-9]{2}|[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:?[0-9]{2})?))?)$`)
)

func scalarKind(n *yaml.Node) (kind, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		kinds := map[string]kind{"!!str": str, "!!int": inte, "!!float": float, "!!bool": boole, "!!null": null}
		if k, ok := kinds[n.ShortTag()]; ok {
			return k, nil
		}
		return "", fault.Errorf(fault.Unsupported, "", "line %d: the tag %s is not read", n.Line, n.Tag)
	}
	if n.Style != 0 {
		return str, nil
	}
	if n.Value == "<<" || n.Value == "=" {
		return "", fault.Errorf(fault.Malformed, "", "line %d: %s stands for something else in YAML: put it in quotes", n.Line, n.Value)
	}
	return plainKind(n.Value), nil
}

func plainKind(text string) kind {
	switch {
	case nullWords.MatchString(text):
		return null
	case boolWords.MatchString(text):
		return boole
	case intWords.MatchString(text):
		return inte
	case floatWords.MatchString(text):
		return float
	case dateWords.MatchString(text):
		return date
	}
	return str
}
