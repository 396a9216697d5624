package check

import (
	"slices"

	"github.com/parley-agents/parley/spec"
)

// builtins are the types of the language that stand for a kind.
var builtins = map[string]spec.Kind{
	"String": spec.String, "Bool": spec.Bool, "Int": spec.Int, "Int64": spec.Int, "Int32": spec.Int32,
	"UInt32": spec.UInt32, "UInt64": spec.UInt64, "Float": spec.Float, "Float64": spec.Float, "Float32": spec.Float32,
	"Decimal": spec.Decimal, "Bytes": spec.Bytes, "DateTime": spec.DateTime, "Date": spec.Date, "Time": spec.Time,
	"Duration": spec.Duration, "Uuid": spec.UUID, "Uuid4": spec.UUID4, "Uri": spec.URI,
	"Json": spec.Any, "Any": spec.Any, "Null": spec.Null,
	"List": spec.Any, "Set": spec.Any, "Map": spec.Any, "Tuple": spec.Any,
}

// generics are those that take types, with how many.
var generics = map[string]int{"List": 1, "Set": 1, "Map": 2, "Tuple": -1}

var builtinNames = func() (names []string) {
	for name := range builtins {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// otherNames are what other languages call the built-in types.
var otherNames = map[string]string{
	"str": "String", "text": "String", "boolean": "Bool", "integer": "Int", "long": "Int64", "short": "Int32", "number": "Float",
	"double": "Float64", "byte": "Bytes", "blob": "Bytes", "binary": "Bytes", "timestamp": "DateTime", "array": "List",
	"vector": "List", "dict": "Map", "object": "Map", "guid": "Uuid", "url": "Uri", "none": "Null", "nil": "Null", "void": "Null",
	"null": "Null", "uint": "UInt64", "i32": "Int32", "i64": "Int64", "u32": "UInt32", "u64": "UInt64", "f32": "Float32", "f64": "Float64",
	"repeated": "List", "struct": "Map", "interface": "Json", "unknown": "Json", "value": "Json",
}

var kindNames = map[spec.Kind]string{
	spec.Any: "Json", spec.Null: "Null", spec.Bool: "Bool", spec.String: "String", spec.Int: "Int", spec.Int32: "Int32",
	spec.UInt32: "UInt32", spec.UInt64: "UInt64", spec.Float: "Float", spec.Float32: "Float32", spec.Decimal: "Decimal",
	spec.Bytes: "Bytes", spec.DateTime: "DateTime", spec.Date: "Date", spec.Time: "Time", spec.Duration: "Duration",
	spec.UUID: "Uuid", spec.UUID4: "Uuid4", spec.URI: "Uri",
}

// describe names a type as its source would, without details.
func describe(t spec.Type) string {
	switch t := t.(type) {
	case spec.Kind:
		return kindNames[t]
	case *spec.Scalar:
		return kindNames[t.Kind]
	case *spec.List:
		if t.Set {
			return "Set<" + describe(t.Item) + ">"
		}
		return "List<" + describe(t.Item) + ">"
	case *spec.Map:
		return "Map<" + describe(t.Key) + ", " + describe(t.Value) + ">"
	case *spec.Tuple:
		return "Tuple"
	case *spec.Union:
		return "union"
	case *spec.Literal:
		if len(t.Values) == 1 {
			return string(t.Values[0])
		}
		return "literal"
	}
	if name := spec.NameOf(t); name != "" {
		return name
	}
	return "type"
}

// an puts the article before a word.
func an(word string) string {
	if word != "" && slices.Contains([]byte("AEIOaeio"), word[0]) {
		return "an " + word
	}
	return "a " + word
}

func isInteger(k spec.Kind) bool {
	return k == spec.Int || k == spec.Int32 || k == spec.UInt32 || k == spec.UInt64
}

func isNumber(k spec.Kind) bool {
	return isInteger(k) || k == spec.Float || k == spec.Float32 || k == spec.Decimal || k == spec.Duration
}
