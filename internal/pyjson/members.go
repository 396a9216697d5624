package pyjson

// Members collects the members of an object. A key that is set again keeps its
// first place and gets the last value, as in a Python dict. Finding a key takes
// a time that does not grow with the object: a hostile one of many keys must not
// cost the square of its size.
type Members struct {
	list  []Member
	byKey map[string]int // once there are more than linearKeys
}

const linearKeys = 16

// MembersOf starts with the members of an object.
func MembersOf(v Value) *Members {
	m := &Members{}
	for _, member := range v.Members {
		m.Set(member.Key, member.Value)
	}
	return m
}

// Get returns the value of a key.
func (m *Members) Get(key string) (Value, bool) {
	if i := m.find(key); i >= 0 {
		return m.list[i].Value, true
	}
	return Value{}, false
}

// Set replaces or appends the member with the given key.
func (m *Members) Set(key string, value Value) {
	if i := m.find(key); i >= 0 {
		m.list[i].Value = value
		return
	}
	if m.byKey == nil && len(m.list) >= linearKeys {
		m.byKey = make(map[string]int, 2*linearKeys)
		for i := range m.list {
			m.byKey[m.list[i].Key] = i
		}
	}
	if m.byKey != nil {
		m.byKey[key] = len(m.list)
	}
	m.list = append(m.list, Member{key, value})
}

// Object returns the collected members as a value.
func (m *Members) Object() Value { return Value{Kind: Object, Members: m.list} }

func (m *Members) find(key string) int {
	if m.byKey != nil {
		if i, ok := m.byKey[key]; ok {
			return i
		}
		return -1
	}
	for i := range m.list {
		if m.list[i].Key == key {
			return i
		}
	}
	return -1
}
