package check

import (
	"strings"

	"github.com/parley-agents/parley/internal/pyjson"
	"github.com/parley-agents/parley/spec"
)

// text returns the only argument of an annotation, which is a string.
func text(list []spec.Annotation, name string) (string, bool) {
	for _, a := range list {
		if a.Name == name && len(a.Args) == 1 && a.Args[0].Name == "" {
			return unquoted(a.Args[0].Value)
		}
	}
	return "", false
}

// argText returns a named argument that is a string.
func argText(list []spec.Annotation, name, arg string) (string, bool) {
	for _, a := range list {
		for _, v := range a.Args {
			if a.Name == name && v.Name == arg {
				return unquoted(v.Value)
			}
		}
	}
	return "", false
}

func argTrue(list []spec.Annotation, name, arg string) bool {
	for _, a := range list {
		for _, v := range a.Args {
			if a.Name == name && v.Name == arg && v.Value == "true" {
				return true
			}
		}
	}
	return false
}

func unquoted(v spec.JSON) (string, bool) {
	if !strings.HasPrefix(string(v), `"`) {
		return "", false
	}
	parsed, err := pyjson.Parse([]byte(v), nil)
	return parsed.Text, err == nil
}

// keywords returns what @uagents(keywords: {…}) adds to a schema.
func keywords(list []spec.Annotation) spec.Keywords {
	var out spec.Keywords
	for _, a := range list {
		for _, v := range a.Args {
			if a.Name != "uagents" || v.Name != "keywords" {
				continue
			}
			object, err := pyjson.Parse([]byte(v.Value), nil)
			if err != nil {
				continue
			}
			for _, m := range object.Members {
				out = append(out, spec.Keyword{Name: m.Key, Value: spec.JSON(pyjson.Append(nil, m.Value, pyjson.Spaced))})
			}
		}
	}
	return out
}
