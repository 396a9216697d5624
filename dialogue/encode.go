package dialogue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/parley-agents/parley/fault"
)

// encodingVersion changes when a State of an older program would be misread.
const encodingVersion = 1

type encoded struct {
	Version int        `json:"v"`
	Only    bool       `json:"only,omitzero"`
	Open    []exchange `json:"open,omitempty"`
	Pending []note     `json:"pending,omitempty"`
	Ended   *ending    `json:"ended,omitempty"`
}

// Encode returns the state as JSON, for a store. Equal states have equal
// encodings.
func (s *State) Encode() []byte {
	data, err := json.Marshal(encoded{encodingVersion, s.OneExchange, s.open, s.pending, s.ended})
	if err != nil {
		panic(err) // strings, numbers and booleans always have an encoding
	}
	return data
}

// Decode reads what [State.Encode] wrote. No bytes at all are a new dialogue.
// Errors are Unsupported for the encoding of a newer program, else Malformed.
func Decode(data []byte) (*State, error) {
	if len(data) == 0 {
		return new(State), nil
	}
	var e encoded
	if err := decodeStrict(data, &e); err != nil {
		if version := versionOf(data); version > encodingVersion {
			return nil, unsupported(version)
		}
		return nil, fault.Errorf(fault.Malformed, "dialogue", "the stored state is damaged: %w", err)
	}
	if e.Version != encodingVersion {
		return nil, unsupported(e.Version)
	}
	s := &State{OneExchange: e.Only, open: e.Open, pending: e.Pending, ended: e.Ended}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// decodeStrict reads one JSON value that has no other fields and nothing after it.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows it")
	}
	return nil
}

// versionOf returns the version of an encoding that this program cannot read.
func versionOf(data []byte) int {
	var e struct {
		Version int `json:"v"`
	}
	if json.Unmarshal(data, &e) != nil {
		return 0
	}
	return e.Version
}

func unsupported(version int) error {
	return fault.Errorf(fault.Unsupported, "dialogue.v", "the stored state has version %d, this program reads %d", version, encodingVersion)
}

// check refuses states that no sequence of moves leads to, as far as the code
// relies on it.
func (s *State) check() error {
	ids := make(map[string]bool)
	for i := range s.open {
		e := &s.open[i]
		for _, id := range append([]string{e.ID}, e.Recent...) {
			if id == "" || len(id) > maxIDLength || ids[id] {
				return fault.Errorf(fault.Malformed, "dialogue.open", "the ID %.80q is empty, too long or there twice", id)
			}
			ids[id] = true
		}
		switch {
		case e.Last == "" || len(e.Recent) > maxRecent:
			return fault.Errorf(fault.Malformed, "dialogue.open", "the exchange %q has no message, or too many", e.ID)
		case e.Due == 0 && e.Else != "", e.Due == 0 && e.Owed, e.Else == "" && e.Owed, e.Within < 0:
			return fault.Errorf(fault.Malformed, "dialogue.open", "the deadline of exchange %q is damaged", e.ID)
		}
	}
	return nil
}
