package parleyhttp

// Crash cuts all connections as the death of the process would.
func Crash(t *Transport) { _ = t.server.Load().Close() }
