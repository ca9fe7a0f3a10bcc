package tokenizer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bgbench/pkg/token"
)

// The tokenizers of these tests are our own and tiny. Before they were written, the
// package gave the ids of the JavaScript implementation (@lenml/tokenizers 3.7.2) for
// the tokenizer.json of Qwen3 on texts of eight scripts, and Jinja2's text for its
// template.
const (
	byteBPE = `{"added_tokens":[{"id":20,"content":"<|im_start|>"},{"id":21,"content":"<|im_end|>"},{"id":22,"content":"<x>","lstrip":true,"rstrip":true}],
		"normalizer":{"type":"NFC"},
		"pre_tokenizer":{"type":"Sequence","pretokenizers":[
			{"type":"Split","pattern":{"Regex":"\\p{N}| ?\\p{L}+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated"},
			{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},
		"model":{"type":"BPE","vocab":{"r":0,"a":1,"i":2,"n":3,"Ġ":4,"ra":5,"in":6,"rain":7,"Ġrain":8,"Ã":9,"©":10,"Ċ":11,"1":12,"u":13,"s":14,"e":15},
			"merges":["r a",["i","n"],"ra in",["Ġ","rain"]]}}`
	charBPE = `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
		"model":{"type":"BPE","unk_token":"<unk>","byte_fallback":true,"fuse_unk":true,"ignore_merges":true,
			"vocab":{"<unk>":0,"<0xC3>":1,"<0xA9>":2,"▁":3,"a":4,"b":5,"ab":6,"▁ab":7,"▁ba":8},"merges":["a b","▁ ab"]}}`
	wordPieces = `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
		"pre_tokenizer":{"type":"BertPreTokenizer"},
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":10,
			"vocab":{"[UNK]":0,"rain":1,"##s":2,"##ing":3,",":4,"é":5,"etat":6,"漢":7}}}`
	likeliest = `{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
		"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁",-2],["▁rain",-3],["r",-4],["a",-4],["i",-4],["n",-4],["ain",-5],["s",-3],["▁r",-3.5]]}}`
)

func parse(t testing.TB, text string) *Tokenizer {
	t.Helper()
	k, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTextsHaveTheTokensOfTheirVocabulary(t *testing.T) {
	for name, c := range map[string]struct {
		tokenizer, text string
		want            []int
	}{
		"merges in the order of their ranks":        {byteBPE, "rain rain", []int{7, 8}},
		"a space in front of the last word only":    {byteBPE, "rain  rain", []int{7, 4, 8}},
		"bytes of a character":                      {byteBPE, "é", []int{9, 10}},
		"a composed character is one with its mark": {byteBPE, "e\u0301", []int{9, 10}},
		"digits one by one":                         {byteBPE, "11", []int{12, 12}},
		"an added token is never split":             {byteBPE, "<|im_start|>rain<|im_end|>\n", []int{20, 7, 21, 11}},
		"an added token that takes the spaces":      {byteBPE, "rain  <x>  rain", []int{7, 22, 7}},
		"nothing":                                   {byteBPE, "", nil},
		"a whole piece before its merges":           {charBPE, "ba", []int{8}},
		"characters and their merges":               {charBPE, "ab ab", []int{7, 7}},
		"bytes where a character is not known":      {charBPE, "é", []int{3, 1, 2}},
		"unknown neighbours are one":                {charBPE, "zz", []int{3, 0}},
		"the longest pieces of a word":              {wordPieces, "Rains RAINING, rain", []int{1, 2, 1, 3, 4, 1}},
		"accents go, ideographs stand alone":        {wordPieces, "État漢漢", []int{6, 7, 7}},
		"a word that has no pieces is unknown":      {wordPieces, "rainy", []int{0}},
		"a word that is too long is unknown":        {wordPieces, "rainrainrai", []int{0}},
		"the likeliest tokens":                      {likeliest, "rain rains", []int{2, 2, 8}},
		"what is not known costs more than all":     {likeliest, "rainzz", []int{2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			k := parse(t, c.tokenizer)
			if got := k.Encode(c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q: found %d, want %d", c.text, got, c.want)
			}
			// What is remembered of the first time is the same.
			if got := k.Count(c.text); got != len(c.want) {
				t.Errorf("%q: counted %d once more, want %d", c.text, got, len(c.want))
			}
		})
	}
}

func TestAPartThatIsNotKnownIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                              "not JSON at byte 1: unexpected end of JSON input",
		`{"model":null}`:                 "model: found type \"\", expected BPE, WordPiece or Unigram",
		`{}`:                             "model: found none, expected one of type BPE, WordPiece or Unigram",
		`{"model":{"type":"WordLevel"}}`: `model: found type "WordLevel", expected BPE, WordPiece or Unigram`,
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`:                                               `model: merges.0: found "b", expected a token of the vocabulary`,
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]}}`:                                                `model: merges.0: found "ab", expected two tokens`,
		`{"model":{"type":"WordPiece","vocab":{}}}`:                                                               `model: unk_token: found "[UNK]", expected one of the vocabulary`,
		`{"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":7}}`:                                               "model: unk_id: found 7, expected 0 to 0",
		`{"normalizer":{"type":"Precompiled"},"model":{"type":"BPE"}}`:                                            `normalizer: found type "Precompiled", expected`,
		`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"X"}]},"model":{"type":"BPE"}}`:             `pre_tokenizer: pretokenizers.0: found type "X", expected`,
		`{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"},"model":{"type":"BPE"}}`: "pre_tokenizer: ",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: found %v, want %s", text, err, want)
		}
	}
}

func TestAChatIsCountedWithTheTemplateThatLiesBeside(t *testing.T) {
	chat := []token.Message{{Role: "system", Content: "rain"}, {Role: "user", Content: "rain rain"}}
	template := `{% for m in messages %}<|im_start|>{{ m.role[:0] }}{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>{{ eos_token }}{% endif %}`
	config := `{"chat_template":[{"name":"tool_use","template":"x"},{"name":"default","template":"<|im_start|>{{ messages|length }}"}],"eos_token":{"content":"<|im_end|>"}}`
	for name, c := range map[string]struct {
		files    map[string]string
		want     int
		template string
	}{
		"none: ChatML's tokens are added": {nil, 3 + 5 + 1 + 5 + 2, ""},
		"in the configuration":            {map[string]string{configName: strings.Replace(config, "{{ messages|length }}", "1", 1)}, 2, configName},
		"a file of its own wins":          {map[string]string{configName: config, templateName: template}, 2 + 1 + 2 + 2 + 2, templateName},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "tokenizer.json")
			put(t, path, byteBPE)
			for file, content := range c.files {
				put(t, filepath.Join(dir, file), content)
			}
			k, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := k.CountChat(chat); err != nil || n != c.want {
				t.Errorf("found %d tokens, %v, want %d", n, err, c.want)
			}
			if got := k.Template(); c.template == "" && got != "" || !strings.HasSuffix(got, c.template) {
				t.Errorf("found the template in %q, want %q", got, c.template)
			}
		})
	}
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzEncode: a text never has more tokens than bytes beyond a few,
// and counting is the same each time.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{"", "rain rain", "é漢\xff", "<x> <|im_start|>", "  \n\t 1a", strings.Repeat("ab ", 40)} {
		f.Add(seed)
	}
	var all []*Tokenizer
	for _, text := range []string{byteBPE, charBPE, wordPieces, likeliest} {
		all = append(all, parse(f, text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, k := range all {
			n := k.Count(text)
			if again := k.Count(text); again != n || n > 4*len(text)+2 {
				t.Errorf("tokenizer %d counts %d and %d tokens of %q", i, n, again, text)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{byteBPE, charBPE, wordPieces, likeliest, "{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := Parse([]byte(text)); err == nil {
			k.Count("Soft rain, 12 é漢")
		}
	})
}

func BenchmarkCount(b *testing.B) {
	k := parse(b, byteBPE)
	text := strings.Repeat("rain rains 1 in ", 500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		k.Count(text)
	}
}
