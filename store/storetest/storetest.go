// Package storetest holds the promises of parley.Store as a test suite.
//
// An implementation runs it with one line:
//
//	func TestStore(t *testing.T) { storetest.Run(t, open) }
//
// and one that survives the process with another:
//
//	func TestDurableStore(t *testing.T) { storetest.RunDurable(t, openIn) }
//
// A broken store fails the suite and never hangs it: every call is watched.
package storetest

import (
	"testing"

	"github.com/parley-agents/parley"
)

// Run tests the store that open returns, which must be empty. Each promise gets
// its own store; open uses t.Cleanup to release what it acquires, and must allow
// for a store that is closed already.
func Run(t *testing.T, open func(t *testing.T) parley.Store) {
	for _, promise := range promises {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, watch(t, open(t))) })
	}
}

// RunDurable tests that what was committed to a store is there when it is opened
// again in the same folder. open must not close the store by itself.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) parley.Store) {
	for _, promise := range durablePromises {
		t.Run(promise.name, func(t *testing.T) {
			dir := t.TempDir()
			var current *watched
			t.Cleanup(func() {
				if current != nil {
					_ = current.Store.Close()
				}
			})
			promise.check(t, func() parley.Store {
				t.Helper()
				if current != nil {
					if err := current.Close(); err != nil {
						t.Fatalf("Close = %v, want nil", err)
					}
				}
				current = watch(t, open(t, dir))
				return current
			})
		})
	}
}

// promises are those of every store, each with the function that checks it.
var promises = []struct {
	name  string
	check func(*testing.T, parley.Store)
}{
	{"a batch is applied whole", batchIsWhole},
	{"a batch of nothing is no error", emptyBatch},
	{"a seen mark changes nothing and names the first", seenMark},
	{"a mark seen twice in one batch is seen", markTwiceInBatch},
	{"a dialogue at another version is a conflict and changes nothing", dialogueConflict},
	{"a dialogue advances by one version", dialogueAdvances},
	{"an inbox ID that waits is a conflict and changes nothing", inboxConflict},
	{"parts of a batch are applied in their order", partsInOrder},
	{"the batches of a commit are applied together", batchesTogether},
	{"dialogues in which something is due come in order of time", dueDialogues},
	{"two agents do not see each other", agentsAreApart},
	{"neither side shares memory with the other", noSharedMemory},
	{"all bytes and times survive", contentsSurvive},

	{"inbox entries come in order of Seq, from after, up to limit", inboxOrder},
	{"an entry that is done is gone", doneIsGone},
	{"a retry is remembered", retryIsRemembered},
	{"Waiting names the agents with entries that are not done", waitingAgents},
	{"a Seq is never given twice", seqIsNew},

	{"outbox entries come by target, in order of Seq, from after, up to limit", outboxOrder},
	{"an outbox ID that exists stays as it is", outboxStays},
	{"only pending entries are to be sent", outboxStates},
	{"an outcome changes what it says and nothing else", outcomes},
	{"Targets names those with pending entries", pendingTargets},
	{"an outbox entry is found by its ID, or not found", outboxEntry},
	{"replies are found by what they answer", replies},

	{"an empty value is there, an absent one is not", emptyValues},
	{"the last write of a key wins", lastWriteWins},
	{"keys come in order of bytes, by prefix, from after, up to limit", keys},
	{"dead letters stay until they are dug out", deadLetters},
	{"the log is read from a place, by agent and by session", logQueries},
	{"the last records of the log come in order", logLast},

	{"Trim deletes what is old and nothing else", trim},
	{"Trim deletes a bounded number and says if there is more", trimIsBounded},

	{"concurrent commits land once each", concurrentCommits},
	{"of many who bring a mark one is first", oneIsFirst},
	{"of many who advance a dialogue one does", oneAdvances},
	{"a failing batch does not harm others", failuresStayAlone},
	{"what was committed is read at once", readYourWrites},
	{"an ended context applies all or nothing", endedContext},
	{"a closed store refuses", closedRefuses},
	{"Close waits for commits or refuses them", closeUnderLoad},
}

// durablePromises are those of a store that survives the process. reopen closes
// the store, if there is one, and opens it in the same folder.
var durablePromises = []struct {
	name  string
	check func(t *testing.T, reopen func() parley.Store)
}{
	{"everything is there after a restart", everythingStays},
	{"what is gone stays gone after a restart", goneStaysGone},
	{"a Seq is never given twice, also after a restart", seqIsNewAfterRestart},
	{"commits under way when a store is closed are there or were refused", closedUnderLoadStays},
}
