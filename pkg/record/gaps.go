package record

// AppendTokenGaps appends the inter-token latencies of a request to a slice: each gap
// between its chunks is divided over the tokens of the chunk that ended it. A chunk of
// k tokens after a gap g is k gaps of g/k, so that a server which sends four tokens at
// a time is not taken for one four times as slow, and as many gaps weigh as there were
// tokens. A chunk that brought text but no token (a character in several parts) lends
// its gap to the next one. There is one more of tokens than of gaps.
func AppendTokenGaps(to []float32, gaps []float32, tokens []int32) []float32 {
	var lent float32
	for i, gap := range gaps {
		gap += lent
		k := tokens[i+1]
		if k == 0 {
			lent = gap
			continue
		}
		lent = 0
		each := gap / float32(k)
		for range k {
			to = append(to, each)
		}
	}
	return to
}
