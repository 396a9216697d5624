package parleyhttp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/pyjson"
)

// route answers requests for the routes of agents and for what the library
// itself serves beside /submit. It reports whether the path was one of them.
func (s *server) route(w http.ResponseWriter, r *http.Request, host parley.Host, peer string) bool {
	own := s.ownRoutes(host, r.Method, r.URL.Path)
	routes := append(host.Routes(r.Method, r.URL.Path), own...)
	if len(routes) == 0 {
		return false
	}
	if r.URL.Path == "/messages" && !isLoopback(peer) {
		answerError(w, http.StatusForbidden, "forbidden")
		return true
	}
	chosen := &routes[0]
	if len(routes) > 1 {
		wanted := r.Header.Get(addressHeader)
		if wanted == "" {
			answer(w, http.StatusBadRequest, struct {
				Error   string `json:"error"`
				Message string `json:"message"`
			}{"missing header: x-uagents-address", "Multiple handlers found for REST endpoint."})
			return true
		}
		chosen = nil
		for i := range routes {
			if routes[i].Agent == identity.Address(wanted) {
				chosen = &routes[i]
			}
		}
		if chosen == nil {
			answerError(w, http.StatusNotFound, "not found")
			return true
		}
	}
	s.call(w, r, chosen)
	return true
}

func (s *server) call(w http.ResponseWriter, r *http.Request, route *parley.Route) {
	var body []byte
	if r.Method == http.MethodPost {
		var ok bool
		if body, ok = s.body(w, r); !ok {
			return
		}
		if len(body) == 0 {
			answerError(w, http.StatusBadRequest, "No request body found")
			return
		}
	}
	response, err := route.Serve(r.Context(), body)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(response) // the caller has gone if this fails
		return
	}
	coded, ok := errors.AsType[*fault.Error](err)
	if ok && coded.Code == fault.Malformed {
		answer(w, http.StatusBadRequest, validationError(coded))
		return
	}
	if ok && coded.Code != fault.Internal {
		answerError(w, http.StatusBadRequest, coded.Text)
		return
	}
	s.t.opts.Logger.Error("a route failed", "path", route.Path, "error", err)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write([]byte("Internal Server Error")) // as above
}

// A refusal is a validation error in the form of the peers.
type refusal struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

func validationError(err *fault.Error) refusal {
	v := refusal{Loc: []string{"__root__"}, Msg: err.Text, Type: "value_error"}
	if err.Field != "" {
		v.Loc = strings.Split(err.Field, ".")
	}
	switch {
	case strings.Contains(err.Text, "the field is required"):
		v.Msg, v.Type = "field required", "value_error.missing"
	case strings.HasPrefix(err.Text, "expected an integer"):
		v.Msg, v.Type = "value is not a valid integer", "type_error.integer"
	case strings.Contains(err.Text, "of the JSON text"):
		v.Type = "value_error.jsondecode"
	}
	return v
}

// ownRoutes are what the library serves for each agent.
func (s *server) ownRoutes(host parley.Host, method, path string) []parley.Route {
	if method != http.MethodGet || path != "/agent_info" && path != "/messages" {
		return nil
	}
	var routes []parley.Route
	for info := range host.Agents() {
		route := parley.Route{Agent: info.Address, Method: method, Path: path}
		if path == "/agent_info" {
			route.Serve = s.agentInfo(info)
		} else {
			route.Serve = messages(host, info.Address)
		}
		routes = append(routes, route)
	}
	return routes
}

// pythonic lays JSON text out as Python's json.dumps does.
func pythonic(text []byte) ([]byte, error) {
	v, err := pyjson.Parse(text, nil)
	return pyjson.Append(nil, v, pyjson.Spaced), err
}
