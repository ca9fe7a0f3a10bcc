//go:build !unix

package load

import "time"

// cpuTime is unknown here.
func cpuTime() time.Duration { return 0 }
