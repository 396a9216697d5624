package transporttest

import "time"

// SetPatience shortens the waits of the suite, for transports known to be broken.
func SetPatience(d time.Duration) { patience = d }
