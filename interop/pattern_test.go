package interop

import (
	"fmt"
	"testing"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// TestPatterns matches text with the regular expressions of models as Python
// understands them: digits, letters and blanks of all scripts, $ before a last
// line break.
func TestPatterns(t *testing.T) {
	o := startOracle(t)
	texts := []string{
		"", "a", "ab", "abc\n", "abc\n\n", "\n", "1", "12", "١٢", "é", "été_1", "²", "Ⅷ", "a b", "a\u00a0b", "a\x1cb", "a\vb", "a\u2028b", "-", "a-b", "]", "[", "^", "$", "$5", "\\", "a.b", "A", "K", "日本", "_", "a\n", "a\nb", "1.5", "+49 30", "x@y.z", "{}", "a$", ":",
	}
	for i, pattern := range []string{
		"^[a-z]*$", "^[a-z]*", "a", `\d+`, `^\d{1,2}$`, `^\w+$`, `\w\s\w`, `^\S+$`, `^\D*$`, `^\W$`, `^[\w.]+$`, `^[\d\s]+$`, `^[^\d]$`, `^[]a]$`, `^[^]a]$`, `^[[a]$`, `^[[:alpha:]]$`, `^\$\d`, `^[$]`, `a\Z`, `^a$|^b`, `(?i)^k$`, `^(?P<x>a)b$`, `^\\$`,
		`^[\w\-]+$`, `^.*$`, `(?s)^.*$`, `^\+?[\d ]+$`, `^[^@\s]+@[^@\s]+\.\w+$`, `\.`, `^a{1,2}$`, `^[\^]`, `^\[`, `[\]]`, `^(a|b)*?$`, `$`, `^$`, `\A\w`,
	} {
		t.Run(pattern, func(t *testing.T) {
			o.t = t
			name := fmt.Sprintf("Pattern%d", i)
			source := "class " + name + "(Model):\n    x: constr(regex=" + pythonText(pattern) + ") = Field(...)\n"
			r := record(name, field("x", spec.String.With(spec.Limits{Pattern: pattern})))
			if python := ask[description](o, map[string]any{"op": "model", "source": source, "names": []string{name}}); digest(t, r) != python.Digest {
				t.Errorf("digest = %s, want %s", digest(t, r), python.Digest)
			}
			var payloads []string
			for _, x := range texts {
				payloads = append(payloads, text(pyjson.OfMembers(pyjson.Member{Key: "x", Value: pyjson.Of(x)})))
			}
			reader := newReader(t, r)
			for j, verdict := range parseInPython(o, name, payloads) {
				reader.compare(t, payloads[j], verdict, source)
			}
		})
	}
	o.t = t
}
