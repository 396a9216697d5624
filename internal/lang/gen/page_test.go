package gen_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/lang/gen"
)

// The Go of the page about generators stands so in the sources, what the compiler
// says is what it says, and every target is named.
func TestThePageAboutGeneratorsIsTrue(t *testing.T) {
	page := string(read(t, "../../../docs/generators.md"))
	var code strings.Builder
	for _, pattern := range []string{"../../../protocol/payment/*.go", "testdata/compile/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			code.Write(read(t, name))
		}

	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	for _, b := range blocks {
		if !strings.Contains(code.String(), b[1]) {
			t.Errorf("no source has\n%s", b[1])
		}
	}
	if len(blocks) < 5 {
		t.Errorf("%d blocks of Go", len(blocks))
	}
	for _, row := range regexp.MustCompile("(?m)^\\| .* \\| `(.*(?:missing method|has no field).*)` \\|$").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(code.String(), row[1]) {
			t.Errorf("the compiler does not say: %s", row[1])
		}
	}
	for _, target := range gen.Targets() {
		if !strings.Contains(page, "`"+target+"`") {
			t.Errorf("the page does not name the target %s", target)
		}
	}
}
