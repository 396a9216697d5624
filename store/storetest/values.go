package storetest

import (
	"slices"
	"testing"

	"github.com/parley-agents/parley"
)

func emptyValues(t *testing.T, s parley.Store) {
	commit(t, s, &parley.Batch{Agent: alice, Set: []parley.KeyValue{{Key: "empty", Value: []byte{}}, {Key: "nil", Value: nil}, {Key: "", Value: []byte("of the empty key")}}})

	for key, want := range map[string]struct {
		value string
		ok    bool
	}{"empty": {"", true}, "nil": {"", true}, "": {"of the empty key", true}, "absent": {"", false}} {
		value, ok, err := s.Get(t.Context(), alice, key)
		if string(value) != want.value || ok != want.ok || err != nil {
			t.Errorf("Get(%q) = %q, %v, %v, want %q, %v, nil", key, value, ok, err, want.value, want.ok)
		}
	}
	if keys := must(s.Keys(t.Context(), alice, "", "", many))(t); !slices.Equal(keys, []string{"empty", "nil"}) {
		t.Errorf("Keys = %q: the empty key is not greater than after, the others are there", keys)
	}
}

func lastWriteWins(t *testing.T, s parley.Store) {
	get := func() string {
		t.Helper()
		value, ok, err := s.Get(t.Context(), alice, "k")
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return "absent"
		}
		return string(value)
	}
	commit(t, s, &parley.Batch{Agent: alice, Set: []parley.KeyValue{{Key: "k", Value: []byte("1")}, {Key: "k", Value: []byte("2")}}})
	if got := get(); got != "2" {
		t.Errorf("of two writes in a batch: %s, want 2", got)
	}
	commit(t, s, &parley.Batch{Agent: alice, Set: []parley.KeyValue{{Key: "k", Value: []byte("3")}}})
	if got := get(); got != "3" {
		t.Errorf("after another batch: %s, want 3", got)
	}
	commit(t, s, &parley.Batch{Agent: alice, Delete: []string{"k"}})
	if got := get(); got != "absent" {
		t.Errorf("after the deletion: %s, want absent", got)
	}
	commit(t, s, &parley.Batch{Agent: alice, Set: []parley.KeyValue{{Key: "k", Value: []byte("4")}}})
	if got := get(); got != "4" {
		t.Errorf("after it was set again: %s, want 4", got)
	}
}

func keys(t *testing.T, s parley.Store) {
	all := []string{"A", "Z", "a", "a%", "a%b", "a*", "a?", "a\\", "a_", "a_b", "aX", "a\x00", "ab", "a\xff", "b", "ä", "日", "\xff", "\xff\xff", "\xff\xffz"}
	b := &parley.Batch{Agent: alice}
	for i := len(all) - 1; i >= 0; i-- {
		b.Set = append(b.Set, parley.KeyValue{Key: all[i]})
	}
	commit(t, s, b)
	commit(t, s, &parley.Batch{Agent: bob, Set: []parley.KeyValue{{Key: "ac"}, {Key: "zz"}}})
	slices.Sort(all)

	for _, tc := range []struct {
		what          string
		prefix, after string
		limit         int
		want          []string
	}{
		{"all", "", "", many, all},
		{"a few", "", "", 3, all[:3]},
		{"none", "", "", 0, nil},
		{"after one", "", all[4], 2, all[5:7]},
		{"after one that is not there", "", "aa", 2, []string{"ab", "a\xff"}},
		{"after the last", "", all[len(all)-1], many, nil},
		{"a prefix that is a key", "a%", "", many, []string{"a%", "a%b"}},
		{"a wildcard is no wildcard", "a_", "", many, []string{"a_", "a_b"}},
		{"nor is a star", "a*", "", many, []string{"a*"}},
		{"a backslash", "a\\", "", many, []string{"a\\"}},
		{"case matters", "A", "", many, []string{"A"}},
		{"part of a letter", "\xe6", "", many, []string{"日"}},
		{"the highest byte", "\xff", "", many, []string{"\xff", "\xff\xff", "\xff\xffz"}},
		{"the highest byte under a letter", "a\xff", "", many, []string{"a\xff"}},
		{"after within a prefix", "a", "a_b", many, []string{"ab", "a\xff"}},
		{"after before the prefix", "b", "a", many, []string{"b"}},
		{"after behind the prefix", "a", "b", many, nil},
		{"no such prefix", "nothing", "", many, nil},
	} {
		if got := must(s.Keys(t.Context(), alice, tc.prefix, tc.after, tc.limit))(t); !slices.Equal(got, tc.want) {
			t.Errorf("%s: Keys(%q, %q, %d) = %q, want %q", tc.what, tc.prefix, tc.after, tc.limit, got, tc.want)
		}
	}
}

func deadLetters(t *testing.T, s parley.Store) {
	ctx := t.Context()
	commit(t, s, &parley.Batch{Agent: alice, Bury: []parley.DeadLetter{letter("a", 3), letter("b", 2)}})
	commit(t, s, &parley.Batch{Agent: bob, Bury: []parley.DeadLetter{letter("c", 1)}})
	commit(t, s, &parley.Batch{Agent: alice, Bury: []parley.DeadLetter{letter("a", 0)}}) // the same once more

	all := must(s.Dead(ctx, 0, many))(t)
	wantIDs(t, "all", ids(all), "a", "b", "c", "a")
	want := letter("c", 1)
	want.Agent = bob
	same(t, "one of them", all[2], want)
	wantIDs(t, "with a limit", ids(must(s.Dead(ctx, 0, 2))(t)), "a", "b")
	wantIDs(t, "after the second", ids(must(s.Dead(ctx, all[1].Seq, 1))(t)), "c")
	wantIDs(t, "after the last", ids(must(s.Dead(ctx, all[3].Seq, many))(t)))

	commit(t, s, &parley.Batch{Agent: alice, Unbury: []int64{all[0].Seq, all[2].Seq}}) // the latter is bob's

	wantIDs(t, "when the first was dug out", ids(must(s.Dead(ctx, 0, many))(t)), "b", "c", "a")
}

// logged fills the log: eight records of alice and bob in two sessions.
func logged(t *testing.T, s parley.Store) []parley.LogRecord {
	t.Helper()
	for i := range 8 {
		r := record("received", i)
		r.Message.Session = []string{"first", "second"}[i/2%2]
		b := &parley.Batch{Agent: alice, Log: []parley.LogRecord{r}}
		if i%2 == 1 {
			b.Agent = bob
		}
		commit(t, s, b)
	}
	all := must(s.Log(t.Context(), parley.LogQuery{Limit: many}))(t)
	wantIDs(t, "all records", ids(all), "0", "1", "2", "3", "4", "5", "6", "7")
	if t.Failed() {
		t.FailNow()
	}
	return all
}

func logQueries(t *testing.T, s parley.Store) {
	all := logged(t, s)
	want := record("received", 5)
	want.Agent, want.Message.Session = bob, "first"
	same(t, "one of them", all[5], want)

	third := all[2].Seq
	for _, tc := range []struct {
		what string
		q    parley.LogQuery
		want []string
	}{
		{"without a limit", parley.LogQuery{}, []string{"0", "1", "2", "3", "4", "5", "6", "7"}},
		{"a few", parley.LogQuery{Limit: 2}, []string{"0", "1"}},
		{"after the third", parley.LogQuery{After: third, Limit: 2}, []string{"3", "4"}},
		{"of alice", parley.LogQuery{Agent: alice}, []string{"0", "2", "4", "6"}},
		{"of alice after the third", parley.LogQuery{Agent: alice, After: third, Limit: 1}, []string{"4"}},
		{"of a session", parley.LogQuery{Session: "first"}, []string{"0", "1", "4", "5"}},
		{"of a session after the third", parley.LogQuery{Session: "first", After: third}, []string{"4", "5"}},
		{"of bob in a session", parley.LogQuery{Agent: bob, Session: "second"}, []string{"3", "7"}},
		{"of nell", parley.LogQuery{Agent: nell}, nil},
		{"of no such session", parley.LogQuery{Session: "third"}, nil},
		{"after the last", parley.LogQuery{After: all[7].Seq}, nil},
	} {
		wantIDs(t, tc.what, ids(must(s.Log(t.Context(), tc.q))(t)), tc.want...)
	}
}

func logLast(t *testing.T, s parley.Store) {
	all := logged(t, s)

	for _, tc := range []struct {
		what string
		q    parley.LogQuery
		want []string
	}{
		{"three", parley.LogQuery{Last: true, Limit: 3}, []string{"5", "6", "7"}},
		{"more than there are", parley.LogQuery{Last: true, Limit: 100}, []string{"0", "1", "2", "3", "4", "5", "6", "7"}},
		{"of alice", parley.LogQuery{Last: true, Agent: alice, Limit: 2}, []string{"4", "6"}},
		{"of a session", parley.LogQuery{Last: true, Session: "second", Limit: 3}, []string{"3", "6", "7"}},
		{"of alice in a session", parley.LogQuery{Last: true, Agent: alice, Session: "first", Limit: 1}, []string{"4"}},
		{"none older than a place", parley.LogQuery{Last: true, After: all[5].Seq, Limit: 5}, []string{"6", "7"}},
		{"of nell", parley.LogQuery{Last: true, Agent: nell, Limit: 5}, nil},
	} {
		wantIDs(t, tc.what, ids(must(s.Log(t.Context(), tc.q))(t)), tc.want...)
	}
}
