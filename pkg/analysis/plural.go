package analysis

import "fmt"

// Plural is a number of things: 1 trial, 2 trials.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
