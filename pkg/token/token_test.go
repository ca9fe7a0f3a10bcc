package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want int
	}{
		"nothing is no token":                                {"", 0},
		"white space alone is no token":                      {" \t\r\n", 0},
		"a word is one token":                                {"rain", 1},
		"the space before a word belongs to it":              {"  soft rain", 2},
		"white space at the end adds nothing":                {"soft rain \n", 2},
		"letters and digits do not mix":                      {"abc123def", 3},
		"a run of digits is one token":                       {"2048", 1},
		"each punctuation mark is a token":                   {"well, yes...", 6},
		"letters outside ASCII belong to the word":           {"naïve Straße", 2},
		"a character outside ASCII that is no letter stands": {"rain☂rain", 3},
		"a word may begin outside ASCII":                     {"état", 1},
		"digits do not join letters outside ASCII":           {"4é", 2},
		"bytes that are not UTF-8 stand alone":               {"a\xff\xfeb", 4},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Count(test.text); got != test.want {
				t.Errorf("Count(%q) = %d, want %d", test.text, got, test.want)
			}
			if got := len(Append(nil, test.text)); got != test.want {
				t.Errorf("Append(%q) has %d ids, want %d", test.text, got, test.want)
			}
		})
	}
}

// Whatever way a token is found, alone or in a window of many, it has one id.
func TestTheIDOfATokenIsThatOfItsBytes(t *testing.T) {
	tokens := strings.Fields("a rain rains village villages overwhelming , . 2048 7 naïve 漢 ☂ Z z [ ` { @ ~")
	tokens = append(tokens, strings.Repeat("a", 63), strings.Repeat("b", 64), strings.Repeat("c", 200), "\xff")
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var text strings.Builder
		var want []uint32
		for range random.IntN(60) {
			token := tokens[random.IntN(len(tokens))]
			text.WriteString(strings.Repeat(" ", 1+random.IntN(2)) + token)
			want = append(want, idOf(token))
		}
		if got := Append(nil, text.String()); !slices.Equal(got, want) {
			t.Fatalf("Append(%q) = %#x, want %#x", text.String(), got, want)
		}
	}
}

func TestTokensHaveIDsOfTheirOwn(t *testing.T) {
	seen := map[uint32]string{}
	for _, a := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		for _, b := range "abcdefghijklmnopqrstuvwxyz" {
			for _, end := range []string{"", "s", "ing", "ington", "ingtons", "ingtonian"} {
				token := string(a) + string(b) + end
				id := idOf(token)
				if other, ok := seen[id]; ok {
					t.Errorf("%q and %q have the id %#x", token, other, id)
				}
				seen[id] = token
			}
		}
	}
}

func TestEqualTokensHaveEqualIDs(t *testing.T) {
	ids := Append(nil, "rain  rain, rain\n\nrain Rain")
	if ids[0] != ids[1] || ids[1] != ids[3] || ids[3] != ids[4] {
		t.Errorf("ids of the same word differ: %#x", ids)
	}
	if ids[0] == ids[2] || ids[0] == ids[5] {
		t.Errorf("ids of different tokens are equal: %#x", ids)
	}
}

func TestAppendKeepsWhatWasThere(t *testing.T) {
	got := Append([]uint32{7}, "rain")
	if len(got) != 2 || got[0] != 7 {
		t.Errorf("Append to [7] = %d", got)
	}
}

func TestChatAddsItsTemplate(t *testing.T) {
	messages := []Message{{"system", "be brief"}, {"user", "why, though"}}
	// <|im_start|> role newline … <|im_end|> newline, twice, and the three of the reply.
	const want = 5 + 2 + 5 + 3 + 3
	if got := CountChat(messages); got != want {
		t.Errorf("CountChat = %d, want %d", got, want)
	}
	if got := len(chatOf(messages)); got != want {
		t.Errorf("the chat has %d ids, want %d", got, want)
	}
}

func TestChatsWithTheSameSystemPromptShareAPrefix(t *testing.T) {
	system := Message{"system", strings.Repeat("word ", 100)}
	a := chatOf([]Message{system, {"user", "one"}})
	b := chatOf([]Message{system, {"user", "two"}})
	shared := MessageOverhead + 100 + 3 // the user's start, role and newline too
	if !slices.Equal(a[:shared], b[:shared]) {
		t.Error("the prefix differs")
	}
	if a[shared] == b[shared] {
		t.Error("the user messages have the same id")
	}
}

func FuzzCountAgreesWithAppend(f *testing.F) {
	for _, seed := range []string{"", "soft rain", "naïve 12!", "a\xff", "\u00a0x", "漢字12", strings.Repeat("rain, ", 20), strings.Repeat("r", 70) + " 12 rain"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids := Append(nil, text)
		if n := Count(text); n != len(ids) {
			t.Errorf("Count(%q) = %d, Append has %d ids", text, n, len(ids))
		}
		chat := []Message{{"user", text}}
		if n := CountChat(chat); n != len(chatOf(chat)) {
			t.Errorf("CountChat and the ids of the chat disagree on %q", text)
		}
		if doubled := Count(text + " " + text); doubled != 2*len(ids) {
			t.Errorf("twice %q has %d tokens, want %d", text, doubled, 2*len(ids))
		}
	})
}

func chatOf(messages []Message) []uint32 {
	var ids []uint32
	for _, m := range messages {
		ids = AppendMessage(ids, m)
	}
	return AppendReply(ids)
}
