package parleyhttp

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/pyjson"
)

// maxMessages is how many messages the peers' page of them holds.
const maxMessages = 1000

// serveRoute answers requests for the routes of agents and for what every agent
// tells about itself; false says that the request is for neither.
func (r *request) serveRoute() bool {
	host := r.server.host
	if host == nil {
		return false
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/agent_info":
		r.agentInfo(host)
		return true
	case r.Method == http.MethodGet && r.URL.Path == "/messages":
		r.messages(host)
		return true
	}
	routes := host.Routes(r.Method, r.URL.Path)
	if len(routes) == 0 {
		return false
	}
	if i, ok := r.choose(len(routes), func(i int) identity.Address { return routes[i].Agent }); ok {
		r.route(routes[i])
	}
	return true
}

// choose picks the owner of a path that n agents have, or answers why it cannot.
func (r *request) choose(n int, address func(int) identity.Address) (int, bool) {
	if n == 1 {
		return 0, true
	}
	if n > 1 && !r.has(headerAddress) {
		r.answer(http.StatusBadRequest, typeJSON,
			[]byte(`{"error": "missing header: x-uagents-address", "message": "Multiple handlers found for REST endpoint."}`))
		return 0, false
	}
	named := identity.Address(r.last(headerAddress))
	for i := range n {
		if address(i) == named {
			return i, true
		}
	}
	r.refuse(http.StatusNotFound, "not found")
	return 0, false
}

func (r *request) route(route parley.Route) {
	var body []byte
	if r.Method != http.MethodGet {
		read, release, ok := r.readBody()
		defer release()
		if !ok {
			return
		}
		if len(read) == 0 {
			r.refuse(http.StatusBadRequest, "No request body found")
			return
		}
		body = read
	}
	ctx, cancel := r.context(false)
	defer cancel()
	response, err := route.Serve(ctx, body)
	if err != nil {
		r.failRoute(err)
		return
	}
	r.answer(http.StatusOK, typeJSON, response)
}

// failRoute answers an error of a route. A route is the author's own interface,
// so codes have the status that HTTP has for them.
func (r *request) failRoute(err error) {
	e, ok := errors.AsType[*parley.Error](err)
	if !ok {
		e = &fault.Error{Code: fault.Internal}
	}
	r.blame(e)
	switch e.Code {
	case fault.Malformed:
		r.answer(http.StatusBadRequest, typeJSON, validationError(e))
	case fault.Unverified, fault.Forbidden:
		r.refuse(http.StatusForbidden, e.Text)
	case fault.NotFound, fault.Unhandled:
		r.refuse(http.StatusNotFound, e.Text)
	case fault.Conflict, fault.OutOfTurn:
		r.refuse(http.StatusConflict, e.Text)
	case fault.Expired:
		r.refuse(http.StatusGone, e.Text)
	case fault.TooLarge:
		r.refuse(http.StatusRequestEntityTooLarge, e.Text)
	case fault.Refused:
		r.refuse(http.StatusUnprocessableEntity, e.Text)
	case fault.Unavailable:
		r.refuse(http.StatusServiceUnavailable, e.Text)
	case fault.Unsupported: // the response has no form in its own schema
		r.server.opts.Logger.Error("a route failed", "path", r.URL.Path, "error", err)
		r.refuse(http.StatusInternalServerError, "Handler response does not match response schema.")
	default:
		r.server.opts.Logger.Error("a route failed", "path", r.URL.Path, "error", err)
		r.answer(http.StatusInternalServerError, typeText, []byte("Internal Server Error"))
	}
}

// chooseAgent picks the agent that a page is about.
func (r *request) chooseAgent(host parley.Host) (parley.AgentInfo, bool) {
	if named := identity.Address(r.last(headerAddress)); named != "" { // a node may have very many
		if info, ok := host.Agent(named); ok {
			return info, true
		}
	}
	var first []parley.AgentInfo
	for info := range host.Agents() {
		if first = append(first, info); len(first) == 2 {
			break
		}
	}
	i, ok := r.choose(len(first), func(i int) identity.Address { return first[i].Address })
	if !ok {
		return parley.AgentInfo{}, false
	}
	return first[i], true
}

func (r *request) agentInfo(host parley.Host) {
	info, ok := r.chooseAgent(host)
	if !ok {
		return
	}
	var endpoints, protocols []pyjson.Value
	for _, e := range info.Endpoints {
		endpoints = append(endpoints, pyjson.OfMembers(member("url", pyjson.Of(e.URL)), member("weight", integer(int64(e.Weight)))))
	}
	for _, digest := range info.Protocols {
		protocols = append(protocols, pyjson.Of(digest))
	}
	r.answerValue(pyjson.OfMembers(
		member("address", pyjson.Of(string(info.Address))),
		member("endpoints", pyjson.OfItems(endpoints...)),
		member("protocols", pyjson.OfItems(protocols...)),
		member("agent_type", pyjson.Of("custom")),
		member("metadata", pyjson.OfMembers()),
		member("prefix", pyjson.Of("agent")),
		member("port", integer(int64(r.server.transport.port()))),
	))
}

// messages shows what an agent has sent and received, to this machine only.
func (r *request) messages(host parley.Host) {
	if !r.local() {
		r.refuse(http.StatusForbidden, "forbidden")
		return
	}
	info, ok := r.chooseAgent(host)
	if !ok {
		return
	}
	ctx, cancel := r.context(true)
	defer cancel()
	records, err := host.Messages(ctx, info.Address, maxMessages)
	if err != nil {
		r.failRoute(err)
		return
	}
	envelopes := make([]pyjson.Value, 0, len(records))
	for _, record := range records {
		m := record.Message
		envelopes = append(envelopes, pyjson.OfMembers(
			member("timestamp", integer(record.Time.Unix())),
			member("version", integer(1)),
			member("sender", pyjson.Of(string(m.From))),
			member("target", pyjson.Of(string(m.To))),
			member("session", pyjson.Of(m.Session)),
			member("schema_digest", pyjson.Of(m.Schema)),
			member("protocol_digest", orNull(m.Protocol)),
			member("payload", pyjson.Of(string(m.Payload))),
		))
	}
	r.answerValue(pyjson.OfMembers(member("envelopes", pyjson.OfItems(envelopes...))))
}

func (r *request) answerValue(v pyjson.Value) {
	r.answer(http.StatusOK, typeJSON, pyjson.Append(nil, v, pyjson.Spaced))
}

func member(key string, value pyjson.Value) pyjson.Member {
	return pyjson.Member{Key: key, Value: value}
}

func integer(n int64) pyjson.Value { return pyjson.OfInt(strconv.FormatInt(n, 10)) }

func orNull(text string) pyjson.Value {
	if text == "" {
		return pyjson.Value{}
	}
	return pyjson.Of(text)
}
