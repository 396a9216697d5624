package run

import (
	"net/http"
	"time"

	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/quota"
)

// quota returns what senders have used of the limits of the node's agents.
func (c *control) quota(r *http.Request) (any, error) {
	entries := []quota.Entry{}
	for _, a := range c.agents {
		of, err := quota.Read(r.Context(), c.store, a.Address(), identity.Address(r.URL.Query().Get("sender")), time.Now())
		if err != nil {
			return nil, err
		}
		entries = append(entries, of...)
	}
	return entries, nil
}
