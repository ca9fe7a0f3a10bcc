package random

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Stream returns the stream of numbers for a purpose under a seed. The parts of the
// purpose go from coarse to fine, as in Stream(42, "schedule", "cycle 0", "burst").
func Stream(seed int64, purpose ...string) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "bgbench %d %s", seed, strings.Join(purpose, "\x00"))))
}
