package syntax_test

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

// mistakes are sources with what must be said about them: all of it, in order,
// and nothing else.
var mistakes = []struct {
	name, src string
	want      []string // line:column CODE text
}{
	{"strange character", "type A = #x", []string{"1:10 PAR0001 unexpected character '#'"}},
	{"strange characters once", "type A = ### x\ntype B = $", []string{"1:10 PAR0001 unexpected character '#'", "2:10 PAR0001 unexpected character '$'"}},
	{"letter", "type Ä = Int", []string{"1:6 PAR0001 unexpected character 'Ä'"}},
	{"single quotes", "type A = 'x' | 'y'\nimport 'z", []string{"1:10 PAR0001 unexpected character '", "1:16 PAR0001 unexpected character '", "2:8 PAR0001 unexpected character '"}},
	{"lone slash", "type A = / Int", []string{"1:10 PAR0001 unexpected character '/'"}},
	{"colon", "type M = { header: { version String } }", []string{"1:30 PAR0002 expected ':', found 'String'"}},
	{"several", "type A = {\n a Int\n b: Int,\n c\n d: }\ntype B = {", []string{
		"2:4 PAR0002 expected ':', found 'Int'",
		"5:2 PAR0002 expected ':', found 'd'",
		"5:5 PAR0002 expected a type, found '}'",
		"6:11 PAR0002 expected '}', found end of file: '{' was opened at 6:10",
	}},
	{"equal sign", "type A { a: Int }", []string{"1:8 PAR0002 expected '=', found '{'"}},
	{"brace before declaration", "type A = {\n a: Int\ntype B = Int\n", []string{"3:1 PAR0002 expected '}', found 'type': '{' was opened at 1:10"}},
	{"brace of protocol", "protocol A {\n roles a\nprotocol B {}", []string{"3:1 PAR0002 expected '}', found 'protocol': '{' was opened at 1:12"}},
	{"one brace too many", "message m {} }", []string{"1:14 PAR0002 expected a declaration, found '}'"}},
	{"question mark of a field", "type A = {a?: Int, b: Int}", []string{"1:12 PAR0002 expected ':', found '?'"}},
	{"class without colon", "message a request {}", []string{"1:11 PAR0002 expected ':', found 'request'"}},
	{"message without body", "protocol P { message a: inform\n message b {} }", []string{"2:2 PAR0002 expected '{' or '=', found 'message'"}},
	{"version without quotes", "package a version 1.0", []string{"1:19 PAR0002 expected a version in quotes, found '1.0'"}},
	{"bound without unit", "protocol P { dialogue { a -> [b] within 30; b -> [] } }", []string{"1:41 PAR0002 expected a duration, found '30'"}},
	{"rule without arrow", "protocol P { dialogue { a [b]; b -> [] } }", []string{"1:27 PAR0002 expected '->', found '['"}},
	{"reply list", "protocol P { dialogue { a -> [b c: d]; e -> [] } }", []string{"1:34 PAR0002 expected a name or ']', found ':'"}},
	{"declaration", "struct A { a: Int }\ntype B = Int", []string{"1:1 PAR0003 unknown declaration 'struct'"}},
	{"in protocol", "protocol P {\n mesage x {}\n message y {}\n}", []string{"2:2 PAR0003 unknown declaration 'mesage'"}},
	{"in dialogue", "protocol P { dialogue { initiate [x]; x -> [] } }", []string{"1:25 PAR0003 unknown dialogue item 'initiate'"}},
	{"in flow", "protocol P { flow { chose at a {}\n a -> b: c } }", []string{"1:21 PAR0003 unknown step 'chose'"}},
	{"string", "type A = \"abc\ntype B = Int", []string{"1:10 PAR0004 this string is not closed"}},
	{"text", "type A = { a: Int = \"\"\"abc }\ntype B = Int", []string{"1:21 PAR0004 this text is not closed"}},
	{"comment", "type A = { /* a: Int }", []string{"1:12 PAR0004 this comment is not closed"}},
	{"name", "type `a = Int", []string{"1:6 PAR0004 this name is not closed"}},
	{"escapes", `type A = "\x" | "\u12g4"`, []string{`1:11 PAR0005 unknown escape \x`, `1:18 PAR0005 \u needs four hexadecimal digits`}},
	{"control character", "type A = \"a\tb\"", []string{`1:12 PAR0005 strings cannot hold the control character '\t'`}},
	{"empty name", "type `` = Int", []string{"1:6 PAR0005 a name in backticks must not be empty"}},
	{"byte order mark", "\ufefftype A = #Int", []string{"1:10 PAR0001 unexpected character '#'"}},
	{"byte order mark inside", "type A = \ufeffInt", []string{"1:10 PAR0006 a byte order mark in the middle of the text"}},
	{"comment in a comment", "/* a /* b */ */ type A = Int", []string{"1:14 PAR0001 unexpected '*/'"}},
	{"half a character", `type A = "\ud83d" | "\ude00\ud83d" | "\ud83d\ude00"`, []string{
		`1:11 PAR0005 \ud83d is half of a character`, `1:22 PAR0005 \ude00 is half of a character`, `1:28 PAR0005 \ud83d is half of a character`}},
	{"point without digits", "type A = { a: Float = 1. }", []string{"1:23 PAR0008 malformed number '1.'"}},
	{"string as a value", "enum E { \"a\" }", []string{"1:10 PAR0002 expected a value's name, found the string \"a\""}},
	{"annotation behind a value", "enum E { A @wire(\"x\"), B }", []string{"1:22 PAR0002 expected a value's name, found ','"}},
	{"else without within", "protocol P { dialogue { a -> [b] else c; b -> [] } }", []string{"1:34 PAR0002 'else' says what happens when a time is up: `within` stands before it"}},
	{"arrow back", "protocol P { dialogue { b <- a; b -> [] } }\ntype A = Set<-1 | 1>", []string{"1:27 PAR0001 unexpected '<-'"}},
	{"arrow of a step", "protocol P { flow { a => b: m } }", []string{"1:23 PAR0002 expected '->', found '='"}},
	{"not UTF-8", "type A = { a: \xff }\n// \xe9\x00", []string{
		"1:15 PAR0006 byte ff is not UTF-8", "2:4 PAR0006 byte e9 is not UTF-8", "2:5 PAR0006 a source cannot hold the byte 00"}},
	{"numbers", "type A = 007\ntype B=1.5s\ntype C = 1e99999\ntype D = 12abc", []string{
		"1:10 PAR0008 number '007' starts with a superfluous 0", "2:8 PAR0008 malformed number '1.5s'",
		"3:10 PAR0008 number '1e99999' is too large", "4:10 PAR0008 malformed number '12abc'"}},
	{"long number", "type A = 1" + strings.Repeat("0", 500), []string{"1:10 PAR0008 number '" + "1" + strings.Repeat("0", 39) + "…' is too large"}},
	{"role count", "protocol P { roles a[99999999999] }", []string{"1:22 PAR0008 expected a whole number below 1000000000, found '99999999999'"}},
	{"late package", "type A = Int\npackage a", []string{"2:1 PAR0009 the package must come before the declarations"}},
	{"two packages", "package a\npackage b", []string{"2:1 PAR0009 a file has one package; the first is at 1:1"}},
	{"late edition", "package a\nparley \"1\"", []string{"2:1 PAR0009 the edition must come before everything else"}},
	{"protocol in protocol", "protocol A { protocol B {} }", []string{"1:14 PAR0009 a protocol cannot stand inside another"}},
}

func TestMistakes(t *testing.T) {
	for _, tc := range mistakes {
		t.Run(tc.name, func(t *testing.T) {
			_, found := syntax.Parse("x", []byte(tc.src))

			var got []string
			for _, d := range found {
				place, text, _ := strings.Cut(strings.TrimPrefix(d.String(), "x:"), ": ")
				got = append(got, place+" "+strings.Replace(text, " error: ", " ", 1))
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

func TestDeepNestingIsRefusedAtThePlace(t *testing.T) {
	for _, tc := range []struct{ before, open, close string }{
		{"type A = ", "List<", ">"}, {"type A = ", "(", ")"}, {"type A = ", "{a:", "}"},
		{"@x(", "[", "]"}, {"@x(", "{a:", "}"}, {"protocol P { flow ", "{ loop L ", "}"},
	} {
		for _, closed := range []bool{true, false} {
			const deep = 5000
			src := tc.before + strings.Repeat(tc.open, deep)
			if closed {
				src += "Int" + strings.Repeat(tc.close, deep)
			}

			_, found := syntax.Parse("x", []byte(src))

			deepOnes := 0
			for _, d := range found {
				if d.Code == "PAR0007" {
					deepOnes++
				}
			}
			if deepOnes != 1 || len(found) > 3 {
				t.Errorf("%q nested, closed %t: %d times PAR0007 among %d, first %v", tc.open, closed, deepOnes, len(found), found[0])
			}
		}
	}
}

func TestNestingThatAPersonMayWrite(t *testing.T) {
	src := "type A = " + strings.Repeat("{a: ", 90) + "Int" + strings.Repeat("}", 90)
	if _, found := syntax.Parse("x", []byte(src)); len(found) > 0 {
		t.Error(found)
	}
	checkFormat(t, []byte(src))
}

func TestOddButLegal(t *testing.T) {
	for _, src := range seeds(t) {
		if _, found := syntax.Parse("x", []byte(src)); len(found) > 0 {
			t.Errorf("%s\n%s", src, found)
		}
	}
}

func TestFormatLosesNothing(t *testing.T) {
	for _, src := range seeds(t) {
		checkFormat(t, []byte(src))
	}
}

func TestAHugeSourceIsRefused(t *testing.T) {
	_, found := syntax.Parse("x", make([]byte, 9<<20))

	if len(found) != 1 || found[0].Code != "PAR0010" {
		t.Errorf("found %.200s", found)
	}
}
