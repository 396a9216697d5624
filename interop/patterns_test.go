package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/wire/uagents"
)

// The ways in which agents use each other, each with the real library on the
// other side.

// runClient runs python/client.py and returns what it got, by question.
func runClient[R any](t *testing.T, args ...string) map[string]R {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), append([]string{"python/client.py"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]R
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}

type (
	Order struct {
		Item  string `json:"item"`
		Count int    `json:"count" parley:"default=1"`
	}
	Receipt struct {
		ID    uuid.UUID `json:"id"`
		At    time.Time `json:"at"`
		Lines []string  `json:"lines"`
	}
	httpAnswer struct {
		Status int
		Body   any
	}
)

func TestPythonCallsTheRoutesOfAGoAgent(t *testing.T) {
	shop := parley.NewAgent("shop", nil)
	receipt := Receipt{ID: uuid.MustParse("6b1f3a58-6ad3-4f0c-9a53-0c5b6f5f8a10"), At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	parley.HandleGet(shop, "/latest", func(context.Context, *parley.Turn) (Receipt, error) {
		r := receipt
		r.Lines = []string{"grüße"}
		return r, nil
	})
	parley.HandlePost(shop, "/order", func(_ context.Context, _ *parley.Turn, in Order) (Receipt, error) {
		r := receipt
		r.Lines = strings.Split(strings.Repeat(in.Item+" ", in.Count), " ")[:in.Count]
		return r, nil
	})
	url := startNode(t, shop)

	got := runClient[httpAnswer](t, "rest", url)

	answer := func(lines ...any) httpAnswer {
		return httpAnswer{200, map[string]any{"id": receipt.ID.String(), "at": "2026-01-02T03:04:05+00:00", "lines": lines}}
	}
	for name, want := range map[string]httpAnswer{
		"get":       answer("grüße"),
		"post":      answer("pear", "pear", "pear"),
		"default":   answer("pear"),
		"missing":   {400, map[string]any{"loc": []any{"item"}, "msg": "field required", "type": "value_error.missing"}},
		"no body":   {400, map[string]any{"error": "No request body found"}},
		"elsewhere": {404, map[string]any{"error": "not found"}},
	} {
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// call makes an HTTP request with a body made and an answer read by the codecs
// that messages have.
func call[Out any](t *testing.T, method, url string, in any) Out {
	t.Helper()
	var body []byte
	if in != nil {
		body = marshal(t, in)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s (%v)", method, url, response.StatusCode, text, err)
	}
	var out Out
	if err := codecOf(t, reflect.TypeFor[Out]()).Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func codecOf(t *testing.T, typ reflect.Type) *uagents.Codec {
	t.Helper()
	model, err := spec.FromGoType(typ)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := uagents.NewCodec(model, nil)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := codecOf(t, reflect.TypeOf(v)).Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type (
	Status struct {
		Name    string           `json:"name"`
		Address identity.Address `json:"address"`
		Calls   int              `json:"calls"`
	}
	Greeting struct {
		Name  string `json:"name"`
		Times int    `json:"times" parley:"default=1"`
	}
	Greeted struct {
		Text  string `json:"text"`
		Calls int    `json:"calls"`
	}
)

func TestGoCallsTheRoutesOfAPythonAgent(t *testing.T) {
	url := startNode(t, parley.NewAgent("directory", nil))
	p := startPeer(t, "rest_agent.py", url)
	address := p.started().Address
	waitRegistered(t, url, address)
	base := "http://127.0.0.1:" + strconv.Itoa(p.port)

	if got, want := call[Status](t, http.MethodGet, base+"/status", nil), (Status{"rest-agent", address, 1}); got != want {
		t.Errorf("GET /status = %+v, want %+v", got, want)
	}
	got := call[Greeted](t, http.MethodPost, base+"/greet", Greeting{"Grüße 🤖", 2})
	if want := (Greeted{"Hello Grüße 🤖! Hello Grüße 🤖!", 2}); got != want {
		t.Errorf("POST /greet = %+v, want %+v", got, want)
	}
}

type (
	ContextPrompt struct {
		Context string `json:"context"`
		Text    string `json:"text"`
	}
	Response struct {
		Text string `json:"text"`
	}
	StructuredOutputPrompt struct {
		Prompt       string         `json:"prompt"`
		OutputSchema map[string]any `json:"output_schema"`
	}
	StructuredOutputResponse struct {
		Output map[string]any `json:"output"`
	}
)

// The unmodified client program sends three prompts in every period; each is a
// context, and so a session, of its own. Go answers in the place of its AI agent.
func TestAPythonAgentSendsAtIntervals(t *testing.T) {
	sessions := make(chan string, 1000)
	ai := parley.NewAgent("ai", nil)
	parley.Handle(ai, func(_ context.Context, turn *parley.Turn, in ContextPrompt) (Response, error) {
		sessions <- turn.Session
		return Response{"repaired: " + in.Context}, nil
	})
	parley.Handle(ai, func(_ context.Context, _ *parley.Turn, in StructuredOutputPrompt) (StructuredOutputResponse, error) {
		if in.OutputSchema["title"] != "Location" {
			return StructuredOutputResponse{}, parley.Errorf(fault.Malformed, "the schema is %v", in.OutputSchema)
		}
		return StructuredOutputResponse{map[string]any{"city": "Lisboa", "country": "Portugal", "temperature": 21.5}}, nil
	})
	parley.On(ai, func(_ context.Context, turn *parley.Turn, in chat.ChatMessage) error {
		if err := turn.Send(turn.Sender, chat.Acknowledge(in)); err != nil {
			return err
		}
		return turn.Send(turn.Sender, chat.Text("the Tagus"))
	})
	parley.On(ai, func(context.Context, *parley.Turn, chat.ChatAcknowledgement) error { return nil })
	url := startNode(t, ai)

	client := startPeer(t, "client.py", url, "PEER_ADDRESS="+string(ai.Address()), "PERIOD=0.3", "CHAT=core")

	const periods = 3
	texts := map[string]string{}
	for counts := map[string]int{}; counts["Response"] < periods || counts["StructuredOutputResponse"] < periods || counts["ChatMessage"] < periods || counts["ChatAcknowledgement"] < periods; {
		e := client.wait("answers of all kinds", func(e event) bool { return e.Event == "received" || e.Event == "ack" || e.Event == "error" })
		if e.Event == "error" {
			t.Fatalf("the client complains: %+v", e)
		}
		counts[e.Model]++
		texts[e.Model] = e.Text
		if e.Model == "Response" && e.Body["text"] != "repaired: Name the syntax error in this code and repair it" {
			t.Errorf("the answer is %v", e.Body)
		}
	}
	if texts["ChatMessage"] != "the Tagus" {
		t.Errorf("the chat answer is %q", texts["ChatMessage"])
	}
	seen := map[string]bool{}
	for range periods {
		seen[<-sessions] = true
	}
	if len(seen) != periods {
		t.Errorf("%d sessions in %d periods", len(seen), periods)
	}
}

func TestAGoAgentSendsAtIntervals(t *testing.T) {
	type echo struct {
		EchoResponse
		session string
	}
	got := make(chan echo, 100)
	teacher := make(chan identity.Address, 1)
	ticker := parley.NewAgent("ticker", nil)
	parley.On(ticker, func(_ context.Context, turn *parley.Turn, in EchoResponse) error {
		got <- echo{in, turn.Session}
		return nil
	})
	var peer identity.Address
	ticker.Every(50*time.Millisecond, func(ctx context.Context, turn *parley.Turn) error {
		if peer == "" {
			select {
			case peer = <-teacher:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		n, _, err := parley.Load[int](ctx, turn, "n")
		if err != nil {
			return err
		}
		if err := turn.Send(peer, EchoRequest{Text: "tick", Count: n}); err != nil {
			return err
		}
		return parley.Save(turn, "n", n+1)
	})
	url := startNode(t, ticker)
	address := startPeer(t, "rest_agent.py", url).started().Address
	waitRegistered(t, url, address)
	teacher <- address

	counts, sessions := map[int]bool{}, map[string]bool{}
	for range 5 {
		select {
		case e := <-got:
			counts[e.Count], sessions[e.session] = true, true
		case <-time.After(30 * time.Second):
			t.Fatalf("after %d answers nothing more comes", len(counts))
		}
	}
	if len(counts) != 5 || len(sessions) != 5 {
		t.Errorf("five answers with %d counts in %d sessions, want each its own", len(counts), len(sessions))
	}
}

// choosy answers Ping, refuses Note with a reason, and lets unsigned senders
// have only the first.
func choosy() *parley.Agent {
	a := pinger("choosy")
	parley.Handle(a, func(context.Context, *parley.Turn, Note) (Pong, error) {
		return Pong{}, parley.Errorf(fault.Forbidden, "no notes today")
	})
	return a
}

// Note is a message that choosy agents refuse.
type Note struct {
	Text string `json:"text"`
}

// The library's send_and_receive, its answer over a connection of its own
// (async) and on the connection of the question (sync).
func TestPythonSendsAndReceives(t *testing.T) {
	peers, err := filepath.Abs("peers")
	if err != nil {
		t.Fatal(err)
	}
	a := choosy()
	url := startNode(t, a)
	p := startPeer(t, "../python/asker.py", url, "PEER_ADDRESS="+string(a.Address()), "PYTHONPATH="+peers)
	const (
		delivered = "Message successfully delivered via HTTP"
		synced    = "Sync message successfully delivered via HTTP"
	)
	for _, want := range []event{
		{Name: "async", Model: "Pong", Body: map[string]any{"text": "pong:a"}, Text: delivered},
		{Name: "sync", Model: "Pong", Body: map[string]any{"text": "pong:s"}, Text: synced},
		{Name: "async refused", Model: "ErrorMessage", Body: map[string]any{"error": "no notes today"}, Text: delivered},
		{Name: "sync refused", Model: "ErrorMessage", Body: map[string]any{"error": "no notes today"}, Text: synced},
	} {
		want.Event, want.Status = "answer", "delivered"
		got := p.wait("answer", func(e event) bool { return e.Event == "answer" })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

// send_sync_message of the library, signed and from a user address. The library
// verifies what it gets, because Parley signs its replies.
func TestPythonQueriesOnAConnection(t *testing.T) {
	type answer struct {
		Kind     string
		Body     map[string]string
		Verified bool
	}
	a := choosy()
	url := startNode(t, a)

	got := runClient[answer](t, "query", string(a.Address()), url+"/submit")

	pong := map[string]string{"text": "pong:x"}
	if want := (answer{Kind: "Pong", Body: pong}); !reflect.DeepEqual(got["signed"], want) {
		t.Errorf("signed: %+v, want %+v", got["signed"], want)
	}
	if want := (answer{Kind: "envelope", Body: pong, Verified: true}); !reflect.DeepEqual(got["user"], want) {
		t.Errorf("user: %+v, want %+v", got["user"], want)
	}
	if want := (answer{Kind: "text", Body: map[string]string{"error": "no notes today"}}); !reflect.DeepEqual(got["signed, to a handler for signed ones"], want) {
		t.Errorf("signed, to a handler for signed ones: %+v, want %+v", got["signed, to a handler for signed ones"], want)
	}
	const refusal = "Message must be sent from verified agent address"
	want := answer{Kind: "envelope", Body: map[string]string{"error": refusal}, Verified: true}
	if got := got["user, to a handler for signed ones"]; !reflect.DeepEqual(got, want) {
		t.Errorf("user, to a handler for signed ones: %+v, want %+v", got, want)
	}
}

// Queries of Go on a connection, without a node: a signed one is answered, one
// of a user address is refused by a handler that wants a signature.
func TestGoQueriesAPythonAgentOnAConnection(t *testing.T) {
	url := startNode(t, parley.NewAgent("directory", nil))
	p := startPeer(t, "rest_agent.py", url)
	address := p.started().Address
	waitRegistered(t, url, address)
	key := fixedKey(t, "go client")
	user, err := identity.NewUserAddress()
	if err != nil {
		t.Fatal(err)
	}
	client, err := parleyhttp.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		sender identity.Address
		want   any
	}{
		{"signed", key.Address(), EchoResponse{"hi", 2, "rest-agent"}},
		{"user", user, parley.ErrorMessage{Error: "Message must be sent from verified agent address"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &uagents.Envelope{
				Version: 1, Sender: c.sender, Target: address, Session: uuid.New(),
				SchemaDigest: digestOfGo(t, EchoRequest{}), Expires: new(uint64(time.Now().Add(20 * time.Second).Unix())),
			}
			e.SetPayload(marshal(t, EchoRequest{"hi", 2}))
			if c.sender == key.Address() {
				e.Sign(key)
			}

			frame, err := client.Send(t.Context(), "http://127.0.0.1:"+strconv.Itoa(p.port)+"/submit", parley.Frame{Body: e.Encode(), Sync: true})
			if err != nil {
				t.Fatal(err)
			}

			reply, err := uagents.Decode(frame.Body)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Sender != address || reply.Target != c.sender || reply.Session != e.Session || reply.SchemaDigest != digestOfGo(t, c.want) {
				t.Errorf("the reply is %s", frame.Body)
			}
			payload, err := reply.DecodePayload()
			if err != nil {
				t.Fatal(err)
			}
			if want := marshal(t, c.want); string(payload) != string(want) {
				t.Errorf("the reply says %s, want %s", payload, want)
			}
		})
	}
}

func digestOfGo(t *testing.T, v any) string {
	t.Helper()
	model, err := spec.FromGoType(reflect.TypeOf(v))
	if err != nil {
		t.Fatal(err)
	}
	d, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
