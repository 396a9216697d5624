package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/run"
	"github.com/parley-agents/parley/store/sqlite"
)

func TestWhoSpeaksIfNobodyIsNamed(t *testing.T) {
	seller, buyer, you := parley.AgentInfo{Name: "seller", Address: alice}, parley.AgentInfo{Name: "buyer", Address: bob}, parley.AgentInfo{Name: person, Address: "agent1you"}
	for _, test := range []struct {
		name   string
		agents []parley.AgentInfo
		to     identity.Address
		want   identity.Address
	}{
		{"the person's own agent", []parley.AgentInfo{seller, buyer, you}, alice, you.Address},
		{"the first other one", []parley.AgentInfo{seller, buyer}, alice, bob},
		{"the first, to somebody elsewhere", []parley.AgentInfo{seller, buyer}, "agent1far", alice},
		{"not the person's own to itself", []parley.AgentInfo{seller, you}, you.Address, alice},
		{"only the one itself is there", []parley.AgentInfo{seller}, alice, ""},
	} {
		if got := speakerTo(test.agents, test.to); got != string(test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestAnAgentThatSpeaksWithItselfOutOfTurnIsToldOfFrom(t *testing.T) {
	refused := fault.Errorf(fault.OutOfTurn, "", "the seller does not send Bid")
	for from, hint := range map[string]bool{"": true, string(alice): true, string(bob): false} {
		err := toItself(refused, &run.Request{From: from, To: alice})
		if strings.Contains(err.Error(), "--from") != hint || fault.CodeOf(err) != fault.OutOfTurn {
			t.Errorf("from %q: %v", from, err)
		}
	}
}

func TestTheBeginningOfASession(t *testing.T) {
	data := t.TempDir()
	store, err := sqlite.Open(filepath.Join(data, "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := &parley.Batch{Agent: alice}
	for _, session := range []string{"5a9ec1f5-1", "5a9ec1f5-2", "5a9ec1f5-2", "77", "7"} {
		batch.Log = append(batch.Log, parley.LogRecord{Time: time.Unix(1, 0), Event: "sent", ID: "1", Message: parley.Message{From: alice, To: bob, Session: session}})
	}
	if err := store.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"": "", "5a9ec1f5-1": "5a9ec1f5-1", "7": "7", "77": "77",
		"5a9ec1f5": `conflict: session: several begin with "5a9ec1f5": 5a9ec1f5-1, 5a9ec1f5-2`,
		"6":        `not_found: session: nothing was said in a session "6"`,
	} {
		got, err := wholeSession(t.Context(), data, parley.LogQuery{Session: given})
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q is %s, want %s", given, got, want)
		}
	}
}
