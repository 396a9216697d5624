package directory_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-agents/parley/directory"
	"github.com/parley-agents/parley/fault"
)

// Other Almanacs write what nobody needs in their own way.
func TestAnswersOfOtherAlmanacs(t *testing.T) {
	for answer, want := range map[string]string{
		`{"endpoints": [{"url": "http://a/submit", "weight": 1.0}], "expiry": "2036-01-01T00:00:00", "prefix": null, "protocols": {}}`: "[{http://a/submit 1}]",
		`{"endpoints": [{"url": "http://a/submit", "weight": 1e300}], "expiry": "2036-01-01T00:00:00.123456+00:00", "status": 1}`:      "[{http://a/submit 1048576}]",
		`{"endpoints": [{"url": "http://a/submit", "weight": 1}], "expiry": null}`:                                                     string(fault.NotFound), // the library does not believe it either
		`{"endpoints": [], "expiry": "2036-01-01T00:00:00Z"}`:                                                                          string(fault.NotFound),
		`{"endpoints": null, "expiry": "2036-01-01T00:00:00Z"}`:                                                                        string(fault.NotFound),
		`[]`: string(fault.Malformed),
		`{`:  string(fault.Malformed),
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		endpoints, err := directory.NewClient(server.URL).Resolve(t.Context(), key(t, "alice").Address())
		server.Close()
		got := fmt.Sprint(endpoints)
		if err != nil {
			got = string(fault.CodeOf(err))
		}
		if got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}
