package directory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/wire/uagents"
)

func statusUpdate(t *testing.T, k *identity.Key, active bool, at time.Time) []byte {
	t.Helper()
	update := &uagents.StatusUpdate{Identifier: "agent://" + string(k.Address()), Active: active}
	if err := update.Sign(k, at); err != nil {
		t.Fatal(err)
	}
	body, err := update.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// U19: what an agent said before its last word cannot be said again by somebody
// who recorded it; a bureau may repeat its last word.
func TestU19WhatWasSignedEarlierDoesNotCount(t *testing.T) {
	url, a := open(t)
	alice, bob := key(t, "alice"), key(t, "bob")
	now := time.Now()
	old, moved := registration(t, alice, "http://old/submit", now.Add(-time.Hour)), registration(t, alice, "http://new/submit", now)
	status := url + "/agents/" + string(alice.Address()) + "/status"
	for _, step := range []struct {
		name, url string
		body      []byte
		want      int
	}{
		{"the first registration", url + "/agents", old, 200},
		{"after the agent moved", url + "/agents", moved, 200},
		{"the recorded one", url + "/agents", old, 409},
		{"the recorded one in a batch", url + "/agents/batch", []byte(`{"attestations":[` + string(registration(t, bob, "http://b/submit", now)) + "," + string(old) + "]}"), 409},
		{"the last one again", url + "/agents", moved, 200},
		{"it stops", status, statusUpdate(t, alice, false, now.Add(-time.Minute)), 200},
		{"it starts", status, statusUpdate(t, alice, true, now), 200},
		{"the recorded stop", status, statusUpdate(t, alice, false, now.Add(-time.Minute)), 409},
	} {
		if got, text := post(t, step.url, step.body); got != step.want {
			t.Errorf("%s: %d %s, want %d", step.name, got, text, step.want)
		}
	}
	if endpoints, err := a.Resolve(t.Context(), alice.Address()); err != nil || len(endpoints) != 1 || endpoints[0].URL != "http://new/submit" {
		t.Errorf("Resolve = %v, %v", endpoints, err)
	}
	if _, err := a.Resolve(t.Context(), bob.Address()); err == nil {
		t.Error("half of a batch was registered")
	}
	if _, text := post(t, url+"/search", []byte(`{"text": "`+strings.Repeat("ab", 32)+`"}`)); !strings.Contains(text, string(alice.Address())) {
		t.Errorf("the recorded stop was believed: %s", text)
	}
}

// Of a batch all is registered or nothing, and of one agent in it the last word counts.
func TestABatchIsRegisteredAsAWhole(t *testing.T) {
	url, a := open(t)
	now := time.Now()
	batch := func(all ...[]byte) []byte {
		return []byte(`{"attestations":[` + string(bytes.Join(all, []byte(","))) + `]}`)
	}
	alice, bob := key(t, "alice"), key(t, "bob")
	long := registration(t, bob, "http://"+strings.Repeat("b", 100_000)+"/submit", now)
	if status, text := post(t, url+"/agents/batch", batch(registration(t, alice, "http://a/submit", now.Add(-time.Minute)), long)); status != 413 {
		t.Errorf("one that is too large: %d %s", status, text)
	}
	if _, err := a.Resolve(t.Context(), alice.Address()); err == nil {
		t.Error("half of a batch was registered")
	}
	moved := batch(registration(t, alice, "http://new/submit", now), registration(t, alice, "http://old/submit", now.Add(-time.Minute)))
	if status, text := post(t, url+"/agents/batch", moved); status != 200 {
		t.Errorf("one agent twice: %d %s", status, text)
	}
	if endpoints, err := a.Resolve(t.Context(), alice.Address()); err != nil || len(endpoints) != 1 || endpoints[0].URL != "http://new/submit" {
		t.Errorf("Resolve = %v, %v, want what was signed last", endpoints, err)
	}
}

// An agent that was stopped for longer than a registration stands is active when
// it is back, and what has expired is taken out.
func TestWhatHasExpiredIsForgotten(t *testing.T) {
	store := memory.New()
	alice, bob := key(t, "alice"), key(t, "bob")
	for _, k := range []*identity.Key{alice, bob} {
		expired, _ := json.Marshal(map[string]any{"address": k.Address(), "status": "inactive", "expiry": time.Now().Add(-time.Hour)})
		b := &parley.Batch{Agent: "directory", Set: []parley.KeyValue{{Key: "agent/" + string(k.Address()), Value: expired}}}
		if err := store.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	a := directory.NewAlmanac(store, nil, nil)
	url := serve(t, a)
	for _, k := range []*identity.Key{alice, key(t, "carol")} {
		if status, text := post(t, url+"/agents", registration(t, k, "http://a/submit", time.Now())); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	found, err := a.Find(t.Context(), "proto:"+strings.Repeat("ab", 32), 10)
	if err != nil || len(found) != 2 {
		t.Errorf("Find = %v, %v, want the two that registered", found, err)
	}
	if _, there, err := store.Get(context.Background(), "directory", "agent/"+string(bob.Address())); there || err != nil {
		t.Errorf("the expired one is still stored: %v, %v", there, err)
	}
}

// What is refused says why in words for the one who asks, and lists are never
// null, which the library would not read.
func TestOddRegistrations(t *testing.T) {
	url, _ := open(t)
	k := key(t, "odd")
	sign := func(change func(*uagents.Registration)) []byte {
		r := &uagents.Registration{Identifier: "agent://" + string(k.Address()), Protocols: []string{}, Endpoints: []uagents.Endpoint{}, Metadata: json.RawMessage("{}")}
		change(r)
		if err := r.Sign(k, time.Now()); err != nil {
			t.Fatal(err)
		}
		body, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"/agents", string(sign(func(r *uagents.Registration) { r.Identifier = "evil://" + string(k.Address()) })), 400, "expected the prefix agent or test-agent"},
		{"/agents", string(sign(func(r *uagents.Registration) { r.Protocols = slices.Repeat([]string{"proto:x"}, 10_000) })), 413, "at most 65536 are stored"},
		{"/agents", string(sign(func(r *uagents.Registration) { r.Identifier = "test-" + r.Identifier })), 200, "{}"},
		{"/agents/batch", "[]", 400, "expected an object with a list"},
		{"/agents/batch", "{}", 200, "{}"},
		{"/search", `{"text": 5}`, 400, "expected an object with the digest"},
	} {
		if status, text := post(t, url+c.path, []byte(c.body)); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %.100s: %d %s, want %d %s", c.path, c.body, status, text, c.status, c.text)
		}
	}
	for query, want := range map[string]int{"": 200, "?prefix=test-agent": 200, "?prefix=agent": 404} {
		response, err := http.Get(url + "/agents/" + string(k.Address()) + query)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != want || want == 200 && !strings.Contains(string(text), `"endpoints":[],"protocols":[]`) {
			t.Errorf("%q: %d %s", query, response.StatusCode, text)
		}
	}
}
