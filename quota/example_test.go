package quota_test

import (
	"fmt"
	"time"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/quota"
)

// Prompts are limited to six an hour and sender, everything else is free.
func ExampleNew() {
	agent := parley.NewAgent("assistant", nil)
	limits, err := quota.New(quota.Rules{Messages: map[string]quota.Rule{
		"ContextPrompt":          {Limit: quota.PerHour(6)},
		"StructuredOutputPrompt": {Limit: quota.PerHour(6)},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent.Use(limits.Middleware())
}

// The window opens with the first message. Its last second belongs to it.
func ExampleLedger_Add() {
	limit := quota.Limit{MaxRequests: 2, WindowMinutes: 1}
	start := time.Unix(1_700_000_000, 0)
	ledger := quota.Ledger{}
	for _, after := range []time.Duration{0, 1, 2, 60, 61} {
		fmt.Println(int(after), ledger.Add("Prompt", limit, start.Add(after*time.Second)))
	}
	// Output:
	// 0 true
	// 1 true
	// 2 false
	// 60 false
	// 61 true
}
