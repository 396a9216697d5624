package interop

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

type (
	Open struct {
		N int `json:"n"`
	}
	Silent struct {
		A *string `json:"a"`
	}
	RestIn struct {
		Name  string `json:"name"`
		Count int    `json:"count" parley:"default=1"`
	}
	RestOut struct {
		Greeting string `json:"greeting"`
		Total    int    `json:"total"`
	}
)

// The same requests go to an agent of the real library and to one of ours with
// the same handlers. Status, headers that matter and bodies are equal, except
// where a row of docs/differences.md says otherwise.
func TestRequestsToBoth(t *testing.T) {
	k := seedKey(t, "requests to both")
	ours := bothAgent(k)
	url := startNode(t, ours)
	theirs := startBoth(t, url)
	here := strings.TrimPrefix(url, "http://")
	for _, r := range requestsToBoth(t, k) {
		t.Run(r.name, func(t *testing.T) {
			want, got := r.send(t, theirs), r.send(t, here)
			switch {
			case r.why == "" && got != want:
				t.Errorf("the peer answers\n\t%s\nand the Go agent\n\t%s", want, got)
			case r.why != "" && got == want:
				t.Errorf("it is no difference any more: %s", got)
			case r.why != "" && !strings.Contains(got, r.why):
				t.Errorf("the Go agent answers\n\t%s\nwithout %q; the peer\n\t%s", got, r.why, want)
			}
		})
	}
}

func seedKey(t *testing.T, seed string) *identity.Key {
	t.Helper()
	k, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func bothAgent(k *identity.Key) *parley.Agent {
	a := parley.NewAgent("both", &parley.AgentOptions{Key: k, Lax: true})
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Ping) (Pong, error) { return Pong{"pong:" + in.Text}, nil })
	parley.Handle(a, func(_ context.Context, _ *parley.Turn, in Open) (Pong, error) {
		return Pong{fmt.Sprintf("open:%d", in.N)}, nil
	}, parley.AllowUnsigned())
	parley.On(a, func(context.Context, *parley.Turn, Silent) error { return nil })
	parley.HandleGet(a, "/rest/get", func(context.Context, *parley.Turn) (RestOut, error) { return RestOut{"hi", 3}, nil })
	parley.HandlePost(a, "/rest/post", func(_ context.Context, _ *parley.Turn, in RestIn) (RestOut, error) {
		return RestOut{"hello " + in.Name, in.Count}, nil
	})
	return a
}

// startBoth runs the real agent and returns where it listens.
func startBoth(t *testing.T, almanac string) string {
	t.Helper()
	port := freePort(t)
	program, err := filepath.Abs("python/answering.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), program, strconv.Itoa(port), almanac)
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	at := "127.0.0.1:" + strconv.Itoa(port)
	for range 300 {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return at
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the real agent does not start")
	return ""
}

// A request goes to both. why is a part of our answer where it is another on
// purpose; the row that says so is in docs/differences.md.
type bothRequest struct {
	name string
	raw  string
	why  string
}

// send returns what matters of the answer, in one line.
func (r bothRequest) send(t *testing.T, at string) string {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(40 * time.Second))
	if _, err := io.WriteString(conn, r.raw); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(r.raw, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return "no answer"
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	var text strings.Builder
	text.WriteString(strconv.Itoa(answer.StatusCode))
	for _, name := range []string{
		"Content-Type", "X-Uagents-Status", "X-Uagents-Response-Time-Hint", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods",
		"Access-Control-Allow-Headers", "Access-Control-Allow-Credentials", "Location", "Allow",
	} {
		if value, ok := answer.Header[name]; ok {
			text.WriteString(" " + name + ":" + strings.Join(value, ","))
		}
	}
	if e, err := uagents.Decode(body); err == nil { // replies are signed here (U9), so they have an expiry and a nonce
		payload, _ := e.DecodePayload()
		return text.String() + fmt.Sprint(" ", e.Version, e.Sender, e.Target, e.Session, e.SchemaDigest, string(payload))
	}
	return text.String() + " " + string(body)
}

func requestsToBoth(t *testing.T, agent *identity.Key) []bothRequest {
	t.Helper()
	var all []bothRequest
	add := func(name, why, line, headers, body string) {
		all = append(all, bothRequest{name, line + " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" + headers + "\r\n" + body, why})
	}
	sized := func(headers, body string) string {
		return headers + "content-length: " + strconv.Itoa(len(body)) + "\r\n"
	}

	// Methods and paths.
	for _, method := range []string{"GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "FOO"} {
		for _, path := range []string{"/", "/submit", "/submit/", "//submit", "/Submit", "/submit?a=b", "/%73ubmit", "/a/../submit", "/rest/get", "/rest%2Fget", "/rest/post", "/agent_info/", "*"} {
			if path == "*" && method != "OPTIONS" {
				continue
			}
			add(method+" "+path, "", method+" "+path, sized("", ""), "")
		}
	}
	add("a browser", "", "GET /submit", "user-agent: b\r\n", "")
	add("a preflight", "", "OPTIONS /rest/post", "origin: http://x\r\naccess-control-request-method: POST\r\n", "")
	add("an absolute URI", `{"greeting": "hi"`, "GET http://x/rest/get", "", "")
	add("a path with a bad escape", "400 Content-Type:text/plain", "GET /%zz", "", "")
	add("a malformed host", "400 Content-Type:text/plain", "GET /rest/get", "host: a b/c\r\n", "")
	address := string(agent.Address())
	for name, value := range map[string]string{"its address": address, "upper case": strings.ToUpper(address), "empty": "", "a URI": "agent://" + address, "in spaces": " " + address + " "} {
		add("HEAD "+name, "", "HEAD /submit", "x-uagents-address: "+value+"\r\n", "")
	}
	add("HEAD an address that is no text", "not-ready", "HEAD /submit", "x-uagents-address: \xff\r\n", "")

	// Bodies.
	const js = "content-type: application/json\r\n"
	submit := func(name, why, headers, body string) { add(name, why, "POST /submit", sized(headers, body), body) }
	for _, body := range []string{
		"", " ", "null", "1", `"a"`, "[]", "{}", "NaN", "-Infinity", "{}{}", "{'a':1}", `{"a":1,}`, `{"a":01}`, `{"a":"\x"}`, "{\"a\":\"\x01\"}", "\xef\xbb\xbf{}",
		"{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", `"\ud800"`, "\f{}", "\r\n{}\r\n", "\u00a0{}", `{"a":1e999}`,
	} {
		submit("the body "+strconv.Quote(body), "", js, body)
	}
	submit("a body that nests deep", "413", js, strings.Repeat("[", 200)+strings.Repeat("]", 200))
	submit("a number of 5000 digits", "413", js, strings.Repeat("9", 5000))
	submit("a large body", "413", js, `"`+strings.Repeat("x", 2<<20)+`"`)

	// Envelopes. Each has its own session, so that none is a repeat.
	sender := seedKey(t, "who asks both")
	digests := map[string]string{"Ping": modelDigest[Ping](t), "Open": modelDigest[Open](t)}
	model := func(name string) string { return digests[name] }
	seal := func(schema, payload string, change func(*uagents.Envelope)) *uagents.Envelope {
		e := &uagents.Envelope{Version: 1, Sender: sender.Address(), Target: agent.Address(), Session: uuid.New(), SchemaDigest: schema}
		e.Payload = new(base64.StdEncoding.EncodeToString([]byte(payload)))
		e.Expires = new(uint64(time.Now().Add(5 * time.Minute).Unix()))
		if change != nil {
			change(e)
		}
		if e.Sender == sender.Address() {
			e.Sign(sender)
		}
		return e
	}
	ping := func(change func(*uagents.Envelope)) string {
		return string(seal(model("Ping"), `{"text": "hi"}`, change).Encode())
	}
	const sync = js + "x-uagents-connection: sync\r\n"
	for _, kind := range []string{"application/json; charset=utf-16", "text/html, application/json", "Application/JSON", "application/ json", "", "text/plain"} {
		submit("content type "+kind, "", "content-type: "+kind+"\r\nx-uagents-connection: sync\r\n", ping(nil))
	}
	for _, value := range []string{"sync", "Sync", "async", "", "sync, async", "  sync  "} {
		submit("connection "+strconv.Quote(value), "", js+"x-uagents-connection: "+value+"\r\n", ping(nil))
	}
	submit("two connections", "", js+"x-uagents-connection: async\r\nx-uagents-connection: sync\r\n", ping(nil))
	for _, method := range []string{"GET", "PUT", "FOO"} {
		body := ping(nil)
		add(method+" an envelope", "", method+" /submit", sized(sync, body), body)
	}
	replaced := func(old, now string) string { return strings.Replace(ping(nil), old, now, 1) }
	for _, field := range []string{"version", "sender", "target", "session", "schema_digest", "protocol_digest", "payload", "expires", "nonce", "signature"} {
		submit("without "+field, "", js, replaced(`"`+field+`"`, `"x"`))
		submit(field+" is a list", "", js, replaced(`"`+field+`":`, `"`+field+`":[],"x":`))
	}
	for _, version := range []string{"0", "-1", `"1"`, `"1_0"`, `" 1.0 "`, "1.0", "1.5", "true", "1e0", `"x"`, "null", `""`} {
		submit("version "+version, "", sync, replaced(`"version":1`, `"version":`+version))
	}
	submit("a version of 20 digits", "contents do not match", sync, replaced(`"version":1`, `"version":12345678901234567890`))
	submit("an unknown member", "", sync, replaced(`"version":1`, `"version":1,"x":{"y":[NaN]}`))
	submit("a member twice", "", sync, replaced(`"version":1`, `"version":"x","version":1`))
	submit("an escaped name", "", sync, replaced(`"version"`, `"\u0076ersion"`))
	for name, change := range map[string]func(string) string{
		"upper case": strings.ToUpper, "braces": func(s string) string { return "{" + s + "}" }, "urn": func(s string) string { return "urn:uuid:" + s },
		"URN": func(s string) string { return "URN:UUID:" + s }, "parentheses": func(s string) string { return "(" + s + ")" }, "no hyphens": func(s string) string { return strings.ReplaceAll(s, "-", "") },
	} {
		e := seal(model("Ping"), `{"text": "hi"}`, nil)
		submit("session in "+name, "", sync, strings.Replace(string(e.Encode()), e.Session.String(), change(e.Session.String()), 1))
	}
	submit("session of version 1", "", sync, ping(func(e *uagents.Envelope) { e.Session[6] = e.Session[6]&0x0f | 0x10 }))
	submit("expired", "the envelope expired at", js, ping(func(e *uagents.Envelope) { e.Expires = new(uint64(1)) }))
	submit("no expiry", "", sync, ping(func(e *uagents.Envelope) { e.Expires = nil }))
	submit("expires at 0", "", js, ping(func(e *uagents.Envelope) { e.Expires = new(uint64(0)) }))
	submit("far expiry", "", sync, ping(func(e *uagents.Envelope) { e.Expires = new(uint64(1) << 50) }))
	submit("a nonce", "", sync, ping(func(e *uagents.Envelope) { e.Nonce = new(uint64(1) << 63) }))
	submit("a nonce alone", "a nonce needs an expiry", sync, ping(func(e *uagents.Envelope) { e.Expires, e.Nonce = nil, new(uint64(1)) }))
	submit("a negative expiry", "contents do not match", js, replaced(`"nonce":null`, `"nonce":-1`))
	submit("a protocol", "", sync, ping(func(e *uagents.Envelope) { e.ProtocolDigest = new("anything") }))
	submit("no schema at all", "expected model:", js, ping(func(e *uagents.Envelope) { e.SchemaDigest = "x" }))
	submit("an unknown schema", "", js, ping(func(e *uagents.Envelope) { e.SchemaDigest = "model:" + strings.Repeat("0", 64) }))
	submit("an unknown target", "", js, ping(func(e *uagents.Envelope) { e.Target = sender.Address() }))
	submit("a target with prefix", "", js, ping(func(e *uagents.Envelope) { e.Target = "agent://" + e.Target }))
	submit("unsigned", "", js, ping(func(e *uagents.Envelope) { e.Sender = seedKey(t, "x").Address() }))
	submit("signed by another", "", js, strings.Replace(ping(nil), string(sender.Address()), string(seedKey(t, "x").Address()), 1))
	submit("a changed payload", "", js, replaced(`"payload":"e`, `"payload":"f`))
	submit("a signature of nothing", "", js, ping(nil)[:len(ping(nil))-30]+`"}`)
	submit("a signature in upper case", "upper case", js, func() string {
		e := seal(model("Ping"), `{"text": "hi"}`, nil)
		e.Signature = new(strings.ToUpper(*e.Signature))
		return string(e.Encode())
	}())
	submit("a payload in two lines", "without line breaks", js, ping(func(e *uagents.Envelope) { e.Payload = new((*e.Payload)[:4] + "\n" + (*e.Payload)[4:]) }))
	submit("a payload without padding", "expected base64", js, ping(func(e *uagents.Envelope) { e.Payload = new("e30") }))
	const user = "user1qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurs7g3w9g"
	asUser := func(name identity.Address, schema, payload string) string {
		return string(seal(model(schema), payload, func(e *uagents.Envelope) { e.Sender = name }).Encode())
	}
	submit("a user", "", sync, asUser(user, "Open", `{"n": 4}`))
	submit("a user where a signature is needed", "", sync, asUser(user, "Ping", `{"text": "hi"}`))
	submit("any text as a user", "expected an address", sync, asUser("users", "Open", `{"n": 4}`))
	for _, payload := range []string{`{"text": "grüße 🤖"}`, `{"text": "a", "more": 1}`, ` {"text" : "a"} `, `{"text": "a\u0000"}`, `{"text": 5.50}`, `{"text": "a", "text": "b"}`} {
		submit("the payload "+payload, "", sync, string(seal(model("Ping"), payload, nil).Encode()))
	}
	submit("half a surrogate pair", "internal error", sync, string(seal(model("Ping"), `{"text": "\ud800"}`, nil).Encode()))

	// Routes.
	for _, body := range []string{
		`{"name": "a"}`, `{"name": "grüße"}`, `{"name": "a", "count": "5"}`, `{"name": "a", "count": 2.7}`, `{"name": "a", "x": 1}`, "{}", "[]", "", `{"name": null}`,
		`{"name": []}`, `{"name": "a", "count": "x"}`, `{"name": "a", "count": null}`, `{"name": 5}`, `{"name": true}`, `{"name": "a", "name": "b"}`, `{"name": "a", "count": NaN}`,
	} {
		add("POST "+body, "", "POST /rest/post", sized("", body), body)
	}
	for body, why := range map[string]string{
		`{"name":`: "value_error.jsondecode", `{"count": "x"}`: `{"loc": ["name"]`, `{"name": "a", "count": 123456789012345678901}`: "out of the range", "{\"name\": \"\xff\"}": "value_error.unicodedecode",
	} {
		add("POST "+strconv.Quote(body), why, "POST /rest/post", sized("", body), body)
	}
	for _, body := range []string{"null", "5", `"a"`, "true"} { // the peer names the class of the model, which has no place on the wire
		add("POST "+body, `{"loc": ["__root__"], "msg": "`, "POST /rest/post", sized("", body), body)
	}
	chunked := "c\r\n{\"name\":\"a\"}\r\n0\r\n\r\n"
	add("chunks", "", "POST /rest/post", "transfer-encoding: chunked\r\n", chunked)
	return all
}

// modelDigest is the digest of a Go type.
func modelDigest[T any](t *testing.T) string {
	t.Helper()
	model, err := spec.FromGo[T]()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := spec.Digest(model)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}
