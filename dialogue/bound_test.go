package dialogue_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/parley-agents/parley/dialogue"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
)

func TestAThousandExchangesAtOnce(t *testing.T) {
	for _, order := range []string{"named, in reverse", "not named"} {
		t.Run(order, func(t *testing.T) {
			var client, server dialogue.State
			for i := range 1000 {
				m := dialogue.Move{Protocol: llm, Message: "ContextPrompt", Role: "client", ID: fmt.Sprint(i), At: start}
				apply(t, &client, own(m))
				apply(t, &server, m)
			}
			for i := range 1000 {
				m := dialogue.Move{Protocol: llm, Message: "Response", Role: "llm", ID: fmt.Sprint("r", i), At: after(1)}
				asked := fmt.Sprint(i)
				if order != "not named" {
					asked = fmt.Sprint(999 - i)
					m.ReplyTo = asked
				}
				want := fmt.Sprintf("answers %s, ends %s, as answered", asked, asked)
				if sent, got := apply(t, &server, own(m)), apply(t, &client, m); sent != want || got != want {
					t.Fatalf("reply %d: %s at the sender, %s at the receiver, want %s", i, sent, got, want)
				}
			}
			if !client.Empty() || !server.Empty() {
				t.Errorf("left: %.200s and %.200s", client.Encode(), server.Encode())
			}
		})
	}
}

// Each side has its own share, so a peer that floods a dialogue stops only itself.
func TestFloodStopsOnlyItself(t *testing.T) {
	var s dialogue.State
	for i := range 1000 {
		apply(t, &s, dialogue.Move{Protocol: fipa, Message: "cfp", ID: fmt.Sprint(i), At: start})
	}
	before := s.Encode()

	_, err := s.Apply(dialogue.Move{Protocol: fipa, Message: "cfp", ID: "one more", At: start})

	if fault.CodeOf(err) != fault.TooLarge || !bytes.Equal(s.Encode(), before) {
		t.Errorf("got %v, want too_large and no change", err)
	}
	if got := apply(t, &s, dialogue.Move{Protocol: fipa, Message: "cfp", Own: true, ID: "ours", At: start}); got != "opens ours" {
		t.Errorf("our own: %s", got)
	}
	if got := apply(t, &s, dialogue.Move{Protocol: chat, Message: "ChatMessage", ID: "chat", At: start}); got != "opens chat, ends chat" {
		t.Errorf("what is not kept needs no room: %s", got)
	}
	if got := apply(t, &s, dialogue.Move{Protocol: fipa, Message: "decline", Own: true, ID: "no", ReplyTo: "0", At: start}); got != "answers 0, ends 0, as declined_cfp" {
		t.Errorf("answering: %s", got)
	}
	if got := apply(t, &s, dialogue.Move{Protocol: fipa, Message: "cfp", ID: "one more", At: start}); got != "opens one more" {
		t.Errorf("there is room again: %s", got)
	}
}

func TestFullStateForgetsWhatRestsOrIsLate(t *testing.T) {
	s := dialogue.State{Limit: 3}
	apply(t, &s, dialogue.Move{Protocol: fipa, Message: "cfp", Own: true, ID: "waits", At: start})
	apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", Own: true, ID: "late", At: start})
	apply(t, &s, dialogue.Move{Protocol: work, Message: "job", Own: true, ID: "rests", At: start})
	apply(t, &s, dialogue.Move{Protocol: work, Message: "progress", ID: "half", ReplyTo: "rests", At: start})
	var forgotten []string
	for _, m := range []dialogue.Move{
		{ID: "1", At: after(1)},
		{ID: "2", At: after(200)},
		{ID: "3", At: after(200)},
	} {
		m.Protocol, m.Message, m.Own = fipa, "cfp", true
		v, err := s.Apply(m)
		forgotten = append(forgotten, v.Forgotten+string(fault.CodeOf(err)))
	}

	if want := []string{"rests", "late", "too_large"}; fmt.Sprint(forgotten) != fmt.Sprint(want) {
		t.Errorf("forgotten: %q, want %q", forgotten, want)
	}
}

func TestOldestIsForgottenFirst(t *testing.T) {
	s := dialogue.State{Limit: 3}
	for _, id := range []string{"a", "b", "c"} {
		apply(t, &s, dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: id, At: start})
	}

	v, err := s.Apply(dialogue.Move{Protocol: llm, Message: "ContextPrompt", ID: "d", At: after(120)})

	if err != nil || v.Forgotten != "a" || s.Open()[0].ID != "b" {
		t.Errorf("forgotten: %q (%v), oldest: %+v", v.Forgotten, err, s.Open()[0])
	}
}

// An agent that is known by its handlers alone says nothing about answers that
// must come: its unanswered messages make room for new ones.
func TestUnansweredMessagesWithoutRulesMakeRoom(t *testing.T) {
	s := dialogue.State{Limit: 10}
	for i := range 1000 {
		got := apply(t, &s, dialogue.Move{Protocol: greeting, Message: "Greet", ID: fmt.Sprint(i), At: start})
		if want := fmt.Sprint("opens ", i); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}

	if n := len(s.Open()); n != 10 {
		t.Errorf("%d are open, want 10", n)
	}
}

func TestFinishedExchangesLeaveNothing(t *testing.T) {
	for _, p := range []*spec.Protocol{llm, with(llm, func(p *spec.Protocol) { p.Dialogue = nil })} {
		var s dialogue.State
		var sizes []int
		for i := range 10_000 {
			question, answer := fmt.Sprintf("q%06d", i), fmt.Sprintf("a%06d", i)
			apply(t, &s, dialogue.Move{Protocol: p, Message: "ContextPrompt", ID: question, At: start})
			apply(t, &s, dialogue.Move{Protocol: p, Message: "Response", Own: true, ID: answer, ReplyTo: question, At: start})
			if i == 100 || i == 9999 {
				sizes = append(sizes, len(s.Encode()))
			}
		}
		if sizes[0] != sizes[1] || sizes[0] > 2000 {
			t.Errorf("%d bytes after 100 exchanges, %d after 10000", sizes[0], sizes[1])
		}
	}
}

// However long an exchange gets, its state does not grow.
func TestLongExchangeStaysSmall(t *testing.T) {
	var s dialogue.State
	apply(t, &s, dialogue.Move{Protocol: fipa, Message: "cfp", Own: true, ID: "0", At: start})
	for i := 1; i < 1000; i++ {
		m := dialogue.Move{Protocol: fipa, Message: "propose", Own: i%2 == 0, ID: fmt.Sprint(i), ReplyTo: fmt.Sprint(i - 1), At: start}
		if got := apply(t, &s, m); got != fmt.Sprint("answers ", i-1) {
			t.Fatalf("move %d: %s", i, got)
		}
	}

	if size := len(s.Encode()); size > 300 {
		t.Errorf("the state has %d bytes: %s", size, s.Encode())
	}
}

func BenchmarkApply(b *testing.B) {
	for _, finished := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("finished=%d", finished), func(b *testing.B) {
			var s dialogue.State
			for i := range finished {
				roundTrip(b, &s, i)
			}
			b.ReportAllocs()
			i := finished
			for b.Loop() {
				roundTrip(b, &s, i)
				i++
			}
		})
	}
	b.Run("open=1000", func(b *testing.B) {
		var s dialogue.State
		for i := range 999 {
			s.Apply(dialogue.Move{Protocol: fipa, Message: "cfp", Role: "buyer", ID: fmt.Sprint("open ", i), At: start})
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			roundTrip(b, &s, i)
			i++
		}
	})
}

// roundTrip is a question and its answer.
func roundTrip(b *testing.B, s *dialogue.State, i int) {
	at := start.Add(time.Duration(i) * time.Second)
	question, answer := fmt.Sprint("q", i), fmt.Sprint("a", i)
	_, err := s.Apply(dialogue.Move{Protocol: llm, Message: "ContextPrompt", Role: "client", ID: question, At: at})
	if err == nil {
		_, err = s.Apply(dialogue.Move{Protocol: llm, Message: "Response", Role: "llm", Own: true, ID: answer, ReplyTo: question, At: at})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkStored(b *testing.B) {
	for _, open := range []int{1, 1000} {
		var s dialogue.State
		for i := range open {
			s.Apply(dialogue.Move{Protocol: llm, Message: "ContextPrompt", Role: "client", ID: fmt.Sprint(i), At: start})
		}
		b.Run(fmt.Sprintf("encode/open=%d", open), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Encode()
			}
			b.ReportMetric(float64(len(s.Encode())), "bytes")
		})
		b.Run(fmt.Sprintf("decode/open=%d", open), func(b *testing.B) {
			data := s.Encode()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := dialogue.Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
