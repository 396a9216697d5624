package parley_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/transport/parleyhttp"
	"github.com/parley-agents/parley/wire/uagents"
)

type (
	Open struct {
		N int `json:"n"`
	}
	Silent struct {
		A *string `json:"a"`
	}
	Slow struct {
		Seconds float64 `json:"seconds"`
	}
	RestIn struct {
		Name  string `json:"name"`
		Count int    `json:"count" parley:"default=1"`
	}
	RestOut struct {
		Greeting string `json:"greeting"`
		Total    int    `json:"total"`
	}
	RestTime struct {
		At time.Time `json:"at"`
	}
)

// transcriptAgents are the agents that the transcripts were recorded from, in Go.
func transcriptAgents(t *testing.T) (alpha, beta *parley.Agent) {
	alpha = parley.NewAgent("alpha", &parley.AgentOptions{Key: key(t, "http agent seed"), Lax: true})
	parley.Handle(alpha, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong{"pong:" + in.Text}, nil })
	parley.Handle(alpha, func(_ context.Context, _ *parley.Turn, in Open) (Pong, error) {
		return Pong{fmt.Sprintf("open:%d", in.N)}, nil
	}, parley.AllowUnsigned())
	parley.On(alpha, func(context.Context, *parley.Turn, Silent) error { return nil })
	parley.Handle(alpha, func(_ context.Context, _ *parley.Turn, in Slow) (Pong, error) {
		time.Sleep(time.Duration(in.Seconds * float64(time.Second)))
		return Pong{fmt.Sprintf("slow:%v", in.Seconds)}, nil
	})
	parley.HandleGet(alpha, "/rest/get", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{"hi", 3}, nil })
	parley.HandlePost(alpha, "/rest/post", func(_ context.Context, _ *parley.Turn, in RestIn) (RestOut, error) {
		return RestOut{"hello " + in.Name, in.Count}, nil
	})
	parley.HandleGet(alpha, "/rest/raise", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{}, errors.New("boom") })
	parley.HandleGet(alpha, "/rest/time", func(context.Context, *parley.Turn) (RestTime, error) {
		return RestTime{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, nil
	})
	beta = parley.NewAgent("beta", &parley.AgentOptions{Key: key(t, "http beta seed")})
	parley.HandleGet(beta, "/rest/get", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{"beta", 4}, nil })
	parley.On(beta, func(context.Context, *parley.Turn, Pong) error { return nil })
	return alpha, beta
}

// deliberate are the transcripts that Parley answers in another way, with the
// reason; the number is that of the fault that is promised away.
var deliberate = map[string]string{
	"valid async already expired (accepted)":    "U6: expired envelopes are refused",
	"sync expired in the past":                  "U6: expired envelopes are refused",
	"sync handler never replies, expires in 2s": "U6: recorded long ago, it has expired",
	"sync unknown schema, expires in 2s":        "U6: recorded long ago, it has expired",
	"sync after malformed payload":              "U6: recorded long ago, it has expired",
	"payload not base64 characters":             "U8: base64 has one spelling",
	"payload bad padding":                       "U21: 400 with the reason, not 500",
	"payload base64 of non-utf8":                "U8: the schema digest is no digest",
	"63-byte signature":                         "the text leaks Python internals; ours says what was expected",
	"negative expires":                          "the text leaks Python internals; refused as no envelope",
	"sync sender 'user' literal":                "U8: an address has a fixed form",
	"REST post invalid json":                    "the text leaks Python internals",
	"REST post two errors (last one reported)":  "the first error is reported",
	"REST response not matching":                "no such handler compiles in Go",
	"REST response None":                        "no such handler compiles in Go",
	"REST datetime in response":                 "U21: all types encode",
	"bureau REST single owner":                  "U21: all types encode",
	"agent_info":                                "the protocols of this agent lack the quota protocol",
	"agent_info from non-loopback":              "as above",
	"messages":                                  "times differ",
	"messages with X-Forwarded-For":             "times differ",
	"bureau messages alpha":                     "times differ",
	"bureau agent_info beta":                    "endpoints differ",
	"sync quota 1":                              "quotas come with their own package",
	"sync quota 2":                              "quotas come with their own package",
	"sync quota 3 exceeds 2 per minute":         "quotas come with their own package",
	"sync acl default False":                    "quotas come with their own package",
	"connect without body":                      "there is no Agentverse to connect to: 404",
	"connect missing fields":                    "there is no Agentverse to connect to: 404",
	"disconnect missing fields":                 "there is no Agentverse to connect to: 404",
	"connect from non-loopback":                 "there is no Agentverse to connect to: 404",
	"messages from non-loopback":                "recorded from another address",
}

type transcript struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Request struct {
		Method, Path string
		Headers      map[string]string
		Body         string
		BodyHex      *string `json:"body_hex"`
	} `json:"request"`
	Response struct {
		Status  int
		Headers [][2]string
		Body    string
	} `json:"response"`
	Seconds float64 `json:"seconds"`
}

// TestHTTPVectors replays what was recorded from the real library against Go
// agents with the same handlers: status, headers that matter and body.
func TestHTTPVectors(t *testing.T) {
	if os.Getenv(vectors.Env) != "" {
		t.Skip("the handlers here are those of the recorded agents; other records are replayed by transport/parleyhttp")
	}
	file := vectors.Load(t, "http.json")
	var cases []transcript
	if err := json.Unmarshal(file["cases"], &cases); err != nil {
		t.Fatal(err)
	}
	alpha, beta := transcriptAgents(t)
	single := serveTranscripts(t, alpha)
	alpha2, _ := transcriptAgents(t)
	bureau := serveTranscripts(t, alpha2, beta)
	equal, different := 0, 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			address := single
			if strings.HasPrefix(c.Name, "bureau") {
				address = bureau
			}
			status, headers, body := replay(t, address, &c)
			if reason, known := deliberate[c.Name]; known {
				if status == c.Response.Status && sameBody(body, c.Response.Body) {
					t.Errorf("answered as the peer does after all: remove the row (%s)", reason)
				}
				different++
				return
			}
			equal++
			if status != c.Response.Status || !sameBody(body, c.Response.Body) {
				t.Errorf("%d %s\nwant %d %s", status, body, c.Response.Status, c.Response.Body)
			}
			for _, h := range c.Response.Headers {
				switch name := strings.ToLower(h[0]); name {
				case "server", "transfer-encoding", "connection", "content-length":
				default:
					if got := headers.Get(name); got != h[1] {
						t.Errorf("header %s = %q, want %q", name, got, h[1])
					}
				}
			}
		})
	}
	t.Logf("%d transcripts answered alike, %d differently on purpose", equal, different)
}

func serveTranscripts(t *testing.T, agents ...*parley.Agent) (address string) {
	t.Helper()
	transport, err := parleyhttp.New(&parleyhttp.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Listen(); err != nil {
		t.Fatal(err)
	}
	n, err := parley.NewNode(&parley.NodeOptions{Store: memory.New(), Transports: []parley.Transport{transport}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add(agents...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for !n.Ready() {
		time.Sleep(time.Millisecond)
	}
	return strings.TrimPrefix(transport.URL(), "http://")
}

// replay sends the recorded bytes as they are.
func replay(t *testing.T, address string, c *transcript) (int, http.Header, string) {
	t.Helper()
	body := []byte(c.Request.Body)
	if c.Request.BodyHex != nil {
		var err error
		if body, err = hex.DecodeString(*c.Request.BodyHex); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\n", c.Request.Method, c.Request.Path)
	for name, value := range c.Request.Headers {
		if strings.EqualFold(name, "content-length") {
			value = fmt.Sprint(len(body))
		}
		fmt.Fprintf(conn, "%s: %s\r\n", name, value)
	}
	fmt.Fprintf(conn, "\r\n%s", body)
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: c.Request.Method})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// sameBody compares bodies; replies are envelopes, which Parley signs and the
// peer does not, so of those what they say is compared.
func sameBody(ours, theirs string) bool {
	if ours == theirs {
		return true
	}
	a, errA := uagents.Decode([]byte(ours))
	b, errB := uagents.Decode([]byte(theirs))
	if errA != nil || errB != nil {
		return false
	}
	x, errX := a.DecodePayload()
	y, errY := b.DecodePayload()
	return errX == nil && errY == nil && a.Sender == b.Sender && a.Target == b.Target && a.Session == b.Session &&
		a.SchemaDigest == b.SchemaDigest && string(x) == string(y)
}
