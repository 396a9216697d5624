package dialogue_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
)

// everything is a state that has one of each thing there is.
func everything(t testing.TB) *dialogue.State {
	s := new(dialogue.State)
	for _, m := range []dialogue.Move{
		{Protocol: fipa, Message: "cfp", Role: "buyer", ID: "1 <&\"\u2028>"},
		{Protocol: fipa, Message: "propose", Role: "seller", Own: true, ID: "2", ReplyTo: "1 <&\"\u2028>"},
		{Protocol: llm, Message: "ContextPrompt", Role: "client", Own: true, ID: "3"},
		{Protocol: offer, Message: "offer", Role: "seller", ID: "4"},
		{Protocol: work, Message: "job", Role: "client", ID: "5"},
		{Protocol: work, Message: "progress", Role: "worker", Own: true, ID: "6", ReplyTo: "5"},
		{Protocol: chat, Message: "ChatMessage", ID: "7"},
		{Protocol: messaging, Message: "request", Own: true, ID: "8"},
		{Protocol: payment, Message: "RequestPayment", ID: "9"},
		{Protocol: payment, Message: "CommitPayment", Own: true, ID: "10", ReplyTo: "9"},
	} {
		m.At = start
		if _, err := s.Apply(m); err != nil {
			t.Fatal(err)
		}
	}
	s.Expire(after(15)) // the offer's answer becomes due
	return s
}

// The fields of the stored form are a promise to the files of older programs.
func TestEncoding(t *testing.T) {
	s := dialogue.State{OneExchange: true}
	apply(t, &s, dialogue.Move{Protocol: offer, Message: "offer", Role: "seller", Own: true, ID: "1", At: start})
	waiting := string(s.Encode())
	apply(t, &s, dialogue.Move{Protocol: offer, Message: "leave", Role: "buyer", ID: "2", ReplyTo: "1", At: after(1)})
	closed := string(s.Encode())

	const wantWaiting = `{"v":1,"only":true,"open":[{"id":"1","p":"Offer:1","own":true,"roles":["seller","buyer"],"last":"offer","by":true,` +
		`"due":1777896010000000,"within":10000000,"end":1777896060000000,"else":"leave","to":"timeout","endto":"timeout"}]}`
	if waiting != wantWaiting {
		t.Errorf("got  %s\nwant %s", waiting, wantWaiting)
	}
	if want := `{"v":1,"only":true,"ended":{"p":"Offer:1","last":"leave","to":"left"}}`; closed != want {
		t.Errorf("got  %s\nwant %s", closed, want)
	}
	if got := string(new(dialogue.State).Encode()); got != `{"v":1}` {
		t.Errorf("a new dialogue: %s", got)
	}
}

func TestDecodedStateIsTheSame(t *testing.T) {
	s := everything(t)

	again, err := dialogue.Decode(s.Encode())
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(again.Encode(), s.Encode()) {
		t.Errorf("got  %s\nwant %s", again.Encode(), s.Encode())
	}
	if !again.Next().Equal(s.Next()) || fmt.Sprint(again.Open()) != fmt.Sprint(s.Open()) {
		t.Errorf("next %v, open %v\nwant %v, %v", again.Next(), again.Open(), s.Next(), s.Open())
	}
	if got, want := again.Expire(after(1000)), s.Expire(after(1000)); fmt.Sprint(got) != fmt.Sprint(want) || len(got) < 3 {
		t.Errorf("expired %v\nwant %v", got, want)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	s := everything(t)
	before := s.Encode()

	c := s.Clone()
	c.Expire(after(1000))
	apply(t, c, dialogue.Move{Protocol: fipa, Message: "accept", Role: "buyer", ID: "x", ReplyTo: "2", At: start})

	if !bytes.Equal(s.Encode(), before) || bytes.Equal(c.Encode(), before) {
		t.Errorf("the original is %s\nwas %s\nthe clone is %s", s.Encode(), before, c.Encode())
	}
}

func TestClonesGoTheirOwnWays(t *testing.T) {
	a := everything(t)
	for i := 20; i < 25; i++ { // until the list of recent messages has room to spare
		apply(t, a, dialogue.Move{Protocol: fipa, Message: "propose", Own: i%2 == 1, ID: fmt.Sprint(i), ReplyTo: "2", At: start})
	}
	b := a.Clone()
	for _, s := range []*dialogue.State{a, b} {
		id := map[*dialogue.State]string{a: "in a", b: "in b"}[s]
		apply(t, s, dialogue.Move{Protocol: fipa, Message: "propose", Own: true, ID: id, ReplyTo: "24", At: start})
	}

	if got := a.Encode(); !bytes.Contains(got, []byte("in a")) || bytes.Contains(got, []byte("in b")) {
		t.Errorf("got %s", got)
	}
}

func TestDamagedStatesAreRefused(t *testing.T) {
	for _, tc := range []struct {
		data string
		want fault.Code
	}{
		{"", ""},
		{`{"v":1}`, ""},
		{`{"v":2}`, fault.Unsupported},
		{`{"v":2,"open":"in another form"}`, fault.Unsupported},
		{`{}`, fault.Unsupported},
		{`{"v":"1"}`, fault.Malformed},
		{`{"v":1`, fault.Malformed},
		{`{"v":1}{}`, fault.Malformed},
		{`{"v":1,"later":true}`, fault.Malformed},
		{`null`, fault.Unsupported},
		{`{"v":1,"open":[{"id":"","p":"P:1","last":"m"}]}`, fault.Malformed},
		{`{"v":1,"open":[{"id":"1","p":"P:1","last":""}]}`, fault.Malformed},
		{`{"v":1,"open":[{"id":"1","p":"P:1","last":"m"},{"id":"1","p":"P:1","last":"m"}]}`, fault.Malformed},
		{`{"v":1,"open":[{"id":"1","p":"P:1","last":"m","else":"n"}]}`, fault.Malformed},
		{`{"v":1,"open":[{"id":"1","p":"P:1","last":"m","due":1,"owed":true}]}`, fault.Malformed},
		{`{"v":1,"open":[{"id":"1","p":"P:1","last":"m","ids":["2","3","4","5","6","7","8","9","10"]}]}`, fault.Malformed},
	} {
		_, err := dialogue.Decode([]byte(tc.data))
		if got := fault.CodeOf(err); got != tc.want {
			t.Errorf("%s: %v, want %q", tc.data, err, tc.want)
		}
	}
}

// FuzzDecode checks that no bytes crash the reader or what is done with the state
// afterwards, and that what it reads is written in one form.
func FuzzDecode(f *testing.F) {
	f.Add(new(dialogue.State).Encode(), uint64(1))
	f.Add(everything(f).Encode(), uint64(2))
	one := dialogue.State{OneExchange: true}
	one.Apply(dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "1", At: start})
	f.Add(one.Encode(), uint64(3))
	one.Expire(after(1000))
	f.Add(one.Encode(), uint64(4))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		s, err := dialogue.Decode(data)
		if err != nil {
			return
		}
		text := s.Encode()
		if again := restored(t, s); !bytes.Equal(again.Encode(), text) {
			t.Fatalf("%s is written %s, then %s", data, text, again.Encode())
		}
		s.Limit = 20
		r := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			m := anyMove(r)
			before := s.Encode()
			judged, errJudged := s.Judge(m)
			applied, errApplied := s.Apply(m)
			if judged != applied || fmt.Sprint(errJudged) != fmt.Sprint(errApplied) {
				t.Fatalf("judged %+v %v, applied %+v %v", judged, errJudged, applied, errApplied)
			}
			if errApplied != nil && !bytes.Equal(s.Encode(), before) {
				t.Fatalf("%+v was refused and changed %s\nto %s", m, before, s.Encode())
			}
			if next := s.Next(); !next.IsZero() && r.IntN(5) == 0 && len(s.Expire(next)) == 0 {
				t.Fatalf("Next is %v and nothing happens then: %s", next, s.Encode())
			}
			s = restored(t, s)
		}
	})
}

// anyMove returns a move of any of the protocols here, mostly about what the
// states of the seeds hold.
func anyMove(r *rand.Rand) dialogue.Move {
	p := protocols[r.IntN(len(protocols))]
	m := dialogue.Move{
		Protocol: p, Message: p.Messages[r.IntN(len(p.Messages))].Name, Own: r.IntN(2) == 0,
		ID: fmt.Sprint(r.IntN(200)), At: after(float64(r.IntN(100))), AlwaysAllowed: r.IntN(10) == 0,
	}
	if r.IntN(2) == 0 {
		m.ReplyTo = fmt.Sprint(r.IntN(12))
	}
	if n := len(p.Roles); n > 0 && r.IntN(2) == 0 {
		m.Role = p.Roles[r.IntN(n)].Name
	}
	if m.AlwaysAllowed && r.IntN(2) == 0 {
		m.Protocol = nil
	}
	return m
}
