// Package parley lets programs hold signed, rule-bound conversations.
//
// An [Agent] is an identity with typed handlers; a [Node] hosts agents.
package parley
