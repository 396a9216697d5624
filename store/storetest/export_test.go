package storetest

import "time"

// SetPatience shortens the waits of the suite, for stores known to be broken.
func SetPatience(d time.Duration) { patience = d }

// Names returns the names of all promises.
func Names() (names, durable []string) {
	for _, p := range promises {
		names = append(names, p.name)
	}
	for _, p := range durablePromises {
		durable = append(durable, p.name)
	}
	return names, durable
}
