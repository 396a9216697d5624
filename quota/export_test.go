package quota

import "time"

// SetClock makes the quota live in another time.
func (q *Quota) SetClock(now func() time.Time) { q.now = now }
