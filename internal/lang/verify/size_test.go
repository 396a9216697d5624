package verify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-agents/parley/internal/lang/verify"
	"github.com/parley-agents/parley/spec"
)

// What fits into a source of 64 KiB is judged in no time, also the shapes that are
// unkind to a search: long chains, circles, everything after everything.
func TestLargeProtocols(t *testing.T) {
	for _, tc := range []struct {
		name    string
		n       int
		replies func(i, n int) []int
		by      []string
	}{
		{"a chain", 3000, func(i, n int) []int { return []int{min(i+1, n-1)} }, nil},
		{"a circle", 3000, func(i, n int) []int { return []int{(i + 1) % n} }, nil},
		{"ladders", 2000, func(i, n int) []int { return []int{(i + 1) % n, (i + 2) % n, i} }, []string{"a", "b"}},
		{"everything after everything", 140, everything, []string{"a", "b"}},
		{"islands", 3000, func(i, n int) []int { return []int{i} }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &spec.Protocol{Roles: []spec.Role{{Name: "a"}, {Name: "b"}}, Dialogue: &spec.Dialogue{}}
			for i := range tc.n {
				p.Messages = append(p.Messages, spec.Message{Name: fmt.Sprint("m", i)})
				rule := spec.Rule{Message: fmt.Sprint("m", i), By: tc.by}
				for _, k := range tc.replies(i, tc.n) {
					rule.Replies = append(rule.Replies, fmt.Sprint("m", k))
				}
				p.Rules = append(p.Rules, rule)
			}
			p.Dialogue.Initiates = []spec.Initiation{{Messages: []string{"m0"}, By: []string{"a"}}}
			begin := time.Now()
			found := verify.Protocol(p, verify.Options{Bounds: true}).Findings
			if len(found) == 0 {
				t.Error("nothing was found, though there is no end")
			}
			took := time.Since(begin)
			if t.Logf("%v", took); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func everything(_, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
