package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestASumIsThatOfAllPieces(t *testing.T) {
	var sum textSum
	rapid.Check(t, func(t *rapid.T) {
		sum.reset()
		pieces := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.Just(strings.Repeat("x", 3*sumPiece+1)))).Draw(t, "pieces")
		for _, p := range pieces {
			sum.add([]byte(p))
		}
		want := ""
		if all := strings.Join(pieces, ""); all != "" {
			whole := sha256.Sum256([]byte(all))
			want = hex.EncodeToString(whole[:])
		}
		if got := sum.text(); got != want {
			t.Errorf("found %s, expected %s", got, want)
		}
	})
}
