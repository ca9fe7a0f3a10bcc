package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"

	"bgbench/pkg/deploy"
	"bgbench/pkg/spec"
)

// runAtEndpoint runs a command while a server of a kind is up. It puts the address in place
// of URL in the arguments, and prints the exit code of the command behind what that prints.
func runAtEndpoint(kind string, args []string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	interrupt := make(chan struct{})
	inference, batch, err := endpoint(ctx, kind, func() { close(interrupt) })
	if err != nil {
		return err
	}
	replace := strings.NewReplacer("BATCHURL", batch, "URL", inference)
	for i := range args {
		args[i] = replace.Replace(args[i])
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		<-interrupt
		cmd.Process.Signal(os.Interrupt)
	}()
	var exited *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exited) {
		return err
	}
	_, err = fmt.Printf("exit code %d\n", cmd.ProcessState.ExitCode())
	return err
}

// endpoint starts a server that ends with ctx or with the process.
func endpoint(ctx context.Context, kind string, interrupt func()) (inference, batch string, err error) {
	if kind == "stack" {
		plan, err := deploy.Plan(deploy.Request{Profile: "ci", Arm: "s2-ungated", Target: spec.TargetLocal, Trial: 1})
		if err != nil {
			return "", "", err
		}
		local, err := deploy.ListenLocal(plan, "127.0.0.1", 0)
		if err != nil {
			return "", "", err
		}
		go local.Run(ctx)
		return local.Stack().InferenceURL, local.Stack().BatchURL, nil
	}
	if kind == "gone" {
		gone := httptest.NewServer(nil)
		gone.Close()
		return gone.URL, gone.URL, nil
	}
	chat, ok := chats[kind]
	if !ok {
		return "", "", fmt.Errorf("endpoint: found kind %q, expected another one", kind)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case kind == "with a key" && r.Header.Get("Authorization") != "Bearer k3y":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"wrong key %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		case kind == "silent", kind == "without a word of its models":
			<-r.Context().Done()
		case kind == "of odd words":
			io.WriteString(w, `{"object":"list","data":[{"id":"sm\u001b[31mall\u202e","object":"model"}]}`)
		case kind == "of odd refusals":
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "no\x1b[31mway\u202e")
		case kind == "a web page":
			io.WriteString(w, "<html>hello</html>")
		case kind == "without a list", kind == "of another model":
			http.NotFound(w, r)
		default:
			io.WriteString(w, `{"object":"list","data":[{"id":"small","object":"model"}]}`)
		}
	})
	if kind == "silent" {
		mux.HandleFunc("GET /v1/batches", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}
	var asked atomic.Int64
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			chat(w, r, asked.Add(1)-1, interrupt)
		}
	})
	server := httptest.NewServer(mux)
	if kind == "talkative" {
		server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
			if state == http.StateIdle { // before the next request is read
				io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			}
		}
	}
	return server.URL, server.URL, nil
}

const (
	tokenA    = `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`
	tokenB    = `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}`
	lastToken = `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	usage     = `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`
)

func events(w http.ResponseWriter, datas ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, data := range datas {
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
}

// chats answer a chat completion, the n-th one from 0, which is the one that bg-load tries.
var chats = map[string]func(w http.ResponseWriter, r *http.Request, n int64, interrupt func()){
	"plain":          plainChat,
	"with a key":     plainChat,
	"without a list": plainChat,
	"talkative":      plainChat,
	"a web page":     plainChat,
	"without usage": func(w http.ResponseWriter, _ *http.Request, _ int64, _ func()) {
		events(w, tokenA, tokenB, lastToken, "[DONE]")
	},
	"that does not stream": func(w http.ResponseWriter, _ *http.Request, _ int64, _ func()) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`)
	},
	"silent":                       silentChat,
	"silent but for its list":      silentChat,
	"without a word of its models": plainChat,
	"that is given up": func(_ http.ResponseWriter, r *http.Request, _ int64, interrupt func()) {
		interrupt()
		<-r.Context().Done()
	},
	// It takes no key beyond the OpenAI API, and says so in words that mean a terminal.
	"of odd words": func(w http.ResponseWriter, r *http.Request, n int64, _ func()) {
		if n == 0 {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"no \u001b[31mkey\u202e"}}`)
			return
		}
		plainChat(w, r, n, nil)
	},
	"of odd ends": func(w http.ResponseWriter, _ *http.Request, _ int64, _ func()) {
		events(w, tokenA, `{"error":{"message":"dead \u001b[31mengine\u202e"}}`)
	},
	"of odd refusals": plainChat,
	"that is no API": func(w http.ResponseWriter, _ *http.Request, _ int64, _ func()) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>hello</html>")
	},
	"of another model": func(w http.ResponseWriter, _ *http.Request, _ int64, _ func()) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"message":"The model does not exist.","type":"NotFoundError","code":404}}`)
	},
	// Of ten requests seven go wrong, each in another way.
	"that fails": func(w http.ResponseWriter, r *http.Request, n int64, _ func()) {
		switch n % 10 {
		case 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":{"message":"engine died"}}`)
		case 3:
			events(w, tokenA)
			panic(http.ErrAbortHandler) // the stream is cut
		case 4:
			events(w, tokenA, `{"error":{"message":"engine died"}}`, "[DONE]")
		case 5:
			events(w, tokenA, tokenB) // it ends without a word
		case 6:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>hello</html>")
		case 7:
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		default:
			plainChat(w, r, n, nil)
		}
	},
	// It answers three requests; the fourth one interrupts the run.
	"that hangs": func(w http.ResponseWriter, r *http.Request, n int64, interrupt func()) {
		if n < 4 {
			plainChat(w, r, n, nil)
			return
		}
		events(w, tokenA)
		if n == 4 {
			interrupt()
		}
		<-r.Context().Done()
	},
}

func silentChat(_ http.ResponseWriter, r *http.Request, _ int64, _ func()) { <-r.Context().Done() }

func plainChat(w http.ResponseWriter, _ *http.Request, _ int64, _ func()) {
	events(w, tokenA, tokenB, lastToken, usage, "[DONE]")
}
