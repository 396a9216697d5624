package uagents

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/parley-agents/parley/spec"
)

// A parsedURL has the parts of a URL as the peers take it apart, which is not
// quite as RFC 3986 says.
type parsedURL struct {
	scheme, user, password, host, port, path, query, fragment string

	plain bool // the host is an address, or a domain that ends in ASCII letters
	named bool // the host is an address, or a domain that ends in a top-level domain
}

var (
	urlScheme = regexp.MustCompile(`^(?i:([a-z][a-z0-9+\-.]+)://)`)
	urlTail   = regexp.MustCompile(`^(?::(\d+))?(/[^?#]*)?(?:\?([^#]*))?(?:#([^#]*))?$`)
	ipv4Host  = regexp.MustCompile(`^(?:\d{1,3}\.){3}\d{1,3}$`)
	ipv6Host  = regexp.MustCompile(`^(?i:\[[A-F0-9]*:[A-F0-9:]+\])`)

	// Letters of all scripts make large machines, and most programs meet no URL.
	domainHost = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:(?:[_0-9a-z{-\x{40000}](?:[-_0-9a-z{-\x{40000}]{0,61}[_0-9a-z{-\x{40000}])?\.)*` +
			`[_0-9a-z{-\x{40000}](?:[-_0-9a-z{-\x{40000}]{0,61}[_0-9a-z{-\x{40000}])?)\.?$`)
	})
	asciiHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:[-_0-9a-z.]*\.[a-z]{2,63})\.?$`) })
	namedHost = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:.*\.(?:\p{L}{2,63}|xn--[-_0-9a-z]{2,63}))\.?$`)
	})
)

// parseURL takes a URL apart. Where the library could read a text in several
// ways it takes one and refuses the text if that leaves a rest; so does this.
func parseURL(text string) (u parsedURL, ok bool) {
	m := urlScheme.FindStringSubmatch(text)
	if m == nil || strings.ContainsFunc(text, isPythonSpace) {
		return u, false
	}
	u.scheme = m[1]
	rest := text[len(m[0]):]
	u.user, u.password, rest = cutUser(rest)
	if v6 := ipv6Host.FindString(rest); v6 != "" && strings.IndexAny(rest[len(v6):]+"/", "/:#?") == 0 {
		u.host, u.plain, u.named, rest = v6, true, true, rest[len(v6):]
	} else {
		end := strings.IndexAny(rest+"/", "/:?#")
		u.host, rest = rest[:end], rest[end:]
		v4 := ipv4Host.MatchString(u.host)
		if !v4 && !domainHost().MatchString(u.host) {
			return u, false
		}
		u.plain = v4 || asciiHost().MatchString(u.host)
		u.named = u.plain || namedHost().MatchString(u.host)
	}
	tail := urlTail.FindStringSubmatch(rest)
	if tail == nil {
		return u, false
	}
	u.port, u.path, u.query, u.fragment = tail[1], tail[2], tail[3], tail[4]
	port, err := strconv.Atoi("0" + u.port)
	return u, err == nil && port <= 65535
}

// cutUser cuts "user:password@" off the start, up to the last @ before the path.
func cutUser(text string) (user, password, rest string) {
	authority, _, _ := strings.Cut(text, "/")
	name, _, hasColon := strings.Cut(authority, ":")
	at := strings.LastIndexByte(authority, '@')
	switch {
	case hasColon && at > len(name):
		return name, authority[len(name)+1 : at], text[at+1:]
	case strings.Contains(name, "@"):
		at = strings.LastIndexByte(name, '@')
		return name[:at], "", text[at+1:]
	}
	return "", "", text
}

// String puts the URL together again, without the marks of parts that are empty.
func (u *parsedURL) String() string {
	var text strings.Builder
	text.WriteString(u.scheme + "://" + u.user)
	if u.password != "" {
		text.WriteString(":" + u.password)
	}
	if u.user != "" || u.password != "" {
		text.WriteString("@")
	}
	text.WriteString(u.host)
	for _, part := range []struct{ mark, text string }{{":", u.port}, {"", u.path}, {"?", u.query}, {"#", u.fragment}} {
		if part.text != "" {
			text.WriteString(part.mark + part.text)
		}
	}
	return text.String()
}

// maxHTTP is the longest URL that pydantic's HttpUrl takes. A limit of this
// length is the only trace that it leaves in a schema.
const maxHTTP = 2083

// canonicalURL checks a URL and spells it as Python writes it: as it came, but
// put together anew where the host does not end in ASCII letters. Domains in
// other scripts stay as they are, where Python would encode them.
func canonicalURL(text string, limits spec.Limits) (string, error) {
	u, ok := parseURL(text)
	if !ok {
		return "", refuse("expected a URL such as https://host/path")
	}
	if limits.MaxLength != nil && *limits.MaxLength == maxHTTP {
		if scheme := strings.ToLower(u.scheme); scheme != "http" && scheme != "https" {
			return "", refuse("expected a URL with the scheme http or https")
		}
		if !u.named {
			return "", refuse("expected a URL whose host ends in a top-level domain")
		}
		if standard := map[bool]string{true: "80", false: "443"}[u.scheme == "http"]; u.port == standard {
			u.port = ""
		}
	}
	if u.plain {
		return text, nil
	}
	return u.String(), nil
}

// isPythonSpace is str.isspace of Python, which knows four more than Go.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
