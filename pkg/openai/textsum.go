package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// textSum hashes a text that comes in pieces of a word: it gathers some before it hands
// them on, which costs less than the hashing of each (BenchmarkStream).
type textSum struct {
	sum   hash.Hash // nil before the first use
	some  bool      // there was text
	piece []byte
}

// sumPiece is how much is hashed at a time: four blocks of SHA-256.
const sumPiece = 256

func (t *textSum) reset() {
	t.some, t.piece = false, t.piece[:0]
	if t.sum != nil {
		t.sum.Reset()
	}
}

func (t *textSum) add(text []byte) {
	if len(text) == 0 {
		return
	}
	t.some = true
	if len(t.piece)+len(text) > sumPiece {
		t.flush()
	}
	t.piece = append(t.piece, text...)
}

func (t *textSum) flush() {
	if t.sum == nil {
		t.sum = sha256.New()
	}
	t.sum.Write(t.piece)
	t.piece = t.piece[:0]
}

// text is the sum in hexadecimal, empty without text.
func (t *textSum) text() string {
	if !t.some {
		return ""
	}
	t.flush()
	return hex.EncodeToString(t.sum.Sum(nil))
}
