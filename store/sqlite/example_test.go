package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/store/sqlite"
)

// A message and the mark by which it is known again are stored together. When it
// comes a second time nothing is stored, and the error says what became of it.
func Example() {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(filepath.Join(dir, "parley.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	ctx := context.Background()
	batch := &parley.Batch{
		Agent: "agent1alice",
		Marks: []parley.Mark{{ID: "envelope 7", Inbox: "message 7", Expires: time.Now().Add(time.Hour)}},
		Inbox: []parley.InboxEntry{{ID: "message 7", Message: parley.Message{From: "agent1bob", To: "agent1alice", Payload: []byte(`{"text": "hello"}`)}}},
	}
	for range 2 {
		err := store.Commit(ctx, batch)
		if seen, ok := errors.AsType[*parley.SeenError](err); ok {
			fmt.Println("a repeat of", seen.Mark.Inbox)
		} else if err != nil {
			log.Fatal(err)
		}
	}

	entries, err := store.Inbox(ctx, "agent1alice", 0, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Printf("%s from %s: %s\n", e.ID, e.Message.From, e.Message.Payload)
	}
	// Output:
	// a repeat of message 7
	// message 7 from agent1bob: {"text": "hello"}
}
