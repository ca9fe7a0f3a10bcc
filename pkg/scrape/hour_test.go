package scrape

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bgbench/pkg/record"
)

// benchRounds is how many seconds of scraping BenchmarkHourOfSamples stands for; 3600 are
// the hour of its name.
var benchRounds = flag.Int("rounds", 60, "rounds of BenchmarkHourOfSamples")

const (
	benchEndpoints = 20
	benchSeries    = 2000 // of an endpoint
)

// TestMain lets the test binary be the servers of a benchmark, so that their work is
// not counted.
func TestMain(m *testing.M) {
	if os.Getenv("BG_TEST_SERVE_PAGES") != "" {
		servePages()
	}
	os.Exit(m.Run())
}

// servePages serves pages at any path, each of which is a source with counters of its
// own, until standard input ends.
func servePages() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	var asked sync.Map
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := asked.LoadOrStore(r.URL.Path, new(atomic.Int64))
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.Write(busyPage(r.URL.Path, int(n.(*atomic.Int64).Add(1))))
	}))
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// busyPage is the page of a server under load: histograms like vLLM's, of which a third
// of the series move in a second, some gauges and counters.
func busyPage(source string, round int) []byte {
	var b bytes.Buffer
	const buckets = 22
	for h := range benchSeries / (buckets + 2) {
		fmt.Fprintf(&b, "# HELP vllm:request_%d_time_seconds Histogram of a time.\n# TYPE vllm:request_%[1]d_time_seconds histogram\n", h)
		labels := fmt.Sprintf(`engine="0",model_name="Qwen/Qwen3-8B",source=%q`, source)
		for i := range buckets {
			count := round * 15
			if i < buckets*2/3 {
				count = h * i // no longer reached
			}
			bound := strconv.FormatFloat(0.001*float64(int(1)<<i), 'g', -1, 64)
			if i == buckets-1 {
				bound = "+Inf"
			}
			fmt.Fprintf(&b, "vllm:request_%d_time_seconds_bucket{%s,le=\"%s\"} %d.0\n", h, labels, bound, count+h)
		}
		fmt.Fprintf(&b, "vllm:request_%d_time_seconds_sum{%s} %v\n", h, labels, float64(round)*3.1415926*float64(h+1))
		fmt.Fprintf(&b, "vllm:request_%d_time_seconds_count{%s} %d.0\n", h, labels, round*15+h)
	}
	return b.Bytes()
}

// BenchmarkHourOfSamples scrapes 20 endpoints of 2,000 series into a file, as bg-scrape
// run does once a second, without the pauses. It reports what a second costs of a core,
// the file at the end included, the most memory that the process ever had, and the file
// as a share of what gzip makes of the pages.
func BenchmarkHourOfSamples(b *testing.B) {
	LimitMemory()
	address, stop := startPages(b)
	defer stop()
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "metrics.parquet")
		before := cpu(b)
		rows, log := scrapeRounds(b, address, path, *benchRounds)
		seconds := float64(*benchRounds)
		b.ReportMetric(100*(cpu(b)-before).Seconds()/seconds, "%core")
		b.ReportMetric(float64(rows)/seconds, "rows/round")
		b.ReportMetric(float64(log)/float64(rows), "log-B/row")
		b.ReportMetric(float64(size(b, path))/float64(rows), "B/row")
		b.ReportMetric(peakMemory(b), "MB")
		b.ReportMetric(float64(size(b, path))/float64(zipped(b, *benchRounds)), "of-gzip")
	}
}

func startPages(b *testing.B) (address string, stop func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BG_TEST_SERVE_PAGES=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line), func() { stdin.Close(); cmd.Wait() }
}

// scrapeRounds returns how many rows it wrote and how large the unfinished file was.
func scrapeRounds(b *testing.B, address, path string, n int) (rows, log int64) {
	cfg := Config{Interval: time.Minute, Timeout: time.Minute, Client: &http.Client{}}
	r := &rounds{cfg: cfg, start: time.Now(), targets: make(map[Endpoint]*target)}
	var endpoints []Endpoint
	for i := range benchEndpoints {
		endpoints = append(endpoints, Endpoint{fmt.Sprintf("vllm-%d", i), fmt.Sprintf("http://%s/%d", address, i)})
	}
	targets, err := r.add(endpoints)
	if err != nil {
		b.Fatal(err)
	}
	out, err := record.Create[record.Sample](path, nil)
	if err != nil {
		b.Fatal(err)
	}
	for range n {
		var all sync.WaitGroup
		for _, t := range targets {
			all.Go(func() {
				some := cfg.scrape(context.Background(), t)
				atomic.AddInt64(&rows, int64(len(some)))
				if err := out.Write(some...); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
	for _, h := range r.healths() {
		if h.Failures > 0 {
			b.Fatal(h.LastFailure)
		}
	}
	log = size(b, record.Partial(path))
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	return rows, log
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is the largest resident size so far, in MB.
func peakMemory(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Maxrss) * 1024 / 1e6
}

func size(b *testing.B, path string) int64 {
	about, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return about.Size()
}

// zipped is what gzip makes of all pages one after the other, from those of some rounds.
func zipped(b *testing.B, n int) int64 {
	const some = 3
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	for round := range some {
		for i := range benchEndpoints {
			if _, err := zip.Write(busyPage(fmt.Sprintf("/%d", i), round+n/2)); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := zip.Close(); err != nil {
		b.Fatal(err)
	}
	return int64(out.Len()) * int64(n) / some
}
