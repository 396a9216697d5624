package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/talk"
	"github.com/parley-agents/parley/keystore"
	"github.com/parley-agents/parley/protocol/chat"
	"github.com/parley-agents/parley/protocol/health"
	prompts "github.com/parley-agents/parley/protocol/llm"
	"github.com/parley-agents/parley/protocol/payment"
	"github.com/parley-agents/parley/protocol/subscriptions"
	"github.com/parley-agents/parley/spec"
)

// A jsonMessage is a message as --json shows it.
type jsonMessage struct {
	From     identity.Address `json:"from"`
	To       identity.Address `json:"to"`
	Session  string           `json:"session,omitempty"`
	Message  string           `json:"message,omitempty"` // the name, where it is known
	Schema   string           `json:"schema,omitempty"`
	Protocol string           `json:"protocol,omitempty"`
	Proof    parley.Proof     `json:"proof,omitempty"`
	Sync     bool             `json:"sync,omitempty"`
	Expires  time.Time        `json:"expires,omitzero"`
	Payload  json.RawMessage  `json:"payload,omitempty"`
	Base64   []byte           `json:"payload_base64,omitempty"` // instead, where it is no JSON
}

func jsonMessageOf(m parley.Message, names *names) jsonMessage {
	j := jsonMessage{
		From: m.From, To: m.To, Session: m.Session, Message: names.message(m), Schema: m.Schema, Protocol: m.Protocol,
		Proof: m.Proof, Sync: m.Sync, Expires: utc(m.Expires),
	}
	if json.Valid(m.Payload) {
		j.Payload = m.Payload
	} else {
		j.Base64 = m.Payload
	}
	return j
}

// utc keeps the zero time zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// A jsonRecord is a line of the log as --json shows it.
type jsonRecord struct {
	Seq       int64            `json:"seq"`
	Time      time.Time        `json:"time"`
	Agent     identity.Address `json:"agent"`
	Direction string           `json:"direction"` // in or out
	Event     string           `json:"event"`
	ID        string           `json:"id"`
	jsonMessage
	Detail string `json:"detail,omitempty"`
}

func jsonRecordOf(r parley.LogRecord, names *names) jsonRecord {
	direction := "in"
	if isOutward(r) {
		direction = "out"
	}
	return jsonRecord{
		Seq: r.Seq, Time: utc(r.Time), Agent: r.Agent, Direction: direction, Event: r.Event, ID: r.ID,
		jsonMessage: jsonMessageOf(r.Message, names), Detail: r.Detail,
	}
}

// isOutward tells what an agent said from what it was told; one that talks with
// itself does both.
func isOutward(r parley.LogRecord) bool {
	return r.Message.From == r.Agent && (r.Message.To != r.Agent || r.Event != "received" && r.Event != "handled")
}

// A jsonLetter is a dead letter as --json shows it.
type jsonLetter struct {
	Number    int64            `json:"number"`
	Time      time.Time        `json:"time"`
	Agent     identity.Address `json:"agent"`
	Direction string           `json:"direction"` // in: its handler never succeeded; out: it was not delivered
	ID        string           `json:"id"`
	jsonMessage
	Code   parley.Code `json:"code"`
	Reason string      `json:"reason"`
}

func jsonLetterOf(l parley.DeadLetter, names *names) jsonLetter {
	direction := "out"
	if l.Inbound {
		direction = "in"
	}
	return jsonLetter{
		Number: l.Seq, Time: utc(l.Time), Agent: l.Agent, Direction: direction, ID: l.ID,
		jsonMessage: jsonMessageOf(l.Message, names), Code: l.Code, Reason: l.Reason,
	}
}

// names is what agents and messages are called.
type names struct {
	agents map[identity.Address]string
	models map[string]string // titles by digest
	asked  map[string]bool   // protocols whose manifest was looked for
	node   *nodeClient       // that may have manifests of others, or nil
	ctx    context.Context
}

// namesIn learns the names in a data folder: its agents, and if its node runs, the
// protocols that they publish and those that it was told of.
func namesIn(ctx context.Context, data string) *names {
	n := &names{agents: make(map[identity.Address]string), models: make(map[string]string), asked: make(map[string]bool), ctx: ctx}
	folder, err := dataFolder(data)
	if err != nil {
		return n
	}
	if node, err := runningNode(folder); err == nil {
		if agents, err := node.agents(ctx); err == nil {
			n.node = node
			for _, a := range agents {
				n.agents[a.Address] = a.Name
			}
			var manifests []json.RawMessage
			if node.call(ctx, "GET", "manifests", nil, &manifests) == nil { // without names there are digests
				for _, m := range manifests {
					n.learn(m)
				}
			}
			return n
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "keys")); err != nil {
		return n // opening the keys would make a folder for them
	}
	if keys, err := keystore.Open(folder); err == nil {
		entries, _ := keys.List() // names are for people: without them there are addresses
		for _, e := range entries {
			n.agents[e.Address] = e.Name
		}
	}
	return n
}

// maxAsked bounds how many manifests a command asks a node for.
const maxAsked = 50

// message is the name of a message, or "".
func (n *names) message(m parley.Message) string {
	if m.Schema == parley.ErrorMessageDigest {
		return "ErrorMessage"
	}
	if name := knownModels()[m.Schema]; name != "" {
		return name
	}
	if n.node != nil && m.Protocol != "" && !n.asked[m.Protocol] && len(n.asked) < maxAsked && n.models[m.Schema] == "" {
		n.asked[m.Protocol] = true
		status, manifest, err := get(n.ctx, n.node.url()+directory.Prefix+"manifests/"+url.PathEscape(m.Protocol))
		if err == nil && status == http.StatusOK {
			n.learn(manifest)
		}
	}
	return talk.CleanLine(n.models[m.Schema])
}

func (n *names) learn(manifest []byte) {
	p, err := spec.ParseManifest(manifest)
	if err != nil {
		return
	}
	for _, m := range p.Messages {
		if digest, err := spec.Digest(m.Body); err == nil {
			n.models[digest] = m.Name
		}
	}
}

// knownModels are the messages of the protocols that every node knows.
var knownModels = sync.OnceValue(func() map[string]string {
	known := map[string]string{chat.PrintedMessageDigest: "ChatMessage"}
	for _, rules := range []*spec.Protocol{
		chat.Rules(), health.Rules(), payment.Rules(), subscriptions.Rules(), prompts.LLMContextResponseRules(), prompts.LLMStructuredResponseRules(),
	} {
		for _, m := range rules.Messages {
			if digest, err := spec.Digest(m.Body); err == nil {
				known[digest] = m.Name
			}
		}
	}
	return known
})

// messageOrDigest is what a line calls a message.
func (n *names) messageOrDigest(m parley.Message) string {
	if name := n.message(m); name != "" {
		return name
	}
	if digest, ok := strings.CutPrefix(m.Schema, "model:"); ok && len(digest) > 8 {
		return "model:" + digest[:8] + "…"
	}
	return talk.CleanLine(m.Schema)
}

// agent is what a line calls an agent.
func (n *names) agent(a identity.Address) string {
	if name := n.agents[a]; name != "" {
		return talk.CleanLine(name)
	}
	return short(a)
}

// find is the other way round: the agent that is called so.
func (n *names) find(agent string) (identity.Address, error) {
	for address, name := range n.agents {
		if name == agent {
			return address, nil
		}
	}
	if agent == "" {
		return "", nil
	}
	address, err := identity.ParseAddress(agent)
	if err != nil {
		return "", fmt.Errorf("--agent: %q is neither the name of an agent here nor an address", agent)
	}
	return address, nil
}

// short is enough of an address for people to tell agents apart.
func short(a identity.Address) string {
	if len(a) < 20 {
		return talk.CleanLine(string(a))
	}
	return talk.CleanLine(string(a[:12])) + "…" + talk.CleanLine(string(a[len(a)-4:]))
}

// columns prints rows one by one, each as wide as the widest before it.
type columns struct{ widths []int }

// print prints a row; the last cell is not padded.
func (c *columns) print(w io.Writer, cells ...string) {
	fmt.Fprintln(w, c.line(cells))
}

// measure makes room for a row that comes later.
func (c *columns) measure(cells []string) {
	for i, cell := range cells {
		if i == len(c.widths) {
			c.widths = append(c.widths, 0)
		}
		c.widths[i] = max(c.widths[i], len([]rune(cell)))
	}
}

func (c *columns) line(cells []string) string {
	c.measure(cells)
	var line strings.Builder
	for i, cell := range cells {
		line.WriteString(cell + strings.Repeat(" ", c.widths[i]-len([]rune(cell))+2))
	}
	return strings.TrimRight(line.String(), " ")
}

// maxSummary is how much of a message a line tells, in characters.
const maxSummary = 200

// payloadLine is a message in one line.
func payloadLine(payload []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, payload) != nil {
		return fmt.Sprintf("%d bytes that are no JSON", len(payload))
	}
	text := []rune(talk.CleanLine(compact.String()))
	if len(text) > maxSummary {
		return string(text[:maxSummary]) + "…"
	}
	return string(text)
}

// recordPrinter prints records of the log for people or scripts.
type recordPrinter struct {
	w       io.Writer
	names   *names
	json    bool
	verbose bool
	columns columns
}

func (p *recordPrinter) print(records []parley.LogRecord) {
	rows := make([][]string, len(records))
	for i, r := range records {
		if p.json {
			printLine(p.w, jsonRecordOf(r, p.names))
			continue
		}
		rows[i] = p.row(r)
		p.columns.measure(rows[i][:len(rows[i])-1])
	}
	if p.json {
		return
	}
	for i, r := range records {
		p.columns.print(p.w, rows[i]...)
		if p.verbose && len(r.Message.Payload) > 0 {
			fmt.Fprintln(p.w, "    "+payloadLine(r.Message.Payload))
		}
	}
}

// row is when, who, which way, with whom, what, in which session, and what became
// of it.
func (p *recordPrinter) row(r parley.LogRecord) []string {
	arrow, peer := "←", r.Message.From
	if isOutward(r) {
		arrow, peer = "→", r.Message.To
	}
	state := r.Event
	if r.Detail != "" {
		state += ": " + talk.CleanLine(r.Detail)
	}
	session := []rune(talk.CleanLine(r.Message.Session))
	return []string{
		r.Time.Local().Format("Jan 02 15:04:05"), p.names.agent(r.Agent) + " " + arrow + " " + p.names.agent(peer),
		p.names.messageOrDigest(r.Message), string(session[:min(8, len(session))]), state,
	}
}

// printLine prints a value as one line of JSON, so that a stream can be read.
func printLine(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintln(w, err)
	}
}
