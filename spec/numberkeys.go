package spec

import (
	"slices"
	"strconv"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/pyjson"
)

// Keys of objects are text in JSON, but in Python they may have been numbers,
// and the text that is hashed has them in the order of numbers: 9 before 10. A
// schema does not say which they were.

// withNumberKeys marks the objects of a default whose keys are numbers by its
// type.
func withNumberKeys(v pyjson.Value, t Type) pyjson.Value {
	switch t := soleVariant(t).(type) {
	case *List:
		return mapItems(v, func(int) Type { return t.Item })
	case *Tuple:
		return mapItems(v, func(i int) Type {
			if i < len(t.Items) {
				return t.Items[i]
			}
			return Any
		})
	case *Map:
		v.Members = slices.Clone(v.Members)
		for i := range v.Members {
			v.Members[i].Value = withNumberKeys(v.Members[i].Value, t.Value)
		}
		v.NumberKeys = hasNumberKeys(t)
	}
	return v
}

func mapItems(v pyjson.Value, typeOf func(int) Type) pyjson.Value {
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = withNumberKeys(v.Items[i], typeOf(i))
	}
	return v
}

func hasNumberKeys(t *Map) bool {
	if e, ok := t.Key.(*Enum); ok {
		return e.Base == Int || e.Base == Float
	}
	s, ok := AsScalar(t.Key)
	return ok && int(s.Kind) < len(scalarForms) && (scalarForms[s.Kind].typ == "integer" || scalarForms[s.Kind].typ == "number")
}

// inTwoOrders reports whether the keys of an object can be read as numbers whose
// order is not that of the text.
func inTwoOrders(v pyjson.Value) bool {
	keys := make([]float64, 0, len(v.Members))
	texts := make([]string, 0, len(v.Members))
	for _, m := range v.Members {
		f, err := strconv.ParseFloat(m.Key, 64)
		if err != nil {
			return false
		}
		keys, texts = append(keys, f), append(texts, m.Key)
	}
	slices.Sort(keys)
	slices.Sort(texts)
	for i, text := range texts {
		if f, _ := strconv.ParseFloat(text, 64); f != keys[i] {
			return true
		}
	}
	return false
}

// numbered marks all objects whose keys have two orders as having numbers.
func numbered(v pyjson.Value) pyjson.Value {
	v.NumberKeys = inTwoOrders(v)
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = numbered(v.Items[i])
	}
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		v.Members[i].Value = numbered(v.Members[i].Value)
	}
	return v
}

// asStated returns the digest of a schema as it stands. Where the order of keys
// is not known, the digest that is stated for it decides, and the schema comes
// back with that order.
func asStated(schema pyjson.Value, stated string) (digest string, ordered pyjson.Value) {
	digest = modelDigest(schema)
	if digest == stated {
		return digest, schema
	}
	ordered = numbered(schema)
	if modelDigest(ordered) == stated {
		return stated, ordered
	}
	return digest, schema
}

// checkOrder refuses a value, kept as it is, whose digest cannot be known.
func (im *importer) checkOrder(v pyjson.Value, path string) {
	if inTwoOrders(v) {
		im.fail(fault.Unsupported, path, "the digest depends on whether the keys were numbers in Python, which a schema does not say")
	}
	for i, item := range v.Items {
		im.checkOrder(item, path+"["+strconv.Itoa(i)+"]")
	}
	for _, m := range v.Members {
		im.checkOrder(m.Value, path+"."+m.Key)
	}
}
