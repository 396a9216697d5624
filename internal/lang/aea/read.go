package aea

import (
	"regexp"
	"slices"
	"strings"

	"github.com/parley-agents/parley/fault"
)

// Read reads a specification and refuses what the framework refuses. The error
// names the part that is wrong.
func Read(text []byte) (*Specification, error) {
	documents, err := readDocuments(text)
	if err != nil {
		return nil, err
	}
	s := &Specification{emptyTypes: len(documents) == 3 && len(documents[1].keys) == 0}
	acts, types, dialogue, err := parts(documents)
	if err == nil {
		err = s.readMeta(acts)
	}
	if err == nil {
		err = s.readSpeechActs(acts)
	}
	if err == nil {
		err = s.readCustomTypes(types)
	}
	if err == nil && dialogue != nil {
		err = fault.In("dialogue", s.readDialogue(dialogue))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// parts tells the documents apart. The second of two is the dialogue if it says
// what initiates it.
func parts(documents []value) (meta, types, dialogue *value, err error) {
	if len(documents) == 0 || len(documents) > 3 {
		return nil, nil, nil, wrong("", "the file has %d documents, want one to three", len(documents))
	}
	for i, d := range documents {
		mayBeEmpty := len(documents) == 3 && i > 0
		if d.kind != dict && !(mayBeEmpty && d.kind == null) {
			return nil, nil, nil, wrong("", "document %d is a %s, want keys and values", i+1, d.kind)
		}
	}
	meta = &documents[0]
	switch len(documents) {
	case 2:
		if _, found := documents[1].get("initiation"); found {
			return meta, nil, &documents[1], nil
		}
		return meta, &documents[1], nil, nil
	case 3:
		if documents[2].kind == dict {
			dialogue = &documents[2]
		}
		return meta, &documents[1], dialogue, nil
	}
	return meta, nil, nil, nil
}

func wrong(field, format string, args ...any) error {
	return fault.Errorf(fault.Malformed, field, format, args...)
}

const semver = `(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(-((0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?`

// A version of the framework, as Python counts them.
const release = `([1-9][0-9]*!)?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))*((a|b|rc)(0|[1-9][0-9]*))?(\.post(0|[1-9][0-9]*))?(\.dev(0|[1-9][0-9]*))?`

// What the values of the first document look like.
var metaForms = map[string]*regexp.Regexp{
	"name":    regexp.MustCompile(`^[a-z_][a-z0-9_]{0,127}$`),
	"author":  regexp.MustCompile(`^[a-z_][a-z0-9_]{0,127}$`),
	"version": regexp.MustCompile(`^` + semver + `$`),
	"aea_version": regexp.MustCompile(`^` + release + `$|` +
		`^ *(~=|==|>=|<=|!=|<|>) *` + release + `(, *(~=|==|>=|<=|!=|<|>) *` + release + `)*$`),
	"protocol_specification_id": regexp.MustCompile(`^[a-z_][a-z0-9_]{0,127}/[a-z_][a-z0-9_]{0,127}(:` + semver + `)?(:(Qm[a-zA-Z0-9]{44}|ba[a-zA-Z0-9]{57}))?$`),
}

func (s *Specification) readMeta(meta *value) error {
	for _, key := range metaKeys {
		if _, found := meta.get(key); !found {
			return wrong(key, "the first document lacks it")
		}
	}
	fields := s.fields()
	var order []string
	for i, key := range meta.keys {
		if key.kind != str || !slices.Contains(metaKeys, key.text) {
			return wrong(key.text, "line %d: the first document must not have this key", key.line)
		}
		order = append(order, key.text)
		field := fields[key.text]
		if field == nil {
			continue
		}
		v := &meta.items[i]
		if v.kind != str {
			return wrong(key.text, "line %d: it is of type %s, want text: put it in quotes", v.line, v.kind)
		}
		if form := metaForms[key.text]; form != nil && !form.MatchString(v.text) {
			return wrong(key.text, "line %d: '%s' does not have the form that is asked for", v.line, v.text)
		}
		*field = v.text
	}
	if _, _, version := s.wireID(); version != "latest" {
		if _, ok := normalVersion(version); !ok {
			return wrong("protocol_specification_id", "Python does not take '%s' for a version", version)
		}
	}
	if !slices.Equal(order, metaKeys) {
		s.order = order
	}
	return nil
}

var (
	reserved    = []string{"_body", "message_id", "dialogue_reference", "target", "performative"}
	names       = regexp.MustCompile(`^[a-zA-Z0-9]+(_[a-zA-Z0-9]+)*$`)
	identifiers = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

const nameHint = "use letters and digits, with single underscores between them"

func (s *Specification) readSpeechActs(meta *value) error {
	acts, _ := meta.get("speech_acts")
	if acts.kind != dict {
		return wrong("speech_acts", "line %d: a %s, want the messages and their contents", acts.line, acts.kind)
	}
	if len(acts.keys) == 0 {
		return wrong("speech_acts", "there is no message")
	}
	for i, key := range acts.keys {
		if key.kind != str || !identifiers.MatchString(key.text) {
			return wrong("speech_acts", "line %d: '%s' cannot name a message (Python's YAML takes it for a %s)", key.line, key.text, key.kind)
		}
		if acts.items[i].kind != dict {
			return wrong("speech_acts."+key.text, "line %d: a %s, want contents; write {} for none", acts.items[i].line, acts.items[i].kind)
		}
	}
	types := make(map[string][2]string) // content → type, and the message that has it first
	for i, key := range acts.keys {
		act := SpeechAct{Name: key.text}
		if slices.Contains(reserved, key.text) {
			return wrong("speech_acts", "line %d: the name '%s' is reserved", key.line, key.text)
		}
		if !names.MatchString(key.text) {
			return wrong("speech_acts", "line %d: '%s' cannot name a message: %s", key.line, key.text, nameHint)
		}
		contents := &acts.items[i]
		for k := range contents.keys {
			c, err := readContent(&contents.keys[k], &contents.items[k])
			if err != nil {
				return fault.In("speech_acts."+act.Name, err)
			}
			if first, found := types[c.Name]; found && first[0] != c.Type {
				return wrong("speech_acts."+act.Name, "content '%s' has the type '%s' here and '%s' in '%s'; rename one", c.Name, c.Type, first[0], first[1])
			} else if !found {
				types[c.Name] = [2]string{c.Type, act.Name}
			}
			act.Contents = append(act.Contents, c)
		}
		s.SpeechActs = append(s.SpeechActs, act)
	}
	return nil
}

func readContent(key, v *value) (Content, error) {
	c := Content{Name: key.text, Type: v.text}
	switch {
	case key.kind != str || !names.MatchString(key.text) && !slices.Contains(reserved, key.text):
		return c, wrong("", "line %d: '%s' cannot name a content: %s", key.line, key.text, nameHint)
	case slices.Contains(reserved, key.text):
		return c, wrong("", "line %d: the name '%s' is reserved", key.line, key.text)
	case v.kind != str:
		return c, wrong(key.text, "line %d: its type '%s' is a %s, want text such as pt:str", v.line, key.text, v.kind)
	}
	if _, ok := parseType(v.text); !ok {
		return c, wrong(key.text, "line %d: '%s' of '%s' is no type", v.line, v.text, key.text)
	}
	return c, nil
}

func (s *Specification) readCustomTypes(types *value) error {
	used := make(map[string]bool)
	for _, act := range s.SpeechActs {
		for _, c := range act.Contents {
			for _, name := range customTypes(c.Type) {
				used[name] = true
			}
		}
	}
	if types != nil && types.kind == null {
		return nil // the framework does not miss them then
	}
	if types != nil {
		for i, key := range types.keys {
			name, ok := strings.CutPrefix(key.text, "ct:")
			switch v := &types.items[i]; {
			case !ok || key.kind != str || !used[name]:
				return wrong("custom types", "line %d: no content has the type '%s' (one that is only in an optional union does not count)", key.line, key.text)
			case v.kind == list || v.kind == dict:
				return wrong("custom types", "line %d: '%s' is a %s, want the body of a protobuf message", v.line, key.text, v.kind)
			default:
				body := v.text
				if v.kind == null {
					body = ""
				}
				s.CustomTypes = append(s.CustomTypes, CustomType{name, body})
				delete(used, name)
			}
		}
	}
	for _, act := range s.SpeechActs {
		for _, c := range act.Contents {
			for _, name := range customTypes(c.Type) {
				if used[name] {
					return wrong("custom types", "the body of 'ct:%s' is missing", name)
				}
			}
		}
	}
	return nil
}
