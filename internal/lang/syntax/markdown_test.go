package syntax_test

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/syntax"
)

const page = "# Messages\n\nEvery message has an id:\n\n```dsl\ntype   ID = String   // of a message\n```\n\n" +
	"Shell is not our business:\n\n```sh\ntype A = #\n```\n\n~~~~\nenum Kind {\n  ONE,\n}\n~~~~\n\n" +
	"```\nplain text\n```\n\n1. in a list\n\n   ```parley\n   type In = { a: Int,\n     b: Strin }\n   ```\n\n```parley title=x\nprotocol P {\n```\n\nrest of it\n\n```parley\n}\n```\n"

func TestAPageIsASource(t *testing.T) {
	file, found := syntax.Parse("README.md", []byte(page))

	if len(found) > 0 {
		t.Fatal(found)
	}
	var got []string
	for _, item := range file.Items {
		at := file.At(item.Base().Span)
		got = append(got, strings.SplitN(page, "\n", at.Start.Line+1)[at.Start.Line-1])
	}
	want := "type   ID = String   // of a message|enum Kind {|   type In = { a: Int,|protocol P {"
	if strings.Join(got, "|") != want {
		t.Errorf("items begin on the lines %q, want %q", got, want)
	}
}

func TestMistakesInAPageHaveItsLines(t *testing.T) {
	_, found := syntax.Parse("README.md", []byte(strings.Replace(page, "a: Int,", "a Int,", 1)))

	if len(found) != 1 || found[0].String() != "README.md:28:18: PAR0002 error: expected ':', found 'Int'" {
		t.Errorf("found %s", found)
	}
}

func TestOnlyTheCodeOfAPageIsFormatted(t *testing.T) {
	file, _ := syntax.Parse("README.md", []byte(page))

	got := string(syntax.Format(file))

	want := strings.NewReplacer("type   ID = String   // of", "type ID = String // of", "  ONE,\n", "  ONE\n").Replace(page)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, _ := syntax.Parse("README.md", []byte(got))
	if twice := string(syntax.Format(again)); twice != got {
		t.Errorf("formatted twice:\n%s", twice)
	}
}

// Texts, comments and pages with the line ends of Windows mean what they mean
// elsewhere. A page keeps its own.
func TestLineEndsOfOtherSystems(t *testing.T) {
	const unix = "/* a\n   b */\n@description(\"\"\"\nOne\ntwo.\n\"\"\")\ntype A = {\n  a: Int // c\n  b: Int\n}\n"
	windows := strings.ReplaceAll(unix, "\n", "\r\n")
	file, found := syntax.Parse("x.parley", []byte(windows))
	if len(found) > 0 || file.Items[0].Base().Annotations[0].Args[0].Value.Value != "One\ntwo.\n" {
		t.Fatalf("found %s, items %+v", found, file.Items[0])
	}
	if got := string(syntax.Format(file)); got != unix {
		t.Errorf("formatted %q, want %q", got, unix)
	}
	page := strings.ReplaceAll("# T\n```parley\n"+unix+"```\n", "\n", "\r\n")
	file, found = syntax.Parse("x.md", []byte(page))
	if got := string(syntax.Format(file)); len(found) > 0 || got != page {
		t.Errorf("%s\npage %q, want %q", found, got, page)
	}
}
