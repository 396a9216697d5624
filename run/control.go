package run

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// The control interface is how the command line talks to a running node. It
// shows message contents, so it answers only to this machine, and only to those
// who can read the node's data folder, where the token is.

const (
	controlPrefix = "/parley/v1/"
	controlFile   = "control.json"
	maxControl    = 2 << 20
	maxPage       = 1000
	maxFollow     = 25 * time.Second
)

// A Control says where the control interface of a running node is.
type Control struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// ReadControl returns the control interface of the node that uses the data
// folder; the error is NotFound if none runs.
func ReadControl(data string) (*Control, error) {
	text, err := os.ReadFile(filepath.Join(data, controlFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault.Errorf(fault.NotFound, "data", "no node is running in %s", data)
	}
	if err != nil {
		return nil, err
	}
	var c Control
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fault.Errorf(fault.Malformed, filepath.Join(data, controlFile), "%w", err)
	}
	return &c, nil
}

// publish writes the control file, for the owner only, and returns how to
// remove it.
func (c *Control) publish(data string) (remove func(), err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(data, controlFile)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, os.Rename(path+".new", path)
}

func newToken() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

type control struct {
	node   *parley.Node
	store  parley.Store
	agents []*parley.Agent
	places *places
	token  string

	// stopping ends when the node is to stop: who waits for something is told at
	// once that there is nothing, and does not hold the node up.
	stopping context.Context
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+controlPrefix+"agents", c.answer(c.listAgents))
	mux.HandleFunc("GET "+controlPrefix+"manifests", c.answer(c.listManifests))
	mux.HandleFunc("POST "+controlPrefix+"send", c.answer(c.send))
	mux.HandleFunc("POST "+controlPrefix+"ask", c.answer(c.ask))
	mux.HandleFunc("GET "+controlPrefix+"log", c.answer(c.log))
	mux.HandleFunc("POST "+controlPrefix+"resolve", c.answer(c.resolve))
	mux.HandleFunc("GET "+controlPrefix+"quota", c.answer(c.quota))
	mux.HandleFunc("GET "+controlPrefix+"dead", c.answer(c.dead))
	mux.HandleFunc("POST "+controlPrefix+"dead/{seq}/resend", c.answer(c.resend))
	mux.HandleFunc("DELETE "+controlPrefix+"dead/{seq}", c.answer(c.drop))
	return mux
}

func (c *control) answer(call func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		ip := net.ParseIP(host)
		given := []byte(r.Header.Get("authorization"))
		if ip == nil || !ip.IsLoopback() || subtle.ConstantTimeCompare(given, []byte("Bearer "+c.token)) != 1 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxControl)
		result, err := call(r)
		status := http.StatusOK
		if err != nil {
			status = http.StatusBadRequest
			coded, ok := errors.AsType[*fault.Error](err)
			if !ok {
				coded = &fault.Error{Code: fault.Internal, Text: err.Error()}
			}
			if reason, ok := errors.AsType[*parley.DeliveryError](err); ok {
				coded = &fault.Error{Code: reason.Code, Field: reason.Endpoint, Text: reason.Text}
			}
			result = coded
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(result) // the caller is gone if this fails
	}
}

func (c *control) listAgents(*http.Request) (any, error) {
	list := []parley.AgentInfo{}
	for info := range c.node.Agents() {
		list = append(list, info)
	}
	return list, nil
}

// listManifests tells what the messages of the agents' own protocols are called.
func (c *control) listManifests(*http.Request) (any, error) {
	manifests, err := c.node.Manifests()
	list := make([]json.RawMessage, len(manifests))
	for i, m := range manifests {
		list[i] = m
	}
	return list, err
}

// A Request is a message that the command line wants sent.
type Request struct {
	From    string // name or address of an agent of the node; "" is the first
	To      identity.Address
	Session string // in which it is sent; "" is a new one
	Schema  string
	Payload json.RawMessage
	Timeout time.Duration // how long to wait for the delivery or the reply
}

// A Reply is what came of a [Request].
type Reply struct {
	ID      string          `json:"id,omitempty"`
	Session string          `json:"session,omitempty"`
	State   string          `json:"state,omitempty"` // stored or delivered, for a message that was sent
	Schema  string          `json:"schema,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (c *control) sender(r *http.Request) (*parley.Agent, *Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, fault.Errorf(fault.TooLarge, "", "%w", err)
	}
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, nil, fault.Errorf(fault.Malformed, "", "%w", err)
	}
	for _, a := range c.agents {
		if request.From == "" || request.From == a.Name() || request.From == string(a.Address()) {
			return a, &request, nil
		}
	}
	return nil, nil, fault.Errorf(fault.NotFound, "from", "the node has no agent %q", request.From)
}

func (c *control) send(r *http.Request) (any, error) {
	a, request, err := c.sender(r)
	if err != nil {
		return nil, err
	}
	session := request.Session
	if session == "" {
		session = uuid.NewString()
	}
	receipt, err := a.SendIn(r.Context(), session, request.To, parley.Raw{Schema: request.Schema, Payload: request.Payload})
	if err != nil {
		return nil, err
	}
	reply := &Reply{ID: receipt.ID, Session: session, State: "stored"}
	if request.Timeout <= 0 {
		return reply, nil
	}
	ctx, cancel := c.waiting(r, request.Timeout)
	defer cancel()
	switch err := receipt.Wait(ctx); {
	case err == nil:
		reply.State = "delivered"
	case ctx.Err() == nil:
		return nil, err
	}
	return reply, nil
}

func (c *control) ask(r *http.Request) (any, error) {
	a, request, err := c.sender(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.waiting(r, request.Timeout)
	defer cancel()
	answer, err := parley.Ask[parley.Raw](ctx, a, request.To, parley.Raw{Schema: request.Schema, Payload: request.Payload})
	return &Reply{Schema: answer.Schema, Payload: answer.Payload}, err
}

// log returns records; with wait it returns as soon as there are any.
func (c *control) log(r *http.Request) (any, error) {
	q, wait := LogQueryOf(r)
	until := time.Now().Add(wait)
	for {
		records, err := c.store.Log(r.Context(), q)
		if err != nil || len(records) > 0 || !time.Now().Before(until) {
			if records == nil {
				records = []parley.LogRecord{}
			}
			return records, err
		}
		select {
		case <-r.Context().Done():
			return []parley.LogRecord{}, nil
		case <-c.stopping.Done():
			return []parley.LogRecord{}, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// LogQueryOf reads a log query from the parameters of a request.
func LogQueryOf(r *http.Request) (q parley.LogQuery, wait time.Duration) {
	values := r.URL.Query()
	q.Agent, q.Session, q.Last = identity.Address(values.Get("agent")), values.Get("session"), values.Get("last") == "true"
	q.After, _ = strconv.ParseInt(values.Get("after"), 10, 64)
	q.Limit, _ = strconv.Atoi(values.Get("limit"))
	if q.Limit <= 0 || q.Limit > maxPage {
		q.Limit = maxPage
	}
	wait, _ = time.ParseDuration(values.Get("wait"))
	return q, min(wait, maxFollow)
}

func (c *control) dead(r *http.Request) (any, error) {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	letters, err := c.store.Dead(r.Context(), after, maxPage)
	if letters == nil {
		letters = []parley.DeadLetter{}
	}
	return letters, err
}

func (c *control) letter(r *http.Request) (parley.DeadLetter, error) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil {
		return parley.DeadLetter{}, fault.Errorf(fault.Malformed, "number", "expected the number of a dead letter")
	}
	letters, err := c.store.Dead(r.Context(), seq-1, 1)
	if err == nil && (len(letters) == 0 || letters[0].Seq != seq) {
		err = fault.Errorf(fault.NotFound, "number", "there is no dead letter %d", seq)
	}
	if err != nil {
		return parley.DeadLetter{}, err
	}
	return letters[0], nil
}

func (c *control) resend(r *http.Request) (any, error) {
	letter, err := c.letter(r)
	if err != nil {
		return nil, err
	}
	return letter, c.node.Resend(r.Context(), letter)
}

func (c *control) drop(r *http.Request) (any, error) {
	letter, err := c.letter(r)
	if err != nil {
		return nil, err
	}
	return letter, c.node.Drop(r.Context(), letter)
}

const defaultPatience = 30 * time.Second

// waiting is the context of a caller who waits, at most so long.
func (c *control) waiting(r *http.Request, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		d = defaultPatience
	}
	ctx, cancel := context.WithTimeout(r.Context(), d)
	stop := context.AfterFunc(c.stopping, cancel)
	return ctx, func() { stop(); cancel() }
}
