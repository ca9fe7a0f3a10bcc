package prompt

import (
	"slices"
	"strings"
	"sync"

	"github.com/brianvoe/gofakeit/v7/data"
)

// maxLetters bounds the words: short ones are one token in common BPE vocabularies.
const maxLetters = 5

// split names the short words of the library that, after a space, are more than one
// token in cl100k_base (from which Qwen's vocabulary is derived) or o200k_base.
const split = ` aha aloof bale bathe bevy bravo cello clump covey drab edify eek frail frock
gauva horde hoses itchy kneel koala kuban madly mushy nutty omen oops ouch peep phew posse
pout preen ream repel sari scold sedge sheaf shyly snarl snore swan untie vomit wad wade
weep whoa wisp wrack yikes zebra `

// vocabulary returns the words that texts are made of, in alphabetical order.
var vocabulary = sync.OnceValue(func() []string {
	excluded := strings.Fields(split)
	var words []string
	for _, list := range data.Word {
		for _, w := range list {
			if len(w) > 1 && len(w) <= maxLetters && lowerCase(w) && !slices.Contains(excluded, w) {
				words = append(words, w)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
})

func lowerCase(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}
