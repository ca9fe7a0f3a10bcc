// Package scripted is an inference backend that does what its prompts say. It is
// the counterpart of the server behind the recorded behaviour of the batch gateway:
// the user message of a request holds, separated by semicolons,
//
//	id=NAME              the name of the request in the log and in its answer
//	lat=MILLISECONDS     how long each attempt takes
//	plan=ANSWER,…        the answer to each attempt, the last one for all that follow
//	size=BYTES           how long the text of a good answer is
//
// An answer is a status, a status with a header (429/ra=3: Retry-After in seconds,
// 429/rad=3: the same as a date, 429/drop=REASON) or one of hang/MILLISECONDS,
// close, refused, badjson, array, empty and text.
//
// A Call holds tokens and not text, so the backend is told all input lines first.
package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bgbench/pkg/openai"
	"bgbench/pkg/sim"
	"bgbench/pkg/sim/kernel"
)

// Backend is a scripted inference server.
type Backend struct {
	k       *kernel.Kernel
	latency time.Duration
	scripts map[string][]*script // by path, model and prompt
	calls   map[string]*script   // by call, the same for all its attempts
	// Capacity is the number in flight above which it answers 429 after RefusalTime, 0
	// for no bound.
	Capacity    int
	RefusalTime time.Duration

	Log      []Row
	inFlight int
	attempts map[string]int // by call
}

// Row is one attempt as the server saw it.
type Row struct {
	Arrived, Done kernel.Time
	ID            string
	Attempt       int    // 1-based
	InFlight      int    // at arrival, this one included
	Answer        string // of the plan; client_gone when the client hung up
	Call          *sim.Call
}

type script struct {
	id      string
	model   string
	latency time.Duration
	plan    []string
	size    int // of the text of a good answer, 0 for the usual one
}

// New returns a backend whose answers take latency where the script has none.
func New(k *kernel.Kernel, latency time.Duration) *Backend {
	return &Backend{k: k, latency: latency, scripts: map[string][]*script{}, calls: map[string]*script{}, attempts: map[string]int{}}
}

// Read learns the scripts in input, a batch input file. It skips what it cannot
// read: the gateway's own answer to that is what a test is after.
func (b *Backend) Read(input string) {
	for jsonLine := range strings.Lines(input) {
		var line struct {
			URL  string `json:"url"`
			Body struct {
				openai.ChatRequest
				Input, Prompt string
			} `json:"body"`
		}
		if json.Unmarshal([]byte(jsonLine), &line) != nil {
			continue
		}
		text := line.Body.Input + line.Body.Prompt
		for _, m := range line.Body.Messages {
			if m.Role == "user" {
				text = m.Content
			}
		}
		call := sim.NewCall("", &line.Body.ChatRequest)
		call.Path = line.URL
		key := keyOf(call)
		s := b.parse(text)
		s.model = line.Body.Model
		b.scripts[key] = append(b.scripts[key], s)
	}
}

func keyOf(call *sim.Call) string {
	path := call.Path
	if path == "" {
		path = "/v1/chat/completions"
	}
	return fmt.Sprint(path, call.Model, call.Prompt.IDs())
}

func (b *Backend) parse(text string) *script {
	s := &script{latency: b.latency, plan: []string{"200"}}
	for part := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "id":
			s.id = value
		case "lat":
			s.latency = milliseconds(value)
		case "plan":
			s.plan = strings.Split(value, ",")
		case "size":
			s.size, _ = strconv.Atoi(value) // what is no number leaves the usual text
		}
	}
	return s
}

func milliseconds(text string) time.Duration {
	ms, _ := strconv.ParseFloat(text, 64) // a script that is no number takes no time
	return time.Duration(ms * float64(time.Millisecond))
}

// scriptOf returns the script of call. Lines with one prompt share their scripts in
// the order in which they were read.
func (b *Backend) scriptOf(call *sim.Call) *script {
	key := keyOf(call)
	list := b.scripts[key]
	if len(list) == 0 {
		s := b.parse("id=" + call.ID)
		s.model = call.Model
		return s
	}
	if len(list) > 1 {
		b.scripts[key] = list[1:]
	}
	return list[0]
}

// Submit implements sim.Backend.
func (b *Backend) Submit(call *sim.Call, reply sim.Reply) (abort func()) {
	s := b.calls[call.ID]
	if s == nil {
		s = b.scriptOf(call)
		b.calls[call.ID] = s
	}
	b.attempts[call.ID]++
	attempt := b.attempts[call.ID]
	b.inFlight++
	row := len(b.Log)
	answer := s.plan[min(attempt, len(s.plan))-1]
	latency := s.latency
	if ms, ok := strings.CutPrefix(answer, "hang/"); ok {
		latency = milliseconds(ms)
	}
	refused := b.Capacity > 0 && b.inFlight > b.Capacity
	b.Log = append(b.Log, Row{Arrived: b.k.Now(), ID: s.id, Attempt: attempt, InFlight: b.inFlight, Answer: answer, Call: call})
	if refused {
		answer, latency = "429", b.RefusalTime
		b.Log[row].Answer = answer
		b.inFlight--
	}
	end := func(end sim.End) {
		if !refused {
			b.inFlight--
		}
		b.Log[row].Done = b.k.Now()
		reply.End(b.k.Now(), end)
	}
	timer := b.k.After(latency, func() { end(b.answer(s, answer)) })
	return func() {
		if timer.Stop() {
			b.Log[row].Answer = "client_gone"
			end(sim.End{Status: sim.StatusAborted, FinishReason: "abort"})
		}
	}
}

func (b *Backend) answer(s *script, plan string) sim.End {
	head, header, _ := strings.Cut(plan, "/")
	switch head {
	case "close":
		return sim.End{Status: sim.StatusNoAnswer, Message: "EOF"}
	case "refused":
		return sim.End{Status: sim.StatusNoAnswer, Message: "dial tcp backend:8000: connect: connection refused"}
	case "badjson":
		return sim.End{Status: http.StatusOK, Body: []byte(`{"id": "chatcmpl-1", "choices": [`)}
	case "array":
		return sim.End{Status: http.StatusOK, Body: []byte(`[1, 2]`)}
	case "empty":
		return sim.End{Status: http.StatusOK, Body: []byte{}}
	case "text":
		return sim.End{Status: http.StatusInternalServerError, Body: []byte("upstream exploded")}
	case "hang":
		head = "200"
	}
	status, _ := strconv.Atoi(head) // what is no status is 0: no answer
	end := sim.End{Status: status}
	if status/100 == 2 {
		text := "ok " + s.id
		if s.size > 0 {
			text = strings.Repeat("x", min(s.size, maxSize))
		}
		end.Body = fmt.Appendf(nil, `{"choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "%s", "role": "assistant"}}], `+
			`"created": 1764000000, "id": "chatcmpl-%s", "model": "%s", "object": "chat.completion", `+
			`"usage": {"completion_tokens": 7, "prompt_tokens": 11, "total_tokens": 18}}`, text, s.id, s.model)
	} else {
		end.ErrorType, end.Message = errorType(status), fmt.Sprintf("scripted %d", status)
	}
	name, value, _ := strings.Cut(header, "=")
	switch name {
	case "ra":
		end.RetryAfter = value
	case "rad":
		seconds, _ := strconv.Atoi(value) // what is no number is the present
		end.RetryAfter = b.k.Instant(b.k.Now()).Add(time.Duration(seconds) * time.Second).UTC().Format(http.TimeFormat)
	case "drop":
		end.DroppedReason = value
	}
	return end
}

// maxSize bounds the text of an answer.
const maxSize = 1 << 20

func errorType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "BadRequestError"
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusTooManyRequests:
		return "RateLimitError"
	}
	return "InternalServerError"
}
