package parleyhttp

import (
	"strconv"
	"strings"

	"github.com/parley-agents/parley"
	"github.com/parley-agents/parley/internal/pyjson"
)

// validationError writes what is wrong with a request as the peers do:
// {"loc": ["items", 0, "name"], "msg": "field required", "type": "value_error.missing"}.
func validationError(e *parley.Error) []byte {
	msg, kind := peerWords(e.Text)
	loc := location(e.Field)
	if len(loc) == 0 {
		loc = []pyjson.Value{pyjson.Of("__root__")}
	}
	return pyjson.Append(nil, pyjson.OfMembers(
		member("loc", pyjson.OfItems(loc...)),
		member("msg", pyjson.Of(msg)),
		member("type", pyjson.Of(kind)),
	), pyjson.Spaced)
}

// location takes a path such as items[0].name apart.
func location(field string) []pyjson.Value {
	var loc []pyjson.Value
	for part := range strings.SplitSeq(field, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		if name != "" {
			loc = append(loc, pyjson.Of(name))
		}
		for index := range strings.SplitSeq(strings.TrimSuffix(indexes, "]"), "][") {
			if _, err := strconv.Atoi(index); err == nil {
				loc = append(loc, pyjson.OfInt(index))
			} else if index != "" {
				loc = append(loc, pyjson.Of(index))
			}
		}
	}
	return loc
}

// words are the peers' words for what the codec says of a value, by how its text
// starts. A text that none of them fits is passed on as it is.
var words = []struct{ ours, msg, kind string }{
	{"the field is required", "field required", "value_error.missing"},
	{"expected an integer", "value is not a valid integer", "type_error.integer"},
	{"expected a float", "value is not a valid float", "type_error.float"},
	{"expected a number", "value is not a valid float", "type_error.float"},
	{"expected a decimal number", "value is not a valid decimal", "type_error.decimal"},
	{"expected a boolean", "value could not be parsed to a boolean", "type_error.bool"},
	{"expected a string", "str type expected", "type_error.str"},
	{"expected an array", "value is not a valid list", "type_error.list"},
	{"expected an object", "value is not a valid dict", "type_error.dict"},
	{"expected a UUID", "value is not a valid uuid", "type_error.uuid"},
}

func peerWords(text string) (msg, kind string) {
	switch {
	case strings.Contains(text, "of the JSON text"):
		return text, "value_error.jsondecode"
	case text == "the text is not UTF-8":
		return text, "value_error.unicodedecode"
	case strings.HasPrefix(text, "expected ") && strings.HasSuffix(text, ", found null"):
		return "none is not an allowed value", "type_error.none.not_allowed"
	case strings.HasSuffix(text, " has no such field"):
		return "extra fields not permitted", "value_error.extra"
	}
	for _, w := range words {
		if strings.HasPrefix(text, w.ours) {
			return w.msg, w.kind
		}
	}
	return text, "value_error"
}
