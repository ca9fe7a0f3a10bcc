package spec

import "strings"

// nearest returns the name that a typing error most likely stands for, "" if none
// is close.
func nearest(found string, names []string) string {
	best, bestDistance := "", len(found)/3+2
	for _, name := range names {
		d := editDistance(strings.ToLower(found), strings.ToLower(name))
		if d < bestDistance && d < len(name) {
			best, bestDistance = name, d
		}
	}
	return best
}

// editDistance is Levenshtein's: insertions, deletions and substitutions of bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(diagonal+cost, row[j]+1, row[j+1]+1)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
