package run

import "time"

// SetPatience makes [Main] wait so long for agents to stop.
func SetPatience(d time.Duration) { patience = d }
