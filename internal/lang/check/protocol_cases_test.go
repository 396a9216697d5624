package check_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/spec"
)

func TestAnnotations(t *testing.T) {
	for _, tc := range []sourceCase{
		{"unknown", "@descripton(\"x\") type A = Int", "1:2 PAR1030 unknown annotation 'descripton'"},
		{"unknown on a field", "type A = { a: Int @wired(\"x\") }", "1:20 PAR1030 unknown annotation 'wired'"},
		{"unknown on a message, once", "protocol P { @nme(\"x\") message m {} }", "1:15 PAR1030 unknown annotation 'nme'"},
		{"unknown on a rule", "protocol P { roles a, b message m: inform {} dialogue { initiates m by a; @rac(ok) m -> []; terminates m } }", "1:76 PAR1030 unknown annotation 'rac'"},
		{"unknown on a package, once", "@foo package a protocol P {} protocol Q {}", "1:2 PAR1030 unknown annotation 'foo'"},
		{"unknown on an enum value", "enum E { @foo A }", "1:11 PAR1030 unknown annotation 'foo'"},
		{"of a vendor", "@x_acme.cost(3, a: [b]) type A = { @x_y a: Int }", ""},
		{"wrong place", "@wire(\"x\") protocol P {}", "1:1 PAR1031 annotation 'wire' does not apply to a protocol"},
		{"wrong kind", "@description(3) type A = Int", "1:14 PAR1031 annotation 'description' takes a string, found 3"},
		{"nothing given", "@description type A = Int", "1:1 PAR1031 annotation 'description' takes one argument, a string"},
		{"too much", "type A = { a: Int @tag(1, 2) }", "1:19 PAR1031 annotation 'tag' takes one argument, a whole number"},
		{"unknown word", "type A = { a: Int @json(text) }", "1:25 PAR1031 annotation 'json' does not know 'text'"},
		{"unknown argument", "@aea(autor: \"x\") package a", "1:6 PAR1031 annotation 'aea' has no argument 'autor'"},
		{"argument of a wrong kind", "@quota(window: 60, max: 6) protocol P {}", "1:16 PAR1031 argument 'window' of 'quota' is a duration, found 60"},
		{"argument without a name", "@uagents(\"str\") enum E { A }", "1:10 PAR1031 arguments of 'uagents' have names"},
		{"twice", "@description(\"a\") @description(\"b\") type A = Int", "1:19 PAR1031 annotation 'description' is there twice"},
		{"reason and names", "@deprecated(\"old\", since: \"1.0.0\", use: \"B\") type A = Int", ""},
		{"reason of a wrong kind", "@deprecated(5, since: \"1.0.0\") type A = Int", "1:13 PAR1031 annotation 'deprecated' takes a string, found 5"},
		{"empty name", "@name(\"\") type A = {}", "1:7 PAR1031 annotation 'name' takes a name that is not empty, found \"\""},
		{"empty name of a protocol", "@name(\"\") protocol P {}", ""},
		{"numbers of fields", "type A = { @tag(0) a: Int, @tag(19500) b: Int, @tag(3) c: Int, @tag(3) d: Int }",
			"1:17 PAR1031 annotation 'tag' takes a number from 1 to 536870911, found 0\n1:33 PAR1031 annotation 'tag' takes a number that protobuf does not keep for itself, as it does 19000 to 19999, found 19500\n1:64 PAR1031 two fields have the number 3"},
		{"number of a value", "enum E { @tag(0) A, @tag(1) B }", ""},
		{"digits of a second", "type A = { @precision(10) a: DateTime }", "1:23 PAR1031 annotation 'precision' takes a number of digits from 0 to 9, found 10"},
		{"half a quota", "@quota(window: 1h) message m {}", "1:1 PAR1031 annotation 'quota' needs the argument 'max'"},
		{"declared", "annotation cost(n: Int, why: String = \"\") on type, field\n@cost(3) type A = { @cost(n: 4, why: \"x\") a: Int }", ""},
		{"declared, wrong place", "annotation cost(n: Int) on type\nenum E { @cost(3) A }", "2:10 PAR1031 annotation 'cost' does not apply to a value"},
		{"declared, wrong value", "annotation cost(n: Int) on type\n@cost(\"x\") type A = Int", "2:7 PAR1031 argument 'n' of 'cost': \"x\" is not an Int"},
		{"declared, missing", "annotation cost(n: Int) on type\n@cost type A = Int", "2:1 PAR1031 annotation 'cost' needs the argument 'n'"},
		{"declared on nothing", "annotation cost() on tipe", "1:22 PAR1031 annotations cannot stand on 'tipe'"},
		{"declared of nothing", "annotation cost(n: Nope) on type", "1:20 PAR1001 unknown type 'Nope'"},
		{"all known ones", `@aea(author: "a", license: "l", aea_version: "v", id: "a/p:1.0.0") @description("d") package p version "1"
			@name("X") @description("d") @quota(window: 1h, max: 3) @race(ok) @deprecated("old") @uagents(name: "x") protocol P {
			  @name("M") @description("d") message m { @wire("b") @tag(3) a: Int @json(string), @in c: Int @out, d: DateTime @precision(9) @key } }
			@newtype @description("d") type T = Int`, ""},
	} {
		tc.run(t)
	}
}

func TestDialogues(t *testing.T) {
	in := func(messages, dialogue string) string {
		return "protocol P { roles a, b\n" + messages + "\ndialogue { " + dialogue + " } }"
	}
	const ask = "message ask: request {} message yes: response {}"
	for _, tc := range []sourceCase{
		{"class", in("message ask: requst {} message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"), "2:14 PAR2001 unknown performative class 'requst'"},
		{"classes", in("message ask: demand {} message yes: answer {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"),
			"2:14 PAR2001 unknown performative class 'demand'\n2:37 PAR2001 unknown performative class 'answer'"},
		{"class outside a protocol", "message m: tell {}", "1:12 PAR2001 unknown performative class 'tell'"},
		{"class without a dialogue", "protocol P { message m: tell {} }", "1:25 PAR2001 unknown performative class 'tell'"},
		{"reply", in(ask, "initiates ask by a; ask -> [yes, no]; yes -> []; terminates yes"), "3:45 PAR2002 reply 'no' is not a message of this protocol"},
		{"only reply", in(ask, "initiates ask, yes by a; ask -> [no]; yes -> []; terminates yes"), "3:45 PAR2002 reply 'no' is not a message of this protocol"},
		{"rule", in(ask, "initiates ask by a; ask -> yes; yes -> []; yess -> []; terminates yes"), "3:55 PAR2002 'yess' is not a message of this protocol"},
		{"initiates", in(ask, "initiates ask, hello by a; ask -> yes; yes -> []; terminates yes"), "3:27 PAR2002 'hello' is not a message of this protocol"},
		{"terminates", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yes, bye"), "3:71 PAR2002 'bye' is not a message of this protocol"},
		{"misspelt rule", in(ask, "initiates ask by a; ask -> yes; yess -> []; terminates yes"), "3:44 PAR2002 'yess' is not a message of this protocol"},
		{"misspelt terminal", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yess"), "3:66 PAR2002 'yess' is not a message of this protocol"},
		{"misspelt first", in(ask, "initiates asc by a; ask -> yes; yes -> []; terminates yes"), "3:22 PAR2002 'asc' is not a message of this protocol"},
		{"misspelt reply", in(ask, "initiates ask by a; ask -> yess; yes -> []; terminates yes"), "3:39 PAR2002 reply 'yess' is not a message of this protocol"},
		{"another rule and two missing ones", in(ask, "initiates ask by a; other -> []; terminates yes"), "2:9 PAR2104 message 'ask' has no reply rule\n2:33 PAR2104 message 'yes' has no reply rule\n3:32 PAR2002 'other' is not a message of this protocol"},
		{"renamed in its declaration only", in("message ask: request {} message yep: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes; end_states done; outcome done: yes"), "3:39 PAR2002 reply 'yes' is not a message of this protocol"},
		{"a role in many places", in(ask, "initiates ask by c; ask -> yes by c; yes -> []; terminates yes"), "3:29 PAR2004 unknown role 'c'"},
		{"outcome", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yes; end_states done; outcome done: yep"), "3:102 PAR2002 'yep' is not a message of this protocol"},
		{"after", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yes; end_states done; outcome done: yes after [asked]"), "3:113 PAR2002 'asked' is not a message of this protocol"},
		{"timeout", in(ask, "initiates ask by a; ask -> yes within 3s; yes -> []; terminates yes; end_states done; outcome done: timeout asked"), "3:120 PAR2002 'asked' is not a message of this protocol"},
		{"nothing first", in(ask, "ask -> yes; yes -> []; terminates yes"), "3:1 PAR2003 dialogue has no initiating message"},
		{"empty first", in(ask, "initiates []; ask -> yes; yes -> []; terminates yes"), "3:1 PAR2003 dialogue has no initiating message"},
		{"empty dialogue", in(ask, ""), "3:1 PAR2003 dialogue has no initiating message"},
		{"role", in(ask, "initiates ask by c; ask -> yes; yes -> []; terminates yes"), "3:29 PAR2004 unknown role 'c'"},
		{"role of a rule", in(ask, "initiates ask by a; ask -> yes by bb; yes -> []; terminates yes"), "3:46 PAR2004 unknown role 'bb'"},
		{"role of a message", in("message ask: request from x {} message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"), "2:27 PAR2004 unknown role 'x'"},
		{"no roles at all", "protocol P { message m {} dialogue { initiates m by a; m -> []; terminates m } }", "1:53 PAR2004 unknown role 'a'"},
		{"three roles", "protocol P { roles a, b, c message m: inform {} dialogue { initiates m by a; m -> []; terminates m } }", "1:14 PAR2005 a dialogue is between one or two roles, not 3"},
		{"nobody", "protocol P { roles a[0] }", "1:20 PAR2005 role 'a' has room for nobody"},
		{"less than none", "protocol P { roles a[3..2] }", "1:20 PAR2005 role 'a' has room for nobody"},
		{"roles twice", "protocol P { roles a, a }", "1:23 PAR2006 role 'a' is declared twice"},
		{"two dialogues", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yes } dialogue { initiates ask"), "3:72 PAR2006 a protocol has one 'dialogue'"},
		{"two timeouts", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yes; timeout 1m; timeout 2m"), "3:83 PAR2006 a dialogue has one 'timeout'"},
		{"two keep_terminal", in(ask, "initiates ask by a; ask -> yes; yes -> []; terminates yes; keep_terminal true; keep_terminal true"), "3:91 PAR2006 a dialogue has one 'keep_terminal'"},
		{"reply twice", in(ask, "initiates ask by a; ask -> [yes, yes]; yes -> []; terminates yes"), "3:45 PAR2007 'yes' is in this list twice"},
		{"no time", in(ask, "initiates ask by a; ask -> yes within 0s; yes -> []; terminates yes"), "3:50 PAR2008 a time limit must be longer than 0"},
		{"endless time", in(ask, "initiates ask by a; ask -> yes within 999999999999d; yes -> []; terminates yes"), "3:50 PAR0008 this duration is too long"},
		{"two rules", in(ask, "initiates ask by a; ask -> yes; ask -> []; yes -> []; terminates yes"), "3:44 PAR2010 duplicate reply rule for 'ask'"},
		{"flow", "protocol P { roles a, b, c message m {} flow { a -> b: m; b -> c: n; d -> a: m; loop L { continue M } do Q(a, e); end } }",
			"1:41 PAR2009 the flow is read but not yet checked\n1:67 PAR2002 'n' is not a message of this protocol\n1:70 PAR2004 unknown role 'd'\n1:99 PAR2002 'M' is not a loop around this\n1:111 PAR2004 unknown role 'e'"},
		{"broken rule", in(ask, "initiates ask by a; ask => yes; yes -> []; terminates yes"), "3:36 PAR0002 expected '->', found '='"},
		{"broken message", in("message ask: request { a Int } message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"), "2:26 PAR0002 expected ':', found 'Int'"},
		{"misspelt message", in("mesage ask: request {} message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"), "2:1 PAR0003 unknown declaration 'mesage'"},
		{"type and dialogue", in("message ask: request { a: Strng } message yes: response {}", "initiates ask by a; ask -> [yes]; terminates yes"), "2:27 PAR1001 unknown type 'Strng'\n2:43 PAR2104 message 'yes' has no reply rule"},
		{"class and bound", in("message ask: demand {} message yes: response {}", "initiates ask by a; ask -> yes within 3m; yes -> []; terminates yes; timeout 1m"),
			"2:14 PAR2001 unknown performative class 'demand'\n3:50 PAR2141 reply bound 3m is longer than the dialogue's 1m"},
		{"class that was meant, and sender", in("message ask: request {} message yes: respons {} message no: error from a {}", "initiates ask by a; ask -> [yes, no]; yes -> []; no -> []; terminates yes, no"),
			"2:38 PAR2001 unknown performative class 'respons'\n3:45 PAR2120 'no' must be sent by 'b' here (answers 'ask' from 'a') but is declared from 'a'"},
		{"class that was meant, and nothing else", in("message ask: request {} message ack: acknowlege {} message yes: response {}", "initiates ask by a; ask -> [yes, ack]; yes -> []; ack -> []; terminates yes"),
			"2:38 PAR2001 unknown performative class 'acknowlege'"},
		{"role and rule", in(ask, "initiates ask by c; ask -> yes; terminates yes"), "2:33 PAR2104 message 'yes' has no reply rule\n3:29 PAR2004 unknown role 'c'"},
		{"role and what follows from it", in("message ask: request {} message yes: response from b {}", "initiates ask by a; ask -> yes by c; yes -> []; terminates yes"), "3:46 PAR2004 unknown role 'c'"},
		{"body and rule", in("message ask: request { a Int } message yes: response {}", "initiates ask by a; ask -> yes; terminates yes"),
			"2:26 PAR0002 expected ':', found 'Int'\n2:40 PAR2104 message 'yes' has no reply rule"},
		{"body that is broken, and names", in("message ask: request { a Int } message yes: response {}", "initiates ask by c; ask -> yes; yes -> [no]; terminates yes"), "2:26 PAR0002 expected ':', found 'Int'\n3:29 PAR2004 unknown role 'c'\n3:52 PAR2002 reply 'no' is not a message of this protocol"},
		{"message that is broken, and a name", in("message ask: request message yes: response {}", "initiates ask by a; ask -> [yes, no]; yes -> []; terminates yes"), "2:22 PAR0002 expected '{' or '=', found 'message'"},
		{"body and type", in("message ask: request { a Int, b: Foo } message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"),
			"2:26 PAR0002 expected ':', found 'Int'\n2:34 PAR1001 unknown type 'Foo'"},
		{"type that was forgotten", in("message ask: request { a:\n b: Int } message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"), "3:2 PAR0002 expected a type, found 'b'"},
		{"brace on the line", in("message ask: request { message yes: response {}", "initiates ask by a; ask -> yes; yes -> []; terminates yes"), "2:24 PAR0002 expected '}', found 'message': '{' was opened at 2:22"},
		{"a request that lacks its replies", in(ask, "initiates ask by a; ask -> []; yes -> []; terminates yes"), "3:32 PAR2110 request 'ask' expects a reply but allows none"},
		{"no dialogue", "protocol P { roles a, b message m: request {} }", ""},
		{"rest", in(ask, "initiates ask by a; ask -> yes; yes -> [ask]?; terminates yes"), ""},
		{"else a message", in(ask+" message gone: inform {}", "initiates ask by a; ask -> yes within 3s else gone; yes -> []; gone -> []; terminates yes, gone; end_states done"), ""},
		{"words as names", "protocol P { roles end, flow message dialogue: request {} message initiates: response {} dialogue { initiates dialogue by end; dialogue -> initiates; initiates -> []; terminates initiates } }", ""},
		{"peers", "protocol P { roles agent[2] message say: inform {} dialogue { initiates say; say -> [say]?; terminates say } }", ""},
		{"race is meant", in("message open: inform {} message data: inform {} message close: inform {}", "initiates [open] by a; @race(ok) open -> [data, close] by a, b; data -> [data, close]; close -> []; terminates [close]; end_states [done]"), ""},
	} {
		tc.run(t)
	}
}

func TestExtends(t *testing.T) {
	const base = "protocol A { roles a, b message ask: request {} message yes: response {} dialogue { initiates ask by a; ask -> yes; yes -> []; terminates yes; end_states done; outcome done: yes } }\n"
	for _, tc := range []sourceCase{
		{"more replies", base + "protocol B extends A { message no: error {} dialogue { ask -> [yes, no]; no -> []; terminates no } }",
			"2:20 PAR2009 what 'B' changes of 'A' is not yet checked"},
		{"nothing of that name", base + "protocol B extends C {}", "2:20 PAR1001 unknown protocol 'C'\n2:20 PAR2009 what 'B' changes of 'C' is not yet checked"},
		{"itself", "protocol B extends B {}", "1:20 PAR1004 protocol 'B' extends itself\n1:20 PAR2009 what 'B' changes of 'B' is not yet checked"},
		{"new message without a rule", base + "protocol B extends A { message no: error {} dialogue { ask -> [yes, no] } }",
			"2:20 PAR2009 what 'B' changes of 'A' is not yet checked\n2:32 PAR2104 message 'no' has no reply rule"},
		{"outcome", base + "protocol B extends A { dialogue { outcome gone: yes } }",
			"2:20 PAR2009 what 'B' changes of 'A' is not yet checked\n2:43 PAR2107 outcome 'gone' is not an end state"},
	} {
		tc.run(t)
	}
}

// loader serves files from a map and is a test's file system.
type loader map[string]string

func (l loader) load(name string) ([]byte, error) {
	if text, ok := l[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func TestImports(t *testing.T) {
	library := loader{
		"shop/common.parley":   "package shop.common version \"1.2.0\"\ntype Price = Int(min: 0)\nenum Size { S, L }\nprotocol Base { roles a, b message m: inform {} dialogue { initiates m by a; m -> []; terminates m } }",
		"roots/far.parley":     "package far version \"1.0\"\nimport \"deep/er.parley\"\ntype Far = Deep",
		"roots/deep/er.parley": "type Deep = String",
		"shop/two.parley":      "package shop.common version \"2.0.0\"\ntype Cost = Int",
		"shop/cycle.parley":    "import \"main.parley\"\ntype C = Int",
		"shop/self.parley":     "import \"self.parley\"",
		"shop/bad.parley":      "type A = {\n a Int }",
		"shop/page.md":         "# Types\n```parley\ntype P = Int\n```\n",
		"shop/more.parley":     "type Price = Float\nmessage note { text: String }\nannotation cost(n: Int) on type",
		"shop/uses.parley":     "import \"two.parley\"\ntype U = Cost",
	}
	for _, tc := range []struct{ name, src, want string }{
		{"by name", `import "common.parley" type A = { p: Price = 3, s: Size = L }`, ""},
		{"by package", `import "common.parley" type A = shop.common.Price`, ""},
		{"by alias", `import "common.parley" as c type A = c.Price`, ""},
		{"alias hides plain names", `import "common.parley" as c type A = Price`, "shop/main.parley:1:38: PAR1001 error: unknown type 'Price'"},
		{"unknown in the package", `import "common.parley" as c type A = c.Prize`, "shop/main.parley:1:38: PAR1001 error: unknown type 'c.Prize'"},
		{"limits of an import hold", `import "common.parley" type A = { p: Price = -1 }`, "shop/main.parley:1:46: PAR1005 error: default -1 does not satisfy min 0"},
		{"two meanings", `import "common.parley" import "more.parley" type A = { a: Price, s: Size }`, "shop/main.parley:1:59: PAR1002 error: 'Price' is declared in shop/common.parley and in shop/more.parley"},
		{"two meanings, by name", `import "common.parley" import "more.parley" as m type A = { a: Price, b: m.Price }`, ""},
		{"two meanings, its own", `import "common.parley" import "more.parley" type Price = Int type A = { a: Price }`, ""},
		{"a message", `import "more.parley" type A = { n: note }`, ""},
		{"a message by alias", `import "more.parley" as m type A = { n: m.note }`, ""},
		{"an annotation", `import "more.parley" @cost(3) type A = Int`, ""},
		{"an annotation by alias", `import "more.parley" as m @m.cost(3) type A = Int`, ""},
		{"an annotation without its alias", `import "more.parley" as m @cost(3) type A = Int`, "shop/main.parley:1:28: PAR1030 error: unknown annotation 'cost'"},
		{"in a root", `import "far.parley" type A = Far`, ""},
		{"imports are not handed on", `import "far.parley" type A = Deep`, "shop/main.parley:1:30: PAR1001 error: unknown type 'Deep'"},
		{"a page", `import "page.md" type A = P`, ""},
		{"missing", `import "nope.parley"`, "shop/main.parley:1:8: PAR1020 error: there is no file 'nope.parley'"},
		{"what a missing file may declare", `import "nope.parley" type A = { t: Thing, u: pkg.Other }`, "shop/main.parley:1:8: PAR1020 error: there is no file 'nope.parley'"},
		{"and what not", `import "nope.parley" as n type A = { t: n.Thing, u: Other }`, "shop/main.parley:1:8: PAR1020 error: there is no file 'nope.parley'\nshop/main.parley:1:53: PAR1001 error: unknown type 'Other'"},
		{"absolute", `import "/etc/passwd"`, "shop/main.parley:1:8: PAR1020 error: cannot import '/etc/passwd'"},
		{"network", `import "https://example.com/x.parley"`, "shop/main.parley:1:8: PAR1020 error: cannot import 'https://example.com/x.parley'"},
		{"twice", `import "common.parley" import "common.parley"`, "shop/main.parley:1:24: PAR1002 error: 'common.parley' is imported twice"},
		{"alias twice", `import "common.parley" as c import "page.md" as c`, "shop/main.parley:1:49: PAR1002 error: 'c' names two imports"},
		{"two major versions", `import "common.parley" import "two.parley"`, "shop/main.parley:1:31: PAR1021 error: two major versions of 'shop.common': 1 in shop/common.parley, 2 in shop/two.parley"},
		{"two major versions, one far away", `import "common.parley" import "uses.parley"`, "shop/main.parley:1:31: PAR1021 error: two major versions of 'shop.common': 1 in shop/common.parley, 2 in shop/two.parley"},
		{"cycle", `import "cycle.parley" type M = C`, "shop/cycle.parley:1:8: PAR1022 error: import cycle: shop/main.parley -> shop/cycle.parley -> shop/main.parley"},
		{"cycle of one", `import "self.parley"`, "shop/self.parley:1:8: PAR1022 error: import cycle: shop/main.parley -> shop/self.parley -> shop/self.parley"},
		{"itself", `import "main.parley"`, "shop/main.parley:1:8: PAR1022 error: import cycle: shop/main.parley -> shop/main.parley"},
		{"mistakes of an import", `import "bad.parley" type B = A`, "shop/bad.parley:2:4: PAR0002 error: expected ':', found 'Int'"},
		{"extends an import", `import "common.parley" protocol P extends Base {}`, "shop/main.parley:1:43: PAR2009 note: what 'P' changes of 'Base' is not yet checked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			result := check.File("shop/main.parley", []byte(tc.src), check.Options{Load: library.load, Roots: []string{"roots"}})
			var got []string
			for _, d := range result.Diagnostics {
				got = append(got, d.String())
			}
			if strings.Join(got, "\n") != tc.want {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), tc.want)
			}
		})
	}
}

// Sources given together see one another without a loader, and are read once.
func TestSourcesImportOneAnother(t *testing.T) {
	result := check.All([]check.Source{
		{Name: "a/main.parley", Text: []byte(`import "../b/types.parley" type A = B`)},
		{Name: "./b/types.parley", Text: []byte(`type B = Int(min: 1, max: 0)`)},
	}, check.Options{})

	if len(result.Diagnostics) != 1 || result.Diagnostics[0].Code != "PAR1006" || len(result.Types) != 2 {
		t.Errorf("%d types, found\n%s", len(result.Types), result.Diagnostics)
	}
}

func TestTheDataOfASource(t *testing.T) {
	result := check.File("x", []byte(`
package acme.shop version "2.1.0"
/// What is sold.
open type Item = {
  name: String(minLength: 1)      // never empty
  size: { width: Int, height: Float? }?
  tags: Set<String> = ["new"]
  @wire("unitPrice") price: Decimal | Null
  kind: "a" | "b"
}
@uagents(enum: "str", title: "Colours") @description("Paints.")
enum Colour { RED = "r", GREEN }
@name("Shop-1")
protocol Shop {
  roles buyer, seller
  message buy: request { item: Item, colour: Colour = GREEN }
  message sold: response = List<Item>
  message error: error = Item
  dialogue {
    initiates [buy] by buyer
    buy -> [sold, error] within 1m30
  }
}`), check.Options{})
	if got := codesOf(result.Diagnostics); got != "PAR0008 error" {
		t.Fatalf("found\n%s", result.Diagnostics)
	}
	item, ok := result.Types[0].Spec.(*spec.Record)
	if !ok || item.Doc != "What is sold." || !item.Open || len(item.Fields) != 5 {
		t.Fatalf("Item is %+v", result.Types[0].Spec)
	}
	name, size, tags, price, kind := item.Fields[0], item.Fields[1], item.Fields[2], item.Fields[3], item.Fields[4]
	if s, ok := spec.AsScalar(name.Type); !ok || *s.Limits.MinLength != 1 || name.Doc != "never empty" {
		t.Errorf("name is %+v", name)
	}
	if r, ok := size.Type.(*spec.Record); !ok || r.Name != "ItemSize" || !size.Optional || !r.Fields[1].Optional {
		t.Errorf("size is %+v", size)
	}
	if l, ok := tags.Type.(*spec.List); !ok || !l.Set || tags.Default != `["new"]` || tags.Required() {
		t.Errorf("tags is %+v", tags)
	}
	if price.Name != "unitPrice" || price.Local != "price" || price.Type != spec.Decimal || !price.Nullable || !price.Required() {
		t.Errorf("price is %+v", price)
	}
	if l, ok := kind.Type.(*spec.Literal); !ok || len(l.Values) != 2 {
		t.Errorf("kind is %+v", kind)
	}
	colour, ok := result.Types[1].Spec.(*spec.Enum)
	if !ok || colour.Title != "Colours" || colour.Description != "Paints." || colour.Base != spec.String || colour.Values[0] != `"r"` || colour.Values[1] != `"GREEN"` || colour.Names[0] != "RED" {
		t.Errorf("Colour is %+v", result.Types[1].Spec)
	}
	p := result.Protocols[0]
	if p.Name != "Shop" || p.Spec.Name != "Shop-1" || p.ID() != "acme.shop/Shop:2.1.0" || !p.Broken {
		t.Errorf("protocol %+v", p)
	}
	if body := p.Spec.Message("buy").Body.(*spec.Record); body.Name != "buy" || body.Fields[1].Default != `"GREEN"` {
		t.Errorf("buy is %+v", body)
	}
	if body, ok := p.Spec.Message("sold").Body.(*spec.Alias); !ok || body.Name != "sold" {
		t.Errorf("sold is %+v", body)
	}
	if p.Spec.Message("error").Body != spec.Type(item) {
		t.Error("error is not the record that it names")
	}
}

func TestDigestsSeeWhatTravels(t *testing.T) {
	digest := func(from, to string) string {
		src := `package p version "1" type T = { a: Int, b: String? } enum E { X, Y }
protocol P { roles a, b message m: request { t: T, e: E = X } message n: response {} dialogue { initiates m by a; m -> n within 3s; n -> []; terminates n } }`
		if !strings.Contains(src, from) {
			t.Fatalf("%q is not in the source", from)
		}
		result := check.File("x", []byte(strings.Replace(src, from, to, 1)), check.Options{})
		if result.Diagnostics.HasErrors() {
			t.Fatal(result.Diagnostics)
		}
		return result.Protocols[0].Digest()
	}
	original := digest("", "")
	for from, to := range map[string]string{"enum E": "/// doc\n// comment\nenum E", "type T = {": "type N = Int type T = {\n", "a: Int": "a: Int64", "roles a": "@x_y @description(\"d\") type Z = Int roles a", "initiates m": "initiates [m,]", "protocol P": "@name(\"Q\") protocol P"} {
		if digest(from, to) != original {
			t.Errorf("%q for %q changes the digest", to, from)
		}
	}
	for from, to := range map[string]string{"a: Int": "a: Int32", "b: String?": "b: String", "X, Y": "X, Z", "= X": "= Y", "3s": "4s", "by a": "by b", "protocol P": "protocol Q",
		"\"1\"": "\"2\"", "t: T": "t: T @json(string)", "type T": "open type T", "m: request": "m"} {
		if digest(from, to) == original {
			t.Errorf("%q for %q does not change the digest", to, from)
		}
	}
}

// Receipts open, advance and end nothing: where they are named among what does is a
// matter of taste, and one protocol has one digest.
func TestDigestsDoNotSeeWhatReceiptsDoNot(t *testing.T) {
	digest := func(dialogue string) string {
		result := check.File("x", []byte("protocol P { roles a, b message say: inform {} message bye: inform {} message ack: acknowledge {}\ndialogue { "+dialogue+" } }"), check.Options{})
		if len(result.Diagnostics) > 0 {
			t.Fatalf("%s\n%s", dialogue, result.Diagnostics)
		}
		return result.Protocols[0].Digest()
	}
	const rules = "say -> [ack]; bye -> []; ack -> []; end_states [told, gone]; outcome gone: bye; "
	want := digest("initiates [say, bye] by a; terminates [say, bye, ack]; " + rules)
	for _, same := range []string{
		"initiates [say, bye] by a; terminates [bye, ack]; ", "initiates [say, bye] by a; terminates [bye]; ", "initiates [say, bye] by a; terminates [say, bye]; ",
		"initiates [say, bye, ack] by a; terminates [bye]; ", "initiates [say, bye] by a; initiates [ack] by b; terminates [bye]; ",
		"initiates [say, bye] by a; terminates [bye]; outcome told: ack; ",
	} {
		if digest(same+rules) != want {
			t.Errorf("another digest: %s", same)
		}
	}
	for _, other := range []string{"initiates [say] by a; initiates [bye] by b; terminates [bye]; ", "initiates [say, bye] by a; terminates [bye]; outcome told: say; "} {
		if digest(other+rules) == want {
			t.Errorf("the same digest: %s", other)
		}
	}
}

func TestAReadmeIsChecked(t *testing.T) {
	page := "# ai-agent-protocol\n\n```dsl\ntype AgentID = String  // who\nenum MessageType {\n    REQUEST,\n    ERROR\n}\n```\n\ntext\n\n```\ntype Message = {\n    header: {\n        sender: AgentID,\n        type: MessageType,\n        reply_to: AgentId?\n    },\n    body: String\n}\n```\n"
	found := check.File("README.md", []byte(page), check.Options{}).Diagnostics

	if len(found) != 1 || found[0].String() != "README.md:18:19: PAR1001 error: unknown type 'AgentId'" || found[0].Hint != "did you mean 'AgentID'?" {
		t.Errorf("found\n%s", found)
	}
}
