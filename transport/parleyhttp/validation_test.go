package parleyhttp

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/spec"
	"github.com/parley-agents/parley/wire/uagents"
)

// The words are those of the peers' validation (pydantic v1); ours come from the
// codec itself, so that a change of its texts is seen here.
func TestValidationErrorsAreInThePeersWords(t *testing.T) {
	type item struct {
		Name string `json:"name"`
	}
	type request struct {
		Name    string         `json:"name"`
		Count   int            `json:"count" parley:"default=1"`
		Ratio   float64        `json:"ratio" parley:"default=1"`
		Ready   bool           `json:"ready" parley:"default=true"`
		Items   []item         `json:"items" parley:"default=[]"`
		Nested  map[string]int `json:"nested" parley:"default={}"`
		ID      *uuid.UUID     `json:"id" parley:"uuid4"`
		Limited int            `json:"limited" parley:"default=1,max=5"`
	}
	model, err := spec.FromGo[request]()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		body string
		lax  bool
		want string
	}{
		{`{}`, false, `{"loc": ["name"], "msg": "field required", "type": "value_error.missing"}`},
		{`{"name": null}`, false, `{"loc": ["name"], "msg": "none is not an allowed value", "type": "type_error.none.not_allowed"}`},
		{`{"name": []}`, true, `{"loc": ["name"], "msg": "str type expected", "type": "type_error.str"}`},
		{`{"name": "x", "count": "abc"}`, false, `{"loc": ["count"], "msg": "value is not a valid integer", "type": "type_error.integer"}`},
		{`{"name": "x", "count": "abc"}`, true, `{"loc": ["count"], "msg": "value is not a valid integer", "type": "type_error.integer"}`},
		{`{"name": "x", "ratio": "abc"}`, false, `{"loc": ["ratio"], "msg": "value is not a valid float", "type": "type_error.float"}`},
		{`{"name": "x", "ratio": "abc"}`, true, `{"loc": ["ratio"], "msg": "value is not a valid float", "type": "type_error.float"}`},
		{`{"name": "x", "ready": "maybe"}`, false, `{"loc": ["ready"], "msg": "value could not be parsed to a boolean", "type": "type_error.bool"}`},
		{`{"name": "x", "ready": "maybe"}`, true, `{"loc": ["ready"], "msg": "value could not be parsed to a boolean", "type": "type_error.bool"}`},
		{`{"name": "x", "items": 5}`, false, `{"loc": ["items"], "msg": "value is not a valid list", "type": "type_error.list"}`},
		{`{"name": "x", "items": [{"name": "y"}, 5]}`, false, `{"loc": ["items", 1], "msg": "value is not a valid dict", "type": "type_error.dict"}`},
		{`{"name": "x", "items": [{"name": "y"}, {}]}`, false, `{"loc": ["items", 1, "name"], "msg": "field required", "type": "value_error.missing"}`},
		{`{"name": "x", "nested": {"a": "b"}}`, false, `{"loc": ["nested", "a"], "msg": "value is not a valid integer", "type": "type_error.integer"}`},
		{`{"name": "x", "id": "y"}`, false, `{"loc": ["id"], "msg": "value is not a valid uuid", "type": "type_error.uuid"}`},
		{`{"name": "x", "limited": 6}`, false, `{"loc": ["limited"], "msg": "expected at most 5, found 6", "type": "value_error"}`},
		{`[]`, false, `{"loc": ["__root__"], "msg": "value is not a valid dict", "type": "type_error.dict"}`},
		{`{`, false, `{"loc": ["__root__"], "msg": "expected a key in double quotes at byte 1 of the JSON text, found the end", "type": "value_error.jsondecode"}`},
		{"\xff", false, `{"loc": ["__root__"], "msg": "the text is not UTF-8", "type": "value_error.unicodedecode"}`},
	} {
		codec, err := uagents.NewCodec(model, &uagents.CodecOptions{Lax: tc.lax})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := errors.AsType[*fault.Error](codec.Unmarshal([]byte(tc.body), &request{}))
		if !ok {
			t.Errorf("%s: no error", tc.body)
			continue
		}
		if got := string(validationError(e)); got != tc.want {
			t.Errorf("%s (%s):\n got %s\nwant %s", tc.body, e, got, tc.want)
		}
	}
}
