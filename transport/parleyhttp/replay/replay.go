// Package replay sends recorded requests to a server and compares its answers
// with those of the real peers.
//
// The records cover the whole server, from the transport to the handlers, so the
// tests of both use them. [Deliberate] lists where Parley answers otherwise on
// purpose, and how.
//
// Requests went to one agent, or in mode "bureau" to two behind one server. The
// agent answers
//
//	Ping{text}, Open{n} (also unsigned), Slow{seconds}, Limited{q}   with Pong{text}
//	Silent{a}                                                        with nothing
//	GET /rest/get            {"greeting": "hi", "total": 3}; the second agent: "beta", 4
//	POST /rest/post          {"name": str, "count": int = 1}: {"greeting": "hello " + name, "total": count}
//	GET /rest/bad, /rest/none, /rest/raise   a wrong value, none, an exception
//	GET /rest/time           {"at": a time}
//
// The last two records of the single agent show how it stops handling messages
// after one that does not fit its schema.
package replay

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/internal/vectors"
)

// A File is a set of records.
type File struct {
	Agent, Beta  string // the agents' addresses; Beta is there in mode "bureau" only
	Sender, User string // who asks

	AgentSeed, SenderSeed, BetaSeed string

	Cases []Case
}

// A Case is a request and what the peer answered.
type Case struct {
	Name     string
	Note     string
	Mode     string // "" for a single agent, "bureau" for two
	Request  Request
	Response Response
	Seconds  float64
}

// A Request is what was sent.
type Request struct {
	Method  string
	Path    string
	Headers map[string]string
	Body    []byte
}

// A Response is what was answered.
type Response struct {
	Status  int
	Headers map[string]string // names in lower case
	Body    string

	// Payload is the decoded payload of a body that is an envelope, if recorded.
	Payload string
}

// Load reads the records.
func Load(t testing.TB) *File {
	t.Helper()
	const name = "http.json"
	vectors.Load(t, name) // skips where there are none
	text, err := vectors.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func parse(text []byte) (*File, error) {
	var raw struct {
		Notes  string
		Agent  string `json:"agent_address"`
		Beta   string `json:"beta_address"`
		Sender string `json:"sender_address"`
		User   string `json:"user_address"`
		Cases  []struct {
			Name, Note, Mode string
			Seconds          float64
			Request          struct {
				Method, Path string
				Headers      map[string]string
				Body         string
				BodyHex      string `json:"body_hex"`
			}
			Response struct {
				Status  int
				Headers [][2]string
				Body    string
				Payload string `json:"decoded_payload"`
			}
		}
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	f := &File{Agent: raw.Agent, Beta: raw.Beta, Sender: raw.Sender, User: raw.User}
	f.AgentSeed, f.SenderSeed, f.BetaSeed = seed(raw.Notes, "agent"), seed(raw.Notes, "sender"), seed(raw.Notes, "beta")
	for _, c := range raw.Cases {
		body := []byte(c.Request.Body)
		if c.Request.BodyHex != "" {
			var err error
			if body, err = hex.DecodeString(c.Request.BodyHex); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
		}
		headers := map[string]string{}
		for _, h := range c.Response.Headers {
			headers[strings.ToLower(h[0])] = h[1]
		}
		f.Cases = append(f.Cases, Case{
			Name: c.Name, Note: c.Note, Mode: c.Mode, Seconds: c.Seconds,
			Request:  Request{Method: c.Request.Method, Path: c.Request.Path, Headers: c.Request.Headers, Body: body},
			Response: Response{Status: c.Response.Status, Headers: headers, Body: c.Response.Body, Payload: c.Response.Payload},
		})
	}
	return f, nil
}

// seed finds agent='…' in the notes.
func seed(notes, of string) string {
	m := regexp.MustCompile(of + `=(?:'([^']*)'|"([^"]*)")`).FindStringSubmatch(notes)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// IsMessage reports whether the answer depends on the envelope in the body, and
// not on the transport alone.
func (c *Case) IsMessage() bool {
	path, _, _ := strings.Cut(c.Request.Path, "?")
	return path == "/submit" && c.Request.Method != http.MethodHead && c.Request.Method != http.MethodOptions &&
		strings.Contains(c.header("content-type"), "application/json")
}

// FromElsewhere reports whether the peer was asked from an address that is not a
// loopback one. The records say so in their names only.
func (c *Case) FromElsewhere() bool {
	return strings.HasSuffix(c.Name, "from non-loopback") || c.Name == "messages with X-Forwarded-For"
}

func (c *Case) header(name string) string {
	for key, value := range c.Request.Headers {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// Bytes is the request as it was sent.
func (r *Request) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.Method, r.Path)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(&b, "%s: %s\r\n", name, r.Headers[name])
	}
	b.WriteString("\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

// Send makes the request on a connection of its own and reads the answer.
func (r *Request) Send(address string) (Response, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return Response{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return Response{}, err
	}
	if _, err := conn.Write(r.Bytes()); err != nil {
		return Response{}, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		return Response{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return Response{}, err
	}
	headers := map[string]string{}
	for name, values := range answer.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return Response{Status: answer.StatusCode, Headers: headers, Body: string(body)}, nil
}

// Differences says by the name of a case where the answer is meant to differ.
type Differences map[string]Difference

// A Difference is another answer than the peer's, on purpose. What is not given
// is as the peer's.
type Difference struct {
	Fault string // number of the peer's fault that it answers, if there is one
	Why   string

	Status      int
	ContentType string
	Body        string

	// Check judges the body in place of Body.
	Check func(body string) error
}

// Compare says in which ways an answer differs from what the peer answered, and
// was not meant to.
func (d Differences) Compare(c *Case, got Response) []string {
	want := c.Response
	difference, meant := d[c.Name]
	if meant {
		want = difference.apply(want)
	}
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if got.Status != want.Status {
		complain("status %d, want %d", got.Status, want.Status)
	}
	for _, name := range headersThatMatter(got, want) {
		if got.Headers[name] != want.Headers[name] {
			complain("header %s: %q, want %q", name, got.Headers[name], want.Headers[name])
		}
	}
	switch {
	case meant && difference.Check != nil:
		if err := difference.Check(got.Body); err != nil {
			complain("body %s: %v", got.Body, err)
		}
	case neutral(got.Body) != neutral(want.Body):
		complain("body %s\nwant %s", neutral(got.Body), neutral(want.Body))
	}
	if meant && difference.same(c.Response) {
		complain("the peer answers the same: this is no difference")
	}
	return wrong
}

func (d *Difference) apply(r Response) Response {
	r.Headers = maps.Clone(r.Headers)
	if d.Status != 0 {
		r.Status = d.Status
	}
	if d.ContentType != "" {
		r.Headers["content-type"] = d.ContentType
	}
	if d.Body != "" {
		r.Body = d.Body
	}
	return r
}

// same reports whether the peer's own answer would pass as the different one.
func (d *Difference) same(peer Response) bool {
	if d.Status != 0 && d.Status != peer.Status || d.ContentType != "" && d.ContentType != peer.Headers["content-type"] {
		return false
	}
	if d.Check != nil {
		return d.Check(peer.Body) == nil
	}
	return d.Body == "" || d.Body == peer.Body
}

// headersThatMatter are those that a client acts upon. The rest is how the
// server was built: its name, the date, how it frames bodies.
func headersThatMatter(responses ...Response) []string {
	names := map[string]bool{}
	for _, r := range responses {
		for name := range r.Headers {
			if name == "content-type" || strings.HasPrefix(name, "access-control-") || strings.HasPrefix(name, "x-uagents-") {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

var ports = regexp.MustCompile(`("port": |127\.0\.0\.1:)\d+`)

// neutral takes the ports out of a text: they differ from run to run.
func neutral(text string) string { return ports.ReplaceAllString(text, "${1}0") }
