// Package directory answers who is where and offers what.
//
// [Almanac] speaks the registration service of uAgents from a node's own store:
// Python agents with their agentverse setting pointed at a node register there
// and find the node's agents and each other. [Client] asks such a service.
package directory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// Prefix is the path under which the library expects the Almanac.
const Prefix = "/v1/almanac/"

// shelf is the agent under which registrations stand in the store. It is no
// address, so no agent can be it.
const shelf = identity.Address("directory")

const (
	lifetime  = 48 * time.Hour  // of a registration
	skew      = 5 * time.Minute // by which a signature may be off
	maxBody   = 1 << 20
	maxBatch  = 10_000
	maxListed = 100

	maxAgents    = 100_000 // that are registered
	maxManifests = 10_000
	maxEntry     = 64 << 10 // bytes of a registration
	maxManifest  = 256 << 10
	sweepEvery   = time.Hour
)

// An Almanac is an http.Handler for the paths below [Prefix], and a resolver
// for the agents registered there.
type Almanac struct {
	store    parley.Store
	host     parley.Host // whose own agents need not register
	verifier *identity.Verifier
	log      *slog.Logger
	mux      *http.ServeMux

	writing sync.Mutex     // what is stored is compared with what comes
	stored  map[string]int // how many, by kind; nil before the first sweep
	swept   time.Time
}

// NewAlmanac makes an Almanac over a store. The host's own agents are found
// without registration.
func NewAlmanac(store parley.Store, host parley.Host, log *slog.Logger) *Almanac {
	a := &Almanac{store: store, host: host, verifier: identity.NewVerifier(nil), log: log, mux: http.NewServeMux()}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.mux.HandleFunc("POST "+Prefix+"agents", a.answer(a.register))
	a.mux.HandleFunc("POST "+Prefix+"agents/batch", a.answer(a.registerBatch))
	a.mux.HandleFunc("POST "+Prefix+"agents/{address}/status", a.answer(a.updateStatus))
	a.mux.HandleFunc("GET "+Prefix+"agents/{address}", a.answer(a.show))
	a.mux.HandleFunc("POST "+Prefix+"manifests", a.answer(a.publish))
	a.mux.HandleFunc("GET "+Prefix+"manifests/{digest}", a.answer(a.manifest))
	a.mux.HandleFunc("POST "+Prefix+"search", a.answer(a.search))
	return a
}

func (a *Almanac) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// An entry is a registration as it is stored and shown.
type entry struct {
	Address   identity.Address   `json:"address"`
	Prefix    string             `json:"prefix"`
	Endpoints []uagents.Endpoint `json:"endpoints"`
	Protocols []string           `json:"protocols"`
	Metadata  json.RawMessage    `json:"metadata,omitempty"`
	Expiry    time.Time          `json:"expiry"`
	Status    string             `json:"status"`

	// When the agent signed the registration and its last status.
	Signed       int64 `json:"signed,omitempty"`
	StatusSigned int64 `json:"status_signed,omitempty"`
}

// answer wraps a call: it reads the body, writes JSON, and turns errors into
// statuses with the reason in "detail", as the service does.
func (a *Almanac) answer(call func(r *http.Request, body []byte) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var result any
		if err == nil {
			result, err = call(r, body)
		} else {
			err = fault.Errorf(fault.TooLarge, "", "over %d bytes", maxBody)
		}
		status := http.StatusOK
		if err != nil {
			status = statusOf(err)
			text := "internal error"
			if coded, ok := errors.AsType[*fault.Error](err); ok && status < 500 {
				text = coded.Error()
			} else {
				a.log.Error("the almanac failed", "error", err)
			}
			result = map[string]string{"detail": text}
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(result) // the client is gone if this fails
	}
}

func statusOf(err error) int {
	switch fault.CodeOf(err) {
	case fault.NotFound:
		return http.StatusNotFound
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Unverified, fault.Malformed, fault.Expired, fault.Unsupported:
		return http.StatusBadRequest
	case fault.Conflict:
		return http.StatusConflict
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (a *Almanac) register(r *http.Request, body []byte) (any, error) {
	return struct{}{}, a.keep(r.Context(), body)
}

func (a *Almanac) registerBatch(r *http.Request, body []byte) (any, error) {
	var batch struct{ Attestations []json.RawMessage }
	if json.Unmarshal(body, &batch) != nil {
		return nil, fault.Errorf(fault.Malformed, "attestations", "expected an object with a list of registrations")
	}
	if len(batch.Attestations) > maxBatch {
		return nil, fault.Errorf(fault.TooLarge, "attestations", "%d, at most %d are taken", len(batch.Attestations), maxBatch)
	}
	return struct{}{}, a.keep(r.Context(), batch.Attestations...)
}

// check proves that the agent itself registers, and does so now: a registration
// that somebody recorded cannot be used again later. A bureau signs its batch
// once and sends it for as long as it runs, so old ones are refused only after
// the time for which a registration stands.
func (a *Almanac) check(reg *uagents.Registration) error {
	if err := reg.Verify(a.verifier); err != nil {
		return err
	}
	if p := identity.ParseIdentifier(reg.Identifier).Prefix; p != "" && p != "agent" && p != "test-agent" {
		return fault.Errorf(fault.Unsupported, "agent_identifier", "expected the prefix agent or test-agent, found %.64q", p)
	}
	age := time.Since(time.Unix(reg.Timestamp, 0))
	if age > lifetime || age < -skew {
		return fault.Errorf(fault.Expired, "timestamp", "signed %s ago", age.Round(time.Second))
	}
	return nil
}

// keep writes registrations, all or none.
func (a *Almanac) keep(ctx context.Context, attestations ...json.RawMessage) error {
	var all []*uagents.Registration
	for _, text := range attestations {
		reg, err := uagents.DecodeRegistration(text)
		if err == nil {
			err = a.check(reg)
		}
		if err != nil {
			return err
		}
		all = append(all, reg)
	}
	slices.SortStableFunc(all, func(a, b *uagents.Registration) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	a.writing.Lock()
	defer a.writing.Unlock()
	entries := make(map[string]any)
	for _, reg := range all {
		e, err := a.renewed(ctx, reg)
		if err != nil {
			return err
		}
		entries[string(e.Address)] = e
	}
	return a.put(ctx, shelfOfAgents, entries)
}

// renewed is the entry that a registration makes of the one that is there. What
// the agent signed before that one does not count any more.
func (a *Almanac) renewed(ctx context.Context, reg *uagents.Registration) (entry, error) {
	id := identity.ParseIdentifier(reg.Identifier)
	e, err := a.find(ctx, id.Address)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		e = entry{Status: "active"}
	case err != nil:
		return entry{}, err
	case reg.Timestamp < e.Signed:
		return entry{}, fault.Errorf(fault.Conflict, "timestamp", "%s has signed another registration %d s later", id.Address, e.Signed-reg.Timestamp)
	}
	return entry{
		Address: id.Address, Prefix: id.Prefix, Endpoints: list(reg.Endpoints), Protocols: list(reg.Protocols), Metadata: reg.Metadata,
		Expiry: time.Now().Add(lifetime).UTC(), Status: e.Status, Signed: reg.Timestamp, StatusSigned: e.StatusSigned,
	}, nil
}

// list is never null where it is shown: the library would not read that.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

const (
	shelfOfAgents    = "agent/"
	shelfOfManifests = "manifest/"
)

// put writes entries, by their names, if there is room for all of them. The caller
// holds the lock.
func (a *Almanac) put(ctx context.Context, under string, entries map[string]any) error {
	most, size := maxAgents, maxEntry
	if under == shelfOfManifests {
		most, size = maxManifests, maxManifest
	}
	if err := a.sweep(ctx); err != nil {
		return err
	}
	b, added := &parley.Batch{Agent: shelf}, 0
	for name, value := range entries {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if len(text) > size {
			return fault.Errorf(fault.TooLarge, "", "%d bytes, at most %d are stored", len(text), size)
		}
		_, known, err := a.store.Get(ctx, shelf, under+name)
		if err != nil {
			return err
		}
		if !known {
			added++
		}
		b.Set = append(b.Set, parley.KeyValue{Key: under + name, Value: text})
	}
	if added > 0 && a.stored[under]+added > most {
		return fault.Errorf(fault.Unavailable, "", "the almanac is full: it has room for %d entries of this kind", most)
	}
	if err := a.store.Commit(ctx, b); err != nil {
		return err
	}
	a.stored[under] += added
	return nil
}

// sweep takes out what has expired, now and then, and counts what stays.
func (a *Almanac) sweep(ctx context.Context) error {
	if a.stored != nil && time.Since(a.swept) < sweepEvery {
		return nil
	}
	stored := make(map[string]int)
	for _, under := range []string{shelfOfAgents, shelfOfManifests} {
		for after := ""; ; {
			keys, err := a.store.Keys(ctx, shelf, under, after, 256)
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				break
			}
			gone := &parley.Batch{Agent: shelf}
			for _, key := range keys {
				after = key
				if under == shelfOfAgents {
					if _, err := a.find(ctx, identity.Address(strings.TrimPrefix(key, under))); fault.CodeOf(err) == fault.NotFound {
						gone.Delete = append(gone.Delete, key)
						continue
					}
				}
				stored[under]++
			}
			if len(gone.Delete) > 0 {
				if err := a.store.Commit(ctx, gone); err != nil {
					return err
				}
			}
		}
	}
	a.stored, a.swept = stored, time.Now()
	return nil
}

// find returns a stored registration that has not expired.
func (a *Almanac) find(ctx context.Context, address identity.Address) (entry, error) {
	text, ok, err := a.store.Get(ctx, shelf, shelfOfAgents+string(address))
	if err != nil {
		return entry{}, err
	}
	var e entry
	if ok {
		err = json.Unmarshal(text, &e)
	}
	if err == nil && (!ok || time.Now().After(e.Expiry)) {
		err = fault.Errorf(fault.NotFound, "", "no agent %s is registered", address)
	}
	return e, err
}

func (a *Almanac) updateStatus(r *http.Request, body []byte) (any, error) {
	update, err := uagents.DecodeStatusUpdate(body)
	if err != nil {
		return nil, err
	}
	address := identity.Address(r.PathValue("address"))
	if identity.ParseIdentifier(update.Identifier).Address != address {
		return nil, fault.Errorf(fault.Malformed, "agent_identifier", "it is not the agent of the path")
	}
	if err := update.Verify(a.verifier); err != nil {
		return nil, err
	}
	if age := time.Since(time.Unix(update.Timestamp, 0)); age > skew || age < -skew {
		return nil, fault.Errorf(fault.Expired, "timestamp", "signed %s ago", age.Round(time.Second))
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	e, err := a.find(r.Context(), address)
	if fault.CodeOf(err) == fault.NotFound {
		return struct{}{}, nil // agents say that they start before they register
	}
	if err != nil {
		return nil, err
	}
	if update.Timestamp < e.StatusSigned {
		return nil, fault.Errorf(fault.Conflict, "timestamp", "the agent has signed another status %d s later", e.StatusSigned-update.Timestamp)
	}
	e.StatusSigned = update.Timestamp
	e.Status = map[bool]string{true: "active", false: "inactive"}[update.Active]
	return struct{}{}, a.put(r.Context(), shelfOfAgents, map[string]any{string(address): e})
}

func (a *Almanac) show(r *http.Request, _ []byte) (any, error) {
	address := identity.Address(r.PathValue("address"))
	e, err := a.lookup(r.Context(), address)
	if err != nil {
		return nil, err
	}
	if prefix := r.URL.Query().Get("prefix"); prefix != "" && e.Prefix != "" && prefix != e.Prefix {
		return nil, fault.Errorf(fault.NotFound, "", "%s is registered as %s, not as %s", address, e.Prefix, prefix)
	}
	return e, nil
}

// lookup finds an agent of the node or a registered one.
func (a *Almanac) lookup(ctx context.Context, address identity.Address) (entry, error) {
	if a.host != nil {
		if info, ok := a.host.Agent(address); ok {
			return ownEntry(info), nil
		}
	}
	return a.find(ctx, address)
}

func ownEntry(info parley.AgentInfo) entry {
	e := entry{Address: info.Address, Endpoints: []uagents.Endpoint{}, Protocols: list(info.Protocols), Expiry: time.Now().Add(lifetime).UTC(), Status: "active"}
	for _, endpoint := range info.Endpoints {
		e.Endpoints = append(e.Endpoints, uagents.Endpoint{URL: endpoint.URL, Weight: int64(endpoint.Weight)})
	}
	return e
}

func (a *Almanac) publish(r *http.Request, body []byte) (any, error) {
	return struct{}{}, a.Publish(r.Context(), body)
}

// Publish stores a manifest. One that is wrong about its own digests is refused.
func (a *Almanac) Publish(ctx context.Context, manifest []byte) error {
	digests, err := spec.ManifestDigests(manifest, "")
	if err != nil {
		return err
	}
	if len(digests.Stale) > 0 {
		return fault.Errorf(fault.Malformed, "digest", "the manifest says %s, its schemas give %s", digests.Stale[0].Stated, digests.Stale[0].Actual)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	return a.put(ctx, shelfOfManifests, map[string]any{digests.Protocol: json.RawMessage(manifest)})
}

// Find returns the addresses of agents that speak a protocol; see
// [parley.Finder].
func (a *Almanac) Find(ctx context.Context, protocol string, limit int) ([]identity.Address, error) {
	entries, err := a.speaking(ctx, protocol, limit)
	var found []identity.Address
	for _, e := range entries {
		found = append(found, e.Address)
	}
	return found, err
}

func (a *Almanac) manifest(r *http.Request, _ []byte) (any, error) {
	text, ok, err := a.store.Get(r.Context(), shelf, shelfOfManifests+r.PathValue("digest"))
	if err == nil && !ok {
		err = fault.Errorf(fault.NotFound, "", "no such manifest was published")
	}
	return json.RawMessage(text), err
}

// search finds agents by the digest of a protocol, which is what broadcasts of
// the library ask for.
func (a *Almanac) search(r *http.Request, body []byte) (any, error) {
	var query struct{ Text string }
	if json.Unmarshal(body, &query) != nil {
		return nil, fault.Errorf(fault.Malformed, "text", "expected an object with the digest of a protocol as its text")
	}
	wanted := "proto:" + strings.TrimPrefix(query.Text, "proto:")
	found, err := a.speaking(r.Context(), wanted, maxListed)
	if found == nil {
		found = []entry{}
	}
	return found, err
}

// speaking lists active agents that speak a protocol.
func (a *Almanac) speaking(ctx context.Context, protocol string, limit int) ([]entry, error) {
	var found []entry
	speaks := func(e entry) bool {
		if slices.Contains(e.Protocols, protocol) {
			return e.Status == "active"
		}
		return false
	}
	if a.host != nil {
		for info := range a.host.Agents() {
			if e := ownEntry(info); speaks(e) && len(found) < limit {
				found = append(found, e)
			}
		}
	}
	after := ""
	for len(found) < limit {
		keys, err := a.store.Keys(ctx, shelf, shelfOfAgents, after, 256)
		if err != nil || len(keys) == 0 {
			return found, err
		}
		for _, key := range keys {
			after = key
			e, err := a.find(ctx, identity.Address(strings.TrimPrefix(key, shelfOfAgents)))
			if err == nil && speaks(e) && len(found) < limit {
				found = append(found, e)
			}
		}
	}
	return found, nil
}

// Resolve finds the endpoints of a registered agent; see [parley.Resolver].
func (a *Almanac) Resolve(ctx context.Context, address identity.Address) ([]parley.Endpoint, error) {
	e, err := a.find(ctx, address)
	if err != nil {
		return nil, err
	}
	var endpoints []parley.Endpoint
	for _, endpoint := range e.Endpoints {
		endpoints = append(endpoints, parley.Endpoint{URL: endpoint.URL, Weight: int(endpoint.Weight)})
	}
	return endpoints, nil
}
