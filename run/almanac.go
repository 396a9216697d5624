package run

import (
	"context"
	"net/http"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
)

// A lateHandler stands for the Almanac and the control interface until the node
// that they need is there.
type lateHandler struct {
	*directory.Almanac
	control http.Handler
}

func (l *lateHandler) mounts() map[string]http.Handler {
	return map[string]http.Handler{
		directory.Prefix: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.Almanac.ServeHTTP(w, r) }),
		controlPrefix:    http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.control.ServeHTTP(w, r) }),
	}
}

// Resolve asks the Almanac; see [parley.Resolver].
func (l *lateHandler) Resolve(ctx context.Context, agent identity.Address) ([]parley.Endpoint, error) {
	if l.Almanac == nil {
		return nil, fault.Errorf(fault.NotFound, "", "the almanac is not open yet")
	}
	return l.Almanac.Resolve(ctx, agent)
}

// Find asks the Almanac; see [parley.Finder].
func (l *lateHandler) Find(ctx context.Context, protocol string, limit int) ([]identity.Address, error) {
	if l.Almanac == nil {
		return nil, fault.Errorf(fault.NotFound, "", "the almanac is not open yet")
	}
	return l.Almanac.Find(ctx, protocol, limit)
}
