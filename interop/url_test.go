package interop

import (
	"strings"
	"testing"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// TestURLs puts URLs together from odd parts and has both sides take them apart.
func TestURLs(t *testing.T) {
	o := startOracle(t)
	var texts []string
	for _, scheme := range []string{"http://", "HTTPS://", "agent-storage://", "a+b.c-1://", "1x://", "h://", "http:/", "", "mailto:"} {
		for _, user := range []string{"", "u@", "u:p@", "@", ":@", "u:@", ":p@", "u@v@", "u:p@q:r@", "a?b@", "a:b?c#d@", "u:1/@"} {
			for _, host := range []string{
				"example.org", "localhost", "EXAMPLE.Org", "127.0.0.1", "999.1.1.1", "1.2.3", "[::1]", "[::G]", "[1]", "a_b.c", "-a.org", "a-.org", "a..org",
				"example.org.", "host.", ".", "", "x.1y", "a.b2", "foo.xn--p1ai", "exa mple.org", "exa%6d.org", "{x}.org", "a,b.org", "a@b.org", "1.2.3.4x",
				strings.Repeat("a", 63) + ".org", strings.Repeat("a", 64) + ".org",
			} {
				for _, tail := range []string{"", "/", ":80", ":443/x", ":65535", ":65536", ":", ":x", ":1:2", "/a b", "/p?q=1&r#f", "?", "?q?r", "#", "#f#g", "/?#", "?#", "//", "/\x1c", ":80?a:b@c", "/x?ü#ü", "\n"} {
					texts = append(texts, scheme+user+host+tail)
				}
			}
		}
	}
	for _, class := range []struct {
		name, python string
		uri          spec.Type
	}{
		{"Any", "AnyUrl", spec.URI},
		{"Http", "HttpUrl", spec.URI.With(spec.Limits{MaxLength: new(2083)})},
	} {
		source := "class " + class.name + "(Model):\n    u: " + class.python + "\n"
		python := ask[description](o, map[string]any{"op": "model", "source": source, "names": []string{class.name}})
		model := record(class.name, field("u", class.uri))
		if got := digest(t, model); got != python.Digest {
			t.Fatalf("%s: digest = %s, want %s", class.name, got, python.Digest)
		}
		var payloads []string
		for i, u := range texts {
			if i%count(23, 3) != 0 {
				continue
			}
			payloads = append(payloads, text(pyjson.OfMembers(pyjson.Member{Key: "u", Value: pyjson.Of(u)})))
		}
		taken, reader := 0, newReader(t, model)
		for i, verdict := range parseInPython(o, class.name, payloads) {
			reader.compare(t, payloads[i], verdict, source)
			if verdict.OK {
				taken++
			}
		}
		t.Logf("%s: %d URLs read alike, %d of them taken", class.name, len(payloads), taken)
	}
}
