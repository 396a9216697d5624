// Package pyjson reads and writes JSON as Python's json module does, byte for
// byte.
//
// Digests and signatures on the uAgents wire are taken over JSON text, so the
// text matters: the order of keys, the blanks, how a float is spelled, that 1
// and 1.0 differ, that NaN is allowed. encoding/json keeps none of these.
package pyjson

// Kind is the kind of a [Value].
type Kind uint8

// The kinds of JSON, with Python's distinction between int and float.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Array
	Object
)

var kindNames = [...]string{"null", "a boolean", "an integer", "a float", "a string", "an array", "an object"}

// String names the kind as an error message would, such as "an integer".
func (k Kind) String() string { return kindNames[k] }

// A Value is one JSON value. The zero Value is null.
type Value struct {
	Kind Kind
	Bool bool

	// Text is the content of a String, the decimal digits of an Int (any
	// length) and, for a Float that was parsed, how it was written.
	//
	// A Python string may hold half a surrogate pair. Here it stands as the
	// three bytes that UTF-8 would give it, so Text may be invalid UTF-8.
	Text string

	Num     float64  // of a Float
	Items   []Value  // of an Array
	Members []Member // of an Object, in order

	// NumberKeys says of an Object that its keys were numbers in Python, which
	// sorts them before it writes them: 9 comes before 10.
	NumberKeys bool
}

// A Member is one key of an object with its value.
type Member struct {
	Key   string
	Value Value
}

// Of makes a string value.
func Of(text string) Value { return Value{Kind: String, Text: text} }

// OfBool makes a boolean value.
func OfBool(b bool) Value { return Value{Kind: Bool, Bool: b} }

// OfInt makes an integer value of decimal digits.
func OfInt(digits string) Value { return Value{Kind: Int, Text: digits} }

// OfFloat makes a float value.
func OfFloat(f float64) Value { return Value{Kind: Float, Num: f} }

// OfItems makes an array.
func OfItems(items ...Value) Value { return Value{Kind: Array, Items: items} }

// OfMembers makes an object.
func OfMembers(members ...Member) Value { return Value{Kind: Object, Members: members} }

// Get returns the member of an object with the given key.
func (v Value) Get(key string) (Value, bool) {
	for i := range v.Members {
		if v.Members[i].Key == key {
			return v.Members[i].Value, true
		}
	}
	return Value{}, false
}

// Set replaces or appends the member with the given key.
func (v *Value) Set(key string, value Value) {
	for i := range v.Members {
		if v.Members[i].Key == key {
			v.Members[i].Value = value
			return
		}
	}
	v.Members = append(v.Members, Member{key, value})
}

// Equal reports whether two values are written the same way in [Sorted] style.
func Equal(a, b Value) bool {
	return string(Append(nil, a, Sorted)) == string(Append(nil, b, Sorted))
}
