package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/check"
	"github.com/parley-agents/parley/internal/lang/diag"
)

func ExampleFile() {
	result := check.File("shop.parley", []byte(`
protocol Shop {
  roles buyer, seller
  message ask: request { item: Strng }
  message offer: response { price: Int }
  dialogue {
    initiates [ask] by buyer
    ask -> [offer, sorry]
    offer -> []
    terminates [offer]
    end_states [done]
  }
}`), check.Options{})

	fmt.Print(result.Diagnostics)
	// Output:
	// shop.parley:4:32: PAR1001 error: unknown type 'Strng'
	//   hint: did you mean 'String'?
	// shop.parley:8:20: PAR2002 error: reply 'sorry' is not a message of this protocol
	//   hint: declare `message sorry` or remove it
}

func ExampleProtocol_Digest() {
	source := func(layout string) []byte {
		return []byte("protocol Ping { roles a, b" + layout + "message ping: query { n: Int } message pong: inform { n: Int }" + layout +
			"dialogue { initiates ping by a; ping -> pong; pong -> []; terminates pong } }")
	}
	one := check.File("one.parley", source(" "), check.Options{}).Protocols[0]
	two := check.File("two.parley", source("\n// layout says nothing\n"), check.Options{}).Protocols[0]

	fmt.Println(one.Digest() == two.Digest())
	manifest, err := one.Spec.Digest("b") // what a Python agent in the role b publishes
	fmt.Println(manifest[:12], err)
	// Output:
	// true
	// proto:aa7c23 <nil>
}

// files returns the sources of a folder of testdata.
func files(t *testing.T, folder string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %v, %d files", folder, err, len(list))
	}
	return list
}

// codesOf lists what was found, without notes.
func codesOf(list diag.List) string {
	var codes []string
	for _, d := range list {
		if d.Severity != diag.Note {
			codes = append(codes, d.Code+" "+d.Severity.String())
		}
	}
	return strings.Join(codes, ", ")
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestExamplesAreClean(t *testing.T) {
	for _, folder := range []string{"examples", "later"} {
		for _, name := range files(t, folder) {
			result := check.File(name, read(t, name), check.Options{})
			if got := codesOf(result.Diagnostics); got != "" {
				t.Errorf("%s", result.Diagnostics)
			}
			for _, p := range result.Protocols {
				if p.Broken {
					t.Errorf("%s: %s is broken", name, p.Name)
				}
			}
		}
	}
}

// The wrong sources of the language's description, with what is said of each.
func TestRejectedAndWarned(t *testing.T) {
	want := map[string]string{
		"badelse":         "3:64: PAR2108 error: 'else gone' is neither an end state nor a message",
		"bounds":          "3:56: PAR2141 error: reply bound 60s is longer than the dialogue's 30s",
		"missingrule":     "2:35: PAR2104 error: message 'yes' has no reply rule",
		"noend":           "3:42: PAR2102 error: after 'ping' no end can be reached: ping -> pong -> ping",
		"notterminal":     "3:65: PAR2106 error: 'no' has no replies but is not in terminates",
		"orphan":          "3:49: PAR2002 error: reply 'nope' is not a message of this protocol",
		"perf":            "2:16: PAR2001 error: unknown performative class 'demand'",
		"requestnoreply":  "3:36: PAR2110 error: request 'ask' expects a reply but allows none",
		"syntax":          "1:36: PAR0002 error: expected ':', found 'String'",
		"terminalreplies": "3:50: PAR2105 error: terminal message 'yes' has replies",
		"unreachable":     "2:60: PAR2101 error: message 'maybe' can never be sent: no path from 'ask'",
		"wrong_sender":    "3:44: PAR2120 error: 'ack' must be sent by 'b' here (answers 'ask' from 'a') but is declared from 'a'",
		"query_response":  "3:40: PAR2111 warning: query 'q' is answered by response 'r'; inform is the usual answer",
		"race":            "3:37: PAR2121 warning: after 'open' both sides may send: messages can cross",
	}
	for _, name := range append(files(t, "rejected"), files(t, "warned")...) {
		base := strings.TrimSuffix(filepath.Base(name), ".parley")
		found := check.File(base, read(t, name), check.Options{}).Diagnostics
		if len(found) != 1 || found[0].String() != base+":"+want[base] {
			t.Errorf("%s: found\n%swant\n%s", name, found, want[base])
		}
	}
}

// Every code can be explained by a source that gives it, and nothing else, and
// the same source mended.
func TestEveryCodeIsExplained(t *testing.T) {
	for _, info := range diag.Codes() {
		t.Run(info.Code, func(t *testing.T) {
			if info.Title == "" || info.Explanation == "" {
				t.Error("there is no explanation")
			}
			if info.Code >= "PAR5" || info.Code == "PAR0010" {
				return // what targets and importers say, and an example that nobody would read
			}
			options := check.Options{Bounds: info.Code == "PAR2140" || info.Code == "PAR2142", Load: explained}
			found := check.File("wrong.parley", []byte(info.Wrong), options).Diagnostics
			if len(found) == 0 {
				t.Errorf("nothing is found in\n%s", info.Wrong)
			}
			for _, d := range found {
				if d.Code != info.Code || d.Severity != info.Severity {
					t.Errorf("found %s in\n%s", d, info.Wrong)
				}
			}
			if found := check.File("right.parley", []byte(info.Right), options).Diagnostics; codesOf(found) != "" || info.Right == "" {
				t.Errorf("found\n%sin\n%s", found, info.Right)
			}
		})
	}
}

// explained are the files that the sources of explanations import.
func explained(name string) ([]byte, error) {
	switch name {
	case "common.parley":
		return []byte("package shop.common version \"1.0.0\"\ntype Price = Int(min: 0)"), nil
	case "old.parley":
		return []byte("package shop.common version \"2.0.0\"\ntype Cost = Int"), nil
	case "loop.parley":
		return []byte("import \"wrong.parley\""), nil
	}
	return nil, os.ErrNotExist
}

// What can be said must be in the registry.
func TestEveryCodeInTheSourcesIsRegistered(t *testing.T) {
	codes := regexp.MustCompile(`"PAR\d{4}"`)
	sources, err := filepath.Glob("../*/*.go")
	if err != nil || len(sources) < 10 {
		t.Fatalf("%v, %d sources", err, len(sources))
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, quoted := range codes.FindAllString(string(read(t, name)), -1) {
			if _, ok := diag.Lookup(strings.Trim(quoted, `"`)); !ok {
				t.Errorf("%s: %s is not in the registry", name, quoted)
			}
		}
	}
}
