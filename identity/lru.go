package identity

import "container/list"

// An lru holds at most limit values and drops the one that was longest not used.
type lru[K comparable, V any] struct {
	limit int
	items map[K]*list.Element
	order *list.List // of pair[K, V], most recently used first
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, items: map[K]*list.Element{}, order: list.New()}
}

// peek returns a value without counting it as used.
func (l *lru[K, V]) peek(key K) (value V, found bool) {
	item, found := l.items[key]
	if found {
		value = item.Value.(pair[K, V]).value
	}
	return value, found
}

// use counts a value as used just now, if it is there.
func (l *lru[K, V]) use(key K) {
	if item, found := l.items[key]; found {
		l.order.MoveToFront(item)
	}
}

// put adds a value or replaces it.
func (l *lru[K, V]) put(key K, value V) {
	if l.limit <= 0 {
		return
	}
	if item, found := l.items[key]; found {
		item.Value = pair[K, V]{key, value}
		l.order.MoveToFront(item)
		return
	}
	l.items[key] = l.order.PushFront(pair[K, V]{key, value})
	if l.order.Len() > l.limit {
		oldest := l.order.Remove(l.order.Back()).(pair[K, V])
		delete(l.items, oldest.key)
	}
}
