package openai

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
)

const benchChunks = 2000

// vllmStream is an answer of vLLM with continuous usage, one token a chunk, cut
// into events. Every tenth token ends a line, as text does.
func vllmStream(chunks int) [][]byte {
	event := func(choices string, tokens int) []byte {
		return fmt.Appendf(nil, `data: {"id":"chatcmpl-5e1c8a30a5b14f0d9e7b6c2d4f8a9b0c","object":"chat.completion.chunk","created":1795995238,"model":"Qwen/Qwen3-8B","choices":[%s],"usage":{"prompt_tokens":1507,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n", choices, 1507+tokens, tokens)
	}
	events := [][]byte{event(`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`, 0)}
	for i := 1; i <= chunks; i++ {
		text, finish := " token", "null"
		if i%10 == 0 {
			text = `.\n`
		}
		if i == chunks {
			finish = `"length"`
		}
		events = append(events, event(`{"index":0,"delta":{"content":"`+text+`"},"logprobs":null,"finish_reason":`+finish+`,"token_ids":null}`, i))
	}
	return append(events, event(``, chunks), []byte("data: [DONE]\n\n"))
}

func readsOf4KiB() [][]byte { return cutEvery(bytes.Join(vllmStream(benchChunks), nil), 4096) }

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// perToken reports what the loop cost since before, the count of mallocs then.
func perToken(b *testing.B, tokens int, before uint64) {
	b.ReportMetric(float64(mallocs()-before)/float64(b.N)/float64(tokens), "allocs/token")
	b.ReportMetric(float64(tokens)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
}

// BenchmarkStream is the whole path of an answer: decoder, chunk scanner, token
// counts and the hash of the text.
func BenchmarkStream(b *testing.B) {
	for name, reads := range map[string][][]byte{"reads of 4 KiB": readsOf4KiB(), "a read a chunk": vllmStream(benchChunks)} {
		b.Run(name, func(b *testing.B) {
			var s Stream
			d := NewDecoder(nil, nil)
			b.ReportAllocs()
			before := mallocs()
			for b.Loop() {
				d.Reset(newPieces(reads), nil)
				s.Reset()
				if out := s.Follow(d); out.Chunks != benchChunks || *out.OutputTokens != benchChunks {
					b.Fatalf("found %d chunks and %d tokens", out.Chunks, *out.OutputTokens)
				}
			}
			perToken(b, benchChunks, before)
		})
	}
}

// BenchmarkDecoder is the decoder alone.
func BenchmarkDecoder(b *testing.B) {
	for name, reads := range map[string][][]byte{"reads of 4 KiB": readsOf4KiB(), "a read a chunk": vllmStream(benchChunks)} {
		b.Run(name, func(b *testing.B) {
			d := NewDecoder(nil, nil)
			b.ReportAllocs()
			before := mallocs()
			for b.Loop() {
				d.Reset(newPieces(reads), nil)
				events := 0
				for {
					if _, err := d.Next(); err != nil {
						break
					}
					events++
				}
				if events != benchChunks+3 {
					b.Fatalf("found %d events", events)
				}
			}
			perToken(b, benchChunks, before)
		})
	}
}

// BenchmarkByteScan is what the decoder is measured against: a search for empty
// lines that knows no other rule, stamps nothing and looks at no JSON.
func BenchmarkByteScan(b *testing.B) {
	for name, reads := range map[string][][]byte{"reads of 4 KiB": readsOf4KiB(), "a read a chunk": vllmStream(benchChunks)} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 16<<10)
			b.ReportAllocs()
			before := mallocs()
			for b.Loop() {
				r := newPieces(reads)
				buf = buf[:0]
				events := 0
				for {
					n, err := r.Read(buf[len(buf):cap(buf)])
					if err == io.EOF {
						break
					}
					buf = buf[:len(buf)+n]
					rest := buf
					for {
						i := bytes.Index(rest, []byte("\n\n"))
						if i < 0 {
							break
						}
						events++
						rest = rest[i+2:]
					}
					buf = buf[:copy(buf, rest)]
				}
				if events != benchChunks+3 {
					b.Fatalf("found %d events", events)
				}
			}
			perToken(b, benchChunks, before)
		})
	}
}

// BenchmarkChunk compares the template and the scanner with encoding/json on one chunk.
func BenchmarkChunk(b *testing.B) {
	stream := vllmStream(3)
	data := bytes.TrimSpace(stream[2])[len("data: "):]
	b.Run("template", func(b *testing.B) {
		var p chunkParser
		var c chunk
		if err := p.parse(bytes.TrimSpace(stream[1])[len("data: "):], &c); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if !p.template.read(&p.scan, data, &c) {
				b.Fatal("the chunk has another form than the one before it")
			}
		}
	})
	b.Run("scanner", func(b *testing.B) {
		var p chunkParser
		var c chunk
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if !p.scan.chunk(data, &c) {
				b.Fatal("the scanner gave up")
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		var c chunk
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := decodeChunk(data, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// newPieces replays reads without using them up.
func newPieces(reads [][]byte) *pieces {
	return &pieces{append(make([][]byte, 0, len(reads)), reads...)}
}
