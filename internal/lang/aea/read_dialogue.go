package aea

import "strings"

func (s *Specification) readDialogue(v *value) error {
	acts := make(known)
	for _, act := range s.SpeechActs {
		acts[act.Name] = true
	}
	fields := make(map[string]*value)
	for _, key := range []string{"initiation", "reply", "termination", "roles", "end_states", "keep_terminal_state_dialogues"} {
		field, found := v.get(key)
		if !found {
			return wrong(key, "it is missing")
		}
		fields[key] = field
	}
	d := &Dialogue{}
	var err error
	if d.Initiation, err = acts.messages("initiation", fields["initiation"]); err != nil {
		return err
	}
	if err := acts.readReplies(d, fields["reply"], s.SpeechActs); err != nil {
		return err
	}
	if d.Termination, err = acts.messages("termination", fields["termination"]); err != nil {
		return err
	}
	if err := terminates(d); err != nil {
		return err
	}
	if err := readRoles(d, fields["roles"]); err != nil {
		return err
	}
	if err := readEndStates(d, fields["end_states"]); err != nil {
		return err
	}
	keep := fields["keep_terminal_state_dialogues"]
	if keep.kind != boole {
		return wrong("keep_terminal_state_dialogues", "line %d: it is a %s, want true or false", keep.line, keep.kind)
	}
	d.KeepTerminal = keep.isTrue()
	s.Dialogue = d
	return nil
}

// known are the messages that there are.
type known map[string]bool

// messages reads a list of messages that is not empty.
func (k known) messages(field string, v *value) ([]string, error) {
	if v.kind != list {
		return nil, wrong(field, "line %d: it is a %s, want a list of messages", v.line, v.kind)
	}
	if len(v.items) == 0 {
		return nil, wrong(field, "line %d: it names no message", v.line)
	}
	return k.list(field, v)
}

func (k known) list(field string, v *value) ([]string, error) {
	all := make([]string, 0, len(v.items))
	for _, item := range v.items {
		if item.kind != str || !k[item.text] {
			return nil, wrong(field, "line %d: '%s' is not among the speech acts", item.line, item.text)
		}
		all = append(all, item.text)
	}
	return all, nil
}

func (k known) readReplies(d *Dialogue, v *value, acts []SpeechAct) error {
	if v.kind != dict {
		return wrong("reply", "line %d: it is a %s, want a list of replies for each message", v.line, v.kind)
	}
	ruled := make(map[string]bool)
	for i, key := range v.keys {
		if key.kind != str || !k[key.text] {
			return wrong("reply", "line %d: '%s' is not among the speech acts", key.line, key.text)
		}
		item := &v.items[i]
		if item.kind != list {
			return wrong("reply."+key.text, "line %d: it is a %s, want a list of messages", item.line, item.kind)
		}
		replies, err := k.list("reply."+key.text, item)
		if err != nil {
			return err
		}
		ruled[key.text] = true
		d.Reply = append(d.Reply, Reply{key.text, replies})
	}
	var missing []string
	for _, act := range acts {
		if !ruled[act.Name] {
			missing = append(missing, "'"+act.Name+"'")
		}
	}
	if len(missing) > 0 {
		return wrong("reply", "replies to %s are missing; write [] for none", strings.Join(missing, ", "))
	}
	return nil
}

// terminates compares what terminates with what has no replies.
func terminates(d *Dialogue) error {
	seen := make(map[string]bool)
	for _, name := range d.Termination {
		if seen[name] {
			return wrong("termination", "'%s' is there twice", name)
		}
		seen[name] = true
	}
	for _, r := range d.Reply {
		switch ends := len(r.Replies) == 0; {
		case !ends && seen[r.Message]:
			return wrong("termination", "'%s' has replies", r.Message)
		case ends && !seen[r.Message]:
			return wrong("termination", "'%s' has no replies and is not here", r.Message)
		}
	}
	return nil
}

func readRoles(d *Dialogue, v *value) error {
	if v.kind != dict {
		return wrong("roles", "line %d: it is a %s, want a set such as {buyer, seller}", v.line, v.kind)
	}
	if n := len(v.keys); n < 1 || n > 2 {
		return wrong("roles", "line %d: there are %d, want one or two", v.line, n)
	}
	for _, key := range v.keys {
		if key.kind != str || !names.MatchString(key.text) {
			return wrong("roles", "line %d: '%s' cannot name a role: %s", key.line, key.text, nameHint)
		}
		d.Roles = append(d.Roles, key.text)
	}
	return nil
}

func readEndStates(d *Dialogue, v *value) error {
	if v.kind != list {
		return wrong("end_states", "line %d: it is a %s, want a list", v.line, v.kind)
	}
	for _, item := range v.items {
		if item.kind != str || !names.MatchString(item.text) {
			return wrong("end_states", "line %d: '%s' cannot name an end state: %s", item.line, item.text, nameHint)
		}
		d.EndStates = append(d.EndStates, item.text)
	}
	return nil
}
