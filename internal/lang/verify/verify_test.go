package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/diag"
	"github.com/parley-agents/parley/internal/lang/verify"
	"github.com/parley-agents/parley/spec"
)

// A verdict is a protocol and all that is said about it: mostly one finding, since
// what follows from a mistake is not told.
type verdict struct {
	name, protocol, want string
	trace                string // of the first finding
	bounds               bool
}

var cases = []verdict{
	{name: "a question and its answers", protocol: `
		ask request
		yes response
		no error
		start ask by a
		ask -> yes no within 3s else gone
		yes ->
		no ->
		terminates yes no
		ends done gone
		timeout 30s
		outcome done: yes`},
	{name: "peers that talk freely, whose messages cross without harm", protocol: `
		roles agent[2]
		say inform
		start say
		say -> say ? by agent
		terminates say`},
	{name: "offers that alternate", protocol: `
		offer
		accept
		start offer by a
		offer -> offer accept
		accept ->
		terminates accept`},
	{name: "one side sends twice because the rule says so", protocol: `
		open inform
		part inform
		close inform
		start open by a
		open -> part close by a
		part -> part close by a
		close ->
		terminates close`},
	{name: "one side sends twice because the messages say so", protocol: `
		open inform
		part inform from a
		close inform from a
		start open by a
		open -> part close
		part -> part close
		close ->
		terminates close`},
	{name: "receipts are no part of the machine", protocol: `
		roles agent[2]
		say inform
		ack acknowledge
		never acknowledge
		start say by agent
		say -> ack within 30s
		ack ->
		never ->
		terminates ack
		ends acknowledged lost
		outcome lost: timeout say`},
	{name: "of three roles nothing is said", protocol: `
		roles a b c
		ask request
		start ask`},

	{name: "2101 no way leads there", protocol: `
		ask request
		yes response
		maybe response
		start ask by a
		ask -> yes
		yes ->
		maybe ->
		terminates yes maybe`,
		want: "PAR2101 message 'maybe' can never be sent: no path from 'ask'"},
	{name: "2101 names the first of those that are lost together", protocol: `
		ask
		yes
		far
		farther
		start ask by a
		start yes by b
		ask -> yes
		yes ->
		far -> farther
		farther ->
		terminates yes farther`,
		want: "PAR2101 message 'far' can never be sent: no path from 'ask' or 'yes'"},
	{name: "2101 of a circle that nothing enters", protocol: `
		ask
		left
		right
		start ask by a
		ask ->
		left -> right
		right -> left
		terminates ask`,
		want: "PAR2101 message 'left' can never be sent: no path from 'ask'"},
	{name: "2101 of a message that only leads to itself", protocol: `
		ask
		empty
		start ask
		ask ->
		empty -> empty
		terminates ask`,
		want: "PAR2101 message 'empty' can never be sent: no path from 'ask'"},
	{name: "2101 a message that is sent when time is up is sent", protocol: `
		ask request
		yes response
		sorry inform
		start ask by a
		ask -> yes within 3s else sorry
		yes ->
		sorry ->
		terminates yes sorry`},
	{name: "2101 what would come instead of a receipt never comes", protocol: `
		say inform
		sorry inform
		ack acknowledge
		start say by a
		say -> ack within 3s else sorry
		ack ->
		sorry ->
		terminates sorry`,
		want: "PAR2101 message 'sorry' can never be sent: no path from 'say'"},

	{name: "2102 two messages for ever", protocol: `
		ping request
		pong response
		bye inform
		start ping bye by a
		ping -> pong
		pong -> ping
		bye ->
		terminates bye`,
		want: "PAR2102 after 'ping' no end can be reached: ping -> pong -> ping", trace: "a:ping b:pong a:ping"},
	{name: "2102 with the way to it", protocol: `
		ask
		yes
		spin
		start ask by a
		ask -> yes spin
		yes ->
		spin -> spin
		terminates yes`,
		want: "PAR2102 after 'spin' no end can be reached: ask -> spin -> spin", trace: "a:ask b:spin a:spin"},
	{name: "2102 for each circle without a way out", protocol: `
		roles
		ask
		left
		right
		start ask
		ask -> left right
		left -> left
		right -> right`,
		want: `PAR2102 after 'left' no end can be reached: ask -> left -> left
		PAR2102 after 'right' no end can be reached: ask -> right -> right`, trace: "opener:ask other:left opener:left"},
	{name: "2102 a time limit is an end", protocol: `
		ping
		pong
		start ping by a
		ping -> pong within 3s
		pong -> ping`},
	{name: "2102 so is one of the whole dialogue", protocol: `
		ping
		pong
		start ping by a
		ping -> pong
		pong -> ping
		timeout 1m`},
	{name: "2102 a time limit that leads back is none", protocol: `
		ping
		pong
		start ping by a
		ping -> pong within 3s else ping
		pong -> ping`,
		want: "PAR2102 after 'ping' no end can be reached: ping -> ping", trace: "a:ping a:ping"},

	{name: "2104 no rule", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		terminates yes`,
		want: "PAR2104 message 'yes' has no reply rule"},
	{name: "2104 of a receipt too", protocol: `
		say inform
		ack acknowledge
		start say by a
		say -> ack`,
		want: "PAR2104 message 'ack' has no reply rule"},
	{name: "2104 and not that what it leads to is lost", protocol: `
		ask request
		yes response
		start ask by a
		yes ->
		terminates yes`,
		want: "PAR2104 message 'ask' has no reply rule"},

	{name: "2105 a terminal message with replies", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		yes -> ask
		terminates yes`,
		want: "PAR2105 terminal message 'yes' has replies"},
	{name: "2105 not if the dialogue may rest there", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		yes -> ask ?
		terminates yes`},
	{name: "2105 a receipt with replies", protocol: `
		say inform
		ack acknowledge
		start say by a
		say -> ack
		ack -> say
		terminates ack`,
		want: "PAR2105 receipt 'ack' has replies"},

	{name: "2106 an end that is not said", protocol: `
		ask request
		yes response
		no response
		start ask by a
		ask -> yes no
		yes ->
		no ->
		terminates yes`,
		want: "PAR2106 'no' has no replies but is not in terminates"},
	{name: "2106 a rest that is not said", protocol: `
		say inform
		start say by a
		say -> say ?`,
		want: "PAR2106 the dialogue may rest at 'say', which is not in terminates"},

	{name: "2107 an outcome of its own", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		yes ->
		terminates yes
		ends done
		outcome lots: yes`,
		want: "PAR2107 outcome 'lots' is not an end state"},
	{name: "2107 without a time limit nothing times out", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		yes ->
		terminates yes
		outcome timeout: yes`,
		want: "PAR2107 outcome 'timeout' is not an end state"},
	{name: "2107 with one there is the end state timeout", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes within 3s
		yes ->
		terminates yes
		outcome timeout: timeout ask`},

	{name: "2108 else nothing", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes within 3s else gone
		yes ->
		terminates yes
		ends done`,
		want: "PAR2108 'else gone' is neither an end state nor a message"},
	{name: "2108 and not that a message is lost", protocol: `
		ask request
		yes response
		gome inform
		start ask by a
		ask -> yes within 3s else gone
		yes ->
		gome ->
		terminates yes gome`,
		want: "PAR2108 'else gone' is neither an end state nor a message"},

	{name: "2110 a request without replies", protocol: `
		ask request
		start ask by a
		ask ->
		terminates ask`,
		want: "PAR2110 request 'ask' expects a reply but allows none"},
	{name: "2110 and not that it does not terminate", protocol: `
		ask query
		start ask by a
		ask ->`,
		want: "PAR2110 query 'ask' expects a reply but allows none"},
	{name: "2110 a receipt is no reply", protocol: `
		ask request
		ack acknowledge
		start ask by a
		ask -> ack
		ack ->`,
		want: "PAR2110 request 'ask' expects a reply but allows none"},
	{name: "2110 replies of other classes only", protocol: `
		ask request
		news inform
		start ask by a
		ask -> news
		news ->
		terminates news`,
		want: "PAR2110 request 'ask' expects a response or an error but allows none"},
	{name: "2110 not for replies without a class", protocol: `
		ask request
		news
		start ask by a
		ask -> news
		news ->
		terminates news`},

	{name: "2111 a query and a response", protocol: `
		q query
		r response
		start q by a
		q -> r
		r ->
		terminates r`,
		want: "PAR2111 query 'q' is answered by response 'r'; inform is the usual answer"},
	{name: "2111 not if there is an inform too", protocol: `
		q query
		r response
		i inform
		start q by a
		q -> r i
		r ->
		i ->
		terminates r i`},

	{name: "2112 a response to an inform", protocol: `
		i inform
		x response
		start i by a
		i -> x
		x ->
		terminates x`,
		want: "PAR2112 response 'x' answers 'i', which is not a request"},
	{name: "2112 not to a response: people bargain", protocol: `
		cfp request
		propose response
		accept response
		start cfp by a
		cfp -> propose
		propose -> propose accept
		accept ->
		terminates accept`},

	{name: "2120 a question is answered by the other side", protocol: `
		ask request
		ack inform from a
		yes response
		start ask by a
		ask -> ack yes
		ack ->
		yes ->
		terminates ack yes`,
		want: "PAR2120 'ack' must be sent by 'b' here (answers 'ask' from 'a') but is declared from 'a'", trace: "a:ask a:ack"},
	{name: "2120 the rule against the message", protocol: `
		say inform
		more inform from a
		start say by a
		say -> more by b
		more ->
		terminates more`,
		want: "PAR2120 'more' must be sent by 'b' here (answers 'say' from 'a') but is declared from 'a'", trace: "a:say a:more"},
	{name: "2120 who opens", protocol: `
		ask request from b
		yes response
		start ask by a
		ask -> yes
		yes ->
		terminates yes`,
		want: "PAR2120 'ask' must be sent by 'a' here (initiates) but is declared from 'b'"},
	{name: "2120 a receipt of one's own message", protocol: `
		say inform
		ack acknowledge from a
		start say by a
		say -> ack
		ack ->`,
		want: "PAR2120 'ack' must be sent by 'b' here (confirms 'say' from 'a') but is declared from 'a'", trace: "a:say a:ack"},
	{name: "2120 shows only after a while", protocol: `
		offer request
		counter request
		deal response from b
		no error
		start offer by a
		offer -> counter deal no
		counter -> deal no
		deal ->
		no ->
		terminates deal no`,
		want: "PAR2120 'deal' must be sent by 'a' here (answers 'counter' from 'b') but is declared from 'b'", trace: "a:offer b:counter b:deal"},
	{name: "2120 who may open is solved", protocol: `
		ask request
		yes response from b
		start ask
		ask -> yes
		yes ->
		terminates yes`},

	{name: "2121 both may speak", protocol: `
		open inform
		data inform
		close inform
		start open by a
		open -> data close by a b
		data -> data close
		close ->
		terminates close`,
		want: "PAR2121 after 'open' both sides may send: messages can cross", trace: "a:open a:data b:data"},
	{name: "2121 peers too", protocol: `
		roles agent[2]
		say inform
		bye inform
		start say
		say -> say bye by agent
		bye ->
		terminates bye`,
		want: "PAR2121 after 'say' both sides may send: messages can cross", trace: "opener:say opener:say other:bye"},
	{name: "2121 because the messages have their senders", protocol: `
		open inform
		left inform from a
		right inform from b
		start open by a
		open -> left right
		left ->
		right ->
		terminates left right`,
		want: "PAR2121 after 'open' both sides may send: messages can cross", trace: "a:open a:left b:right"},
	{name: "2121 not if it is meant", protocol: `
		open inform
		close inform
		start open by a
		open -> close by a b
		close ->
		terminates close
		race open`},

	{name: "2140 only if it is asked for", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		yes ->
		terminates yes`},
	{name: "2140 a request that waits for ever", bounds: true, protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes
		yes ->
		terminates yes`,
		want: "PAR2140 request 'ask' can wait forever"},
	{name: "2140 not with a limit", bounds: true, protocol: `
		ask request
		q query
		yes response
		i inform
		start ask q by a
		ask -> yes within 3s
		q -> i within 3s
		yes ->
		i ->
		terminates yes i`},

	{name: "2141 more for the reply than for all", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes within 60s
		yes ->
		terminates yes
		timeout 30s`,
		want: "PAR2141 reply bound 60s is longer than the dialogue's 30s"},
	{name: "2141 in a unit that fits both", protocol: `
		ask request
		yes response
		start ask by a
		ask -> yes within 2h
		yes ->
		terminates yes
		timeout 90m`,
		want: "PAR2141 reply bound 120m is longer than the dialogue's 90m"},

	{name: "2142 a loop without a limit", bounds: true, protocol: `
		say inform
		bye inform
		start say by a
		say -> say bye
		bye ->
		terminates bye`,
		want: "PAR2142 loop say -> say has no time bound", trace: "a:say"},
	{name: "2142 not if one message of it has one", bounds: true, protocol: `
		ping inform
		pong inform
		start ping by a
		ping -> pong
		pong -> ping within 3s`},

	{name: "names that others report lead anywhere", protocol: `
		ask request
		no error
		start ask by a
		ask -> nope
		no ->
		terminates no`},
	{name: "so do those that initiate", protocol: `
		ask request
		yes response
		start aks by a
		ask -> yes
		yes ->
		terminates yes`},
	{name: "one role is played by both sides", protocol: `
		roles agent
		say inform
		start say
		say -> say ?
		terminates say`,
		want: "PAR2005 role 'agent' is alone: there is nobody to answer"},
	{name: "a receipt opens nothing", protocol: `
		ack acknowledge
		start ack
		ack ->`,
		want: "PAR2003 dialogue has no initiating message"},
}

func TestFindings(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			found := verify.Protocol(protocol(t, tc.protocol), verify.Options{Bounds: tc.bounds}).Findings
			var want strings.Builder
			for line := range strings.Lines(tc.want) {
				want.WriteString(strings.TrimSpace(line) + "\n")
			}
			if got := told(found); got != want.String() {
				t.Fatalf("said\n%swant\n%s", got, want.String())
			}
			if len(found) > 0 && way(found[0].Trace) != tc.trace {
				t.Errorf("trace %q, want %q", way(found[0].Trace), tc.trace)
			}
			for _, f := range found {
				if _, known := diag.Lookup(f.Code); !known {
					t.Errorf("%s is not in the registry", f.Code)
				}
				if f.At.Element == 0 {
					t.Errorf("%s has no place", f.Code)
				}
			}
		})
	}
}

func TestEveryCodeHasACase(t *testing.T) {
	for _, code := range []string{
		"PAR2101", "PAR2102", "PAR2104", "PAR2105", "PAR2106", "PAR2107", "PAR2108", "PAR2110", "PAR2111", "PAR2112",
		"PAR2120", "PAR2121", "PAR2140", "PAR2141", "PAR2142",
	} {
		if n := len(slices.DeleteFunc(slices.Clone(cases), func(c verdict) bool { return !strings.HasPrefix(c.name, code[3:]) })); n < 2 {
			t.Errorf("%s has %d cases", code, n)
		}
	}
}

func TestSendersAreSolved(t *testing.T) {
	p := protocol(t, `
		ask request
		more inform
		yes response
		ack acknowledge
		start ask by a
		ask -> more yes
		more -> more yes ack
		yes ->
		ack ->
		terminates yes`)
	got := fmt.Sprint(verify.Protocol(p, verify.Options{}).Senders)
	if want := "map[ack:[a b] ask:[a] more:[a b] yes:[a b]]"; got != want {
		t.Errorf("senders %s, want %s", got, want)
	}
}

// A protocol as it is judged before it runs: the mistake, the way to it and what
// to do about it.
func ExampleProtocol() {
	p := &spec.Protocol{
		Name:     "Echo",
		Roles:    []spec.Role{{Name: "client"}, {Name: "server"}},
		Messages: []spec.Message{{Name: "ping", Class: spec.Request}, {Name: "pong", Class: spec.Response}},
		Rules:    []spec.Rule{{Message: "ping", Replies: []string{"pong"}}, {Message: "pong", Replies: []string{"ping"}}},
		Dialogue: &spec.Dialogue{Initiates: []spec.Initiation{{Messages: []string{"ping"}, By: []string{"client"}}}},
	}
	for _, f := range verify.Protocol(p, verify.Options{}).Findings {
		fmt.Println(f.Code, f.Message)
		fmt.Println("hint:", f.Hint)
		fmt.Println("first:", f.Trace[0].Role, "sends", f.Trace[0].Message)
	}
	// Output:
	// PAR2102 after 'ping' no end can be reached: ping -> pong -> ping
	// hint: add a terminal reply or a timeout
	// first: client sends ping
}
