package aea

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML writes the specification as a file of the framework.
func (s *Specification) YAML() []byte {
	documents := []*yaml.Node{s.metaNode()}
	if len(s.CustomTypes) == 0 && s.emptyTypes {
		documents = append(documents, nil)
	}
	if len(s.CustomTypes) > 0 {
		types := &yaml.Node{Kind: yaml.MappingNode}
		for _, c := range s.CustomTypes {
			body := text(c.Body)
			if strings.Contains(c.Body, "\n") {
				body.Style = yaml.LiteralStyle
			}
			types.Content = append(types.Content, text("ct:"+c.Name), body)
		}
		documents = append(documents, types)
	}
	if s.Dialogue != nil {
		documents = append(documents, s.Dialogue.node())
	}
	var out bytes.Buffer
	for _, d := range documents {
		out.WriteString("---\n")
		if d != nil {
			encoder := yaml.NewEncoder(&out)
			encoder.SetIndent(2)
			_ = encoder.Encode(d) // a buffer takes everything, and nodes of text are always valid
			_ = encoder.Close()
		}
		out.WriteString("...\n")
	}
	return out.Bytes()
}

func (s *Specification) metaNode() *yaml.Node {
	order := s.order
	if order == nil {
		order = metaKeys
	}
	fields := s.fields()
	meta := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range order {
		if field := fields[key]; field != nil {
			meta.Content = append(meta.Content, text(key), text(*field))
			continue
		}
		acts := &yaml.Node{Kind: yaml.MappingNode}
		for _, act := range s.SpeechActs {
			contents := &yaml.Node{Kind: yaml.MappingNode}
			for _, c := range act.Contents {
				contents.Content = append(contents.Content, text(c.Name), text(c.Type))
			}
			if len(act.Contents) == 0 {
				contents.Style = yaml.FlowStyle
			}
			acts.Content = append(acts.Content, text(act.Name), contents)
		}
		meta.Content = append(meta.Content, text(key), acts)
	}
	return meta
}

func (d *Dialogue) node() *yaml.Node {
	reply := &yaml.Node{Kind: yaml.MappingNode}
	for _, r := range d.Reply {
		reply.Content = append(reply.Content, text(r.Message), texts(r.Replies))
	}
	roles := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, role := range d.Roles {
		roles.Content = append(roles.Content, text(role), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"})
	}
	keep := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: map[bool]string{true: "true", false: "false"}[d.KeepTerminal]}
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		text("initiation"), texts(d.Initiation),
		text("reply"), reply,
		text("termination"), texts(d.Termination),
		text("roles"), roles,
		text("end_states"), texts(d.EndStates),
		text("keep_terminal_state_dialogues"), keep,
	}}
}

// text returns a node that every reader takes for text, also those that know YAML
// 1.1, in which no is not a word.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if plainKind(s) != str || s == "<<" || s == "=" {
		n.Style = yaml.SingleQuotedStyle
	}
	return n
}

func texts(all []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, s := range all {
		n.Content = append(n.Content, text(s))
	}
	return n
}
