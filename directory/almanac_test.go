package directory_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/internal/vectors"
	"github.com/parley-agents/parley/store/memory"
	"github.com/parley-agents/parley/wire/uagents"
)

func key(t *testing.T, seed string) *identity.Key {
	t.Helper()
	k, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func open(t *testing.T) (url string, a *directory.Almanac) {
	t.Helper()
	a = directory.NewAlmanac(memory.New(), nil, nil)
	return serve(t, a), a
}

func serve(t *testing.T, a *directory.Almanac) (url string) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return server.URL + "/v1/almanac"
}

func post(t *testing.T, url string, body []byte) (status int, text string) {
	t.Helper()
	response, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func registration(t *testing.T, k *identity.Key, url string, at time.Time) []byte {
	t.Helper()
	r := &uagents.Registration{
		Identifier: "agent://" + string(k.Address()), Protocols: []string{"proto:" + strings.Repeat("ab", 32)},
		Endpoints: []uagents.Endpoint{{URL: url, Weight: 1}}, Metadata: json.RawMessage(`{}`),
	}
	if err := r.Sign(k, at); err != nil {
		t.Fatal(err)
	}
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestARegisteredAgentIsFound(t *testing.T) {
	url, _ := open(t)
	alice := key(t, "alice")
	client := directory.NewClient(url)

	if status, text := post(t, url+"/agents", registration(t, alice, "http://a/submit", time.Now())); status != 200 {
		t.Fatalf("status %d: %s", status, text)
	}
	endpoints, err := client.Resolve(t.Context(), alice.Address())
	if err != nil || len(endpoints) != 1 || endpoints[0].URL != "http://a/submit" {
		t.Errorf("Resolve = %v, %v", endpoints, err)
	}
	_, err = client.Resolve(t.Context(), key(t, "bob").Address())
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown agent: %v, want not_found", err)
	}
	status, text := post(t, url+"/search", []byte(`{"text": "`+strings.Repeat("ab", 32)+`"}`))
	if status != 200 || !strings.Contains(text, string(alice.Address())) {
		t.Errorf("search: %d %s", status, text)
	}
}

func TestOnlyTheAgentItselfRegisters(t *testing.T) {
	url, a := open(t)
	alice := key(t, "alice")
	good := string(registration(t, alice, "http://a/submit", time.Now()))
	for name, body := range map[string]string{
		"changed":         strings.Replace(good, "http://a", "http://evil", 1),
		"somebody else's": strings.Replace(good, string(alice.Address()), string(key(t, "bob").Address()), 1),
		"recorded":        string(registration(t, alice, "http://a/submit", time.Now().Add(-49*time.Hour))),
		"from the future": string(registration(t, alice, "http://a/submit", time.Now().Add(time.Hour))),
		"no JSON":         "{",
		"a list":          "[]",
	} {
		if status, text := post(t, url+"/agents", []byte(body)); status != 400 || !strings.Contains(text, "detail") {
			t.Errorf("%s: %d %s, want 400", name, status, text)
		}
	}
	if _, err := a.Resolve(t.Context(), alice.Address()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("something was registered: %v", err)
	}
}

func TestABatchIsRegisteredWholeOrNotAtAll(t *testing.T) {
	url, a := open(t)
	alice, bob := key(t, "alice"), key(t, "bob")
	good := registration(t, alice, "http://a/submit", time.Now())
	other := registration(t, bob, "http://b/submit", time.Now())
	forged := []byte(strings.Replace(string(other), "http://b", "http://evil", 1))
	batch := func(items ...[]byte) []byte {
		return append(append([]byte(`{"attestations":[`), bytes.Join(items, []byte(","))...), "]}"...)
	}
	if status, _ := post(t, url+"/agents/batch", batch(good, forged)); status != 400 {
		t.Errorf("a batch with a forged one: %d", status)
	}
	if _, err := a.Resolve(t.Context(), alice.Address()); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("half of a batch was registered: %v", err)
	}
	if status, text := post(t, url+"/agents/batch", batch(good, other)); status != 200 {
		t.Errorf("a good batch: %d %s", status, text)
	}
	if _, err := a.Resolve(t.Context(), bob.Address()); err != nil {
		t.Error(err)
	}
}

func TestAnAgentThatStopsIsInactive(t *testing.T) {
	url, _ := open(t)
	alice := key(t, "alice")
	if status, text := post(t, url+"/agents", registration(t, alice, "http://a/submit", time.Now())); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	update := &uagents.StatusUpdate{Identifier: "agent://" + string(alice.Address()), Active: false}
	if err := update.Sign(alice, time.Now()); err != nil {
		t.Fatal(err)
	}
	body, err := update.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if status, text := post(t, url+"/agents/"+string(alice.Address())+"/status", body); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := post(t, url+"/search", []byte(`{"text": "`+strings.Repeat("ab", 32)+`"}`)); status != 200 || strings.TrimSpace(text) != "[]" {
		t.Errorf("search still finds it: %d %s", status, text)
	}
	if status, _ := post(t, url+"/agents/"+string(key(t, "bob").Address())+"/status", body); status != 400 {
		t.Errorf("a status for another agent: %d, want 400", status)
	}
}

func TestManifestsAreKeptUnderTheirDigest(t *testing.T) {
	url, _ := open(t)
	var file struct {
		Protocols []struct {
			Digest   string
			Manifest json.RawMessage
		}
	}
	text, err := vectors.Read("protocols.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	first := file.Protocols[0]
	if status, text := post(t, url+"/manifests", first.Manifest); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	response, err := http.Get(url + "/manifests/" + first.Digest)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("reading it back: %d", response.StatusCode)
	}
	wrong := []byte(strings.Replace(string(first.Manifest), first.Digest, "proto:"+strings.Repeat("0", 64), 1))
	if status, _ := post(t, url+"/manifests", wrong); status != 400 {
		t.Errorf("a manifest that is wrong about itself: %d, want 400", status)
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	url, _ := open(t)
	if status, _ := post(t, url+"/agents", make([]byte, 2<<20)); status != 413 {
		t.Errorf("two mebibytes: %d, want 413", status)
	}
}
