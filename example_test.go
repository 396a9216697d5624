package parley_test

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/store/memory"
)

type (
	Greet struct {
		Name string `json:"name"`
	}
	Greeting struct {
		Text string `json:"text"`
	}
)

// host runs agents in a node until the returned function is called. Programs use
// package run instead.
func host(agents ...*parley.Agent) (stop func()) {
	node, err := parley.NewNode(&parley.NodeOptions{Store: memory.New()})
	if err != nil {
		panic(err)
	}
	for i, a := range agents {
		key, err := identity.FromSeed(fmt.Sprint("example ", i), 0)
		if err != nil {
			panic(err)
		}
		a.SetKey(key)
	}
	if err := node.Add(agents...); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	for !node.Ready() {
		time.Sleep(time.Millisecond)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			panic(err)
		}
	}
}

// An agent answers each message type with a plain Go function.
func ExampleHandle() {
	hello := parley.NewAgent("hello", nil)
	parley.Handle(hello, func(_ context.Context, _ *parley.Turn, in Greet) (Greeting, error) {
		if in.Name == "" {
			return Greeting{}, parley.Errorf(fault.Malformed, "who are you?")
		}
		return Greeting{Text: "Hello, " + in.Name}, nil
	})
	visitor := parley.NewAgent("visitor", nil)
	defer host(hello, visitor)()
	ctx := context.Background()

	greeting, err := parley.Ask[Greeting](ctx, visitor, hello.Address(), Greet{Name: "Ada"})
	fmt.Println(greeting.Text, err)

	_, err = parley.Ask[Greeting](ctx, visitor, hello.Address(), Greet{})
	fmt.Println(err)
	// Output:
	// Hello, Ada <nil>
	// refused: who are you?
}

// What a handler stores survives, and two handlers that run at once do not lose
// each other's changes.
func ExampleSave() {
	counter := parley.NewAgent("counter", nil)
	parley.Handle(counter, func(ctx context.Context, t *parley.Turn, in Greet) (Greeting, error) {
		visits, _, err := parley.Load[int](ctx, t, "visits/"+in.Name)
		if err != nil {
			return Greeting{}, err
		}
		return Greeting{Text: fmt.Sprintf("%s, visit %d", in.Name, visits+1)}, parley.Save(t, "visits/"+in.Name, visits+1)
	})
	visitor := parley.NewAgent("visitor", nil)
	defer host(counter, visitor)()

	for range 2 {
		greeting, err := parley.Ask[Greeting](context.Background(), visitor, counter.Address(), Greet{Name: "Ada"})
		fmt.Println(greeting.Text, err)
	}
	// Output:
	// Ada, visit 1 <nil>
	// Ada, visit 2 <nil>
}
