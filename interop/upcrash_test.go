package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/run"
)

// newCounter is a model's server that takes its time. What it says is known, so
// that a part of it can be told from the whole.
func newCounter(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		question := asked.Messages[len(asked.Messages)-1].Content
		say := func(piece string) {
			text, _ := json.Marshal(piece)
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(25 * time.Millisecond)
		}
		say(question)
		for i := range counted {
			say(fmt.Sprint(" ", i))
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

const counted = 20

func countedAnswer(question string) string {
	for i := range counted {
		question += fmt.Sprint(" ", i)
	}
	return question
}

// A talk is a session in which one question is asked after the other.
type talk struct {
	session string
	streams bool
	asked   int
	open    bool   // a stream is
	pieces  string // of it
	cut     int    // streams that a crash has ended
	wrong   []string
}

func (k *talk) question() string { return fmt.Sprintf("question %d of %s", k.asked, k.session) }

// hear takes a message and reports whether the question is answered.
func (k *talk) hear(m chat.ChatMessage) (answered bool) {
	for _, content := range m.Content {
		switch content := content.(type) {
		case chat.StartStreamContent:
			if k.open || !k.streams {
				k.wrong = append(k.wrong, "a stream begins")
			}
			k.open, k.pieces = true, ""
		case chat.TextContent:
			if k.open {
				k.pieces += content.Text
				continue
			}
			answered = k.check(content.Text) || answered
		case chat.EndStreamContent:
			if !k.open {
				k.wrong = append(k.wrong, "a stream ends that is none")
			}
			k.open = false
			if k.pieces != countedAnswer(k.question()) {
				k.cut++ // the whole follows
				continue
			}
			answered = true
		}
	}
	return answered
}

func (k *talk) check(text string) bool {
	if text != countedAnswer(k.question()) {
		k.wrong = append(k.wrong, fmt.Sprintf("%q after %q", text, k.question()))
		return false
	}
	return true
}

// parley up is killed again and again while it answers. In the end each question
// has been answered once: none was lost, none was answered twice. A stream that
// was cut is ended, and the whole follows.
func TestKillingParleyUpLosesAndDoublesNothing(t *testing.T) {
	const sessions, questions = 8, 4
	kills := count(6, 60)
	random := rand.New(rand.NewPCG(20261115, 5))
	binary, model := build(t, "cmd/parley"), newCounter(t)
	asker := parley.NewAgent("asker", &parley.AgentOptions{Key: fixedKey(t, "asker")})

	var mu sync.Mutex
	talks := map[string]*talk{}
	finished := make(chan struct{}, sessions)
	total := questions * max(1, kills/6)
	ask := func(k *talk) chat.ChatMessage {
		m := chat.Text(k.question())
		if k.streams && k.asked == 0 {
			m.Content = append(m.Content, chat.MetadataContent{Metadata: map[string]string{chat.WantsStream: "true"}})
		}
		return m
	}
	parley.On(asker, func(_ context.Context, turn *parley.Turn, m chat.ChatMessage) error {
		mu.Lock()
		defer mu.Unlock()
		k := talks[turn.Session]
		if !k.hear(m) {
			return nil
		}
		if k.asked++; k.asked == total {
			finished <- struct{}{}
		}
		if k.asked >= total {
			return nil
		}
		return turn.Send(turn.Sender, ask(k))
	}, parley.Confirm(chat.Acknowledge))
	parley.On(asker, func(context.Context, *parley.Turn, chat.ChatAcknowledgement) error { return nil })

	listen := fmt.Sprint("127.0.0.1:", freePort(t))
	url := startNodeKnowing(t, map[identity.Address]string{assistantAddress: "http://" + listen + "/submit"}, asker)
	up := &killable{t: t, binary: binary, data: t.TempDir(), env: append(os.Environ(), "AGENT_SEED=openai-test-agent", "OPENAI_BASE_URL="+model),
		args: []string{"up", "--listen", listen, "--resolve", string(asker.Address()) + "=" + url + "/submit"}}
	up.start()
	for i := range sessions {
		k := &talk{session: uuid.NewString(), streams: i%2 == 0}
		mu.Lock()
		talks[k.session] = k
		mu.Unlock()
		if _, err := asker.SendIn(t.Context(), k.session, assistantAddress, ask(k)); err != nil {
			t.Fatal(err)
		}
	}
	for range kills {
		time.Sleep(time.Duration(100+random.IntN(500)) * time.Millisecond)
		up.kill()
		up.start()
	}
	for n, deadline := 0, time.After(2*time.Minute); n < sessions; n++ {
		select {
		case <-finished:
		case <-deadline:
			t.Error("not all conversations come to an end")
			n = sessions
		}
	}
	time.Sleep(time.Second) // for what must not come
	mu.Lock()
	defer mu.Unlock()
	cut := 0
	for _, k := range talks {
		cut += k.cut
		if k.asked != total || len(k.wrong) > 0 || k.open {
			t.Errorf("session %s (streams: %v): %d of %d answered, open %v; wrong: %q", k.session, k.streams, k.asked, total, k.open, k.wrong)
		}
	}
	t.Logf("%d kills, %d streams were cut", kills, cut)
	if cut == 0 {
		t.Error("no stream was cut: the kills show too little")
	}
}

// startNodeKnowing is startNode for agents that know where others are.
func startNodeKnowing(t *testing.T, known map[identity.Address]string, agents ...*parley.Agent) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	started, done := make(chan string, 1), make(chan error, 1)
	opts := &run.Options{Data: t.TempDir(), Listen: "127.0.0.1:0", Resolve: known, Started: func(url string) { started <- url }}
	go func() { done <- run.Run(ctx, opts, agents...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the node: %v", err)
		}
	})
	select {
	case url := <-started:
		return url
	case <-time.After(30 * time.Second):
		t.Fatal("the node does not start")
		return ""
	}
}

// A killable is a process that does not end as it should.
type killable struct {
	t            *testing.T
	binary, data string
	env, args    []string
	cmd          *exec.Cmd
}

func (k *killable) start() {
	k.t.Helper()
	control := filepath.Join(k.data, "control.json")
	_ = os.Remove(control) // a killed one leaves it
	cmd := exec.Command(k.binary, append(k.args, "--data", k.data)...)
	cmd.Env, cmd.Stderr = k.env, os.Stderr
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.cmd = cmd
	k.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 600 {
		if _, err := os.Stat(control); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	k.t.Fatal("parley up does not start")
}

func (k *killable) kill() {
	k.t.Helper()
	if err := k.cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = k.cmd.Wait() // killed
}
