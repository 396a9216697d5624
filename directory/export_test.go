package directory

import "time"

// ProbeEvery makes the client look so often whether an Almanac still knows what it
// was told.
func (c *Client) ProbeEvery(d time.Duration) { c.probeEvery = d }
