package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"
)

// tryTool runs a small tool and returns what a user would see.
func tryTool(t *testing.T, action cli.ActionFunc, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	app := &cli.App{Name: "tool", Commands: []*cli.Command{{
		Name: "do", Flags: []cli.Flag{&cli.IntFlag{Name: "some-number"}}, Action: action,
	}, {
		Name: "need", Flags: []cli.Flag{&cli.StringFlag{Name: "input", Required: true}}, Action: action,
	}}}
	env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk, LookupEnv: os.LookupEnv}
	code = Run(t.Context(), env, app, append([]string{"tool"}, args...))
	return code, out.String(), talk.String()
}

func TestExitCodeAndMessageFollowTheError(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		code   int
		stderr string
	}{
		{"success says nothing", nil, 0, ""},
		{"a failure is 1", errors.New("disk full"), 1, "tool: disk full\n"},
		{"wrong input is 2, with its hint", WithHint(Usagef("x.yaml:3: rate: found -1"), "rates are positive"), 2,
			"tool: x.yaml:3: rate: found -1\nhint: rates are positive\n"},
		{"an invalid result is 3", InvalidError{errors.New("2 cells are INVALID")}, 3, "tool: 2 cells are INVALID\n"},
		{"an interrupt is 130", fmt.Errorf("running: %w", context.Canceled), 130, "tool: running: context canceled\n"},
		{"the code of a child passes through without a word", StatusError{Code: 7}, 7, ""},
		{"wrapping keeps the code", fmt.Errorf("reading: %w", Usagef("bad")), 2, "tool: reading: bad\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := tryTool(t, func(*cli.Context) error { return tt.err }, "do")
			if code != tt.code || stderr != tt.stderr {
				t.Errorf("got %d %q, want %d %q", code, stderr, tt.code, tt.stderr)
			}
		})
	}
}

// TestWhatLibrariesPrintIsNotForTheUser prints what net/http does when a server says
// something on a connection that idles.
func TestWhatLibrariesPrintIsNotForTheUser(t *testing.T) {
	before, level := slog.Default(), slog.SetLogLoggerLevel(slog.LevelInfo)
	t.Cleanup(func() {
		slog.SetDefault(before)
		slog.SetLogLoggerLevel(level)
		log.SetOutput(os.Stderr)
		log.SetFlags(log.LstdFlags)
	})
	for format, want := range map[string]string{
		"text": "level=INFO msg=ours\n", "json": `"level":"INFO","msg":"ours"}` + "\n",
	} {
		_, _, stderr := tryTool(t, func(*cli.Context) error {
			log.Print("Unsolicited response received on idle HTTP channel")
			slog.Info("ours")
			return nil
		}, "--log-format", format, "do")
		if !strings.HasSuffix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: found %q, expected one line that ends with %q", format, stderr, want)
		}
	}
}

func TestWrongUsageIsTwo(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		stderr string
	}{
		{"unknown command", []string{"undo"}, `tool: unknown command "undo"`},
		{"unknown flag", []string{"do", "--colour"}, "tool: flag provided but not defined: -colour\nhint: --help lists the flags"},
		{"flag that is no number", []string{"do", "--some-number", "x"}, "tool: invalid value"},
		{"one argument too many", []string{"do", "x", "y"}, `tool: unexpected argument "y"`},
		{"a required flag that is missing", []string{"need"}, "tool: --input: found none, expected a value\nhint: --help shows an example\n"},
		{"unknown log format", []string{"--log-format", "xml", "do"}, `tool: --log-format: found "xml", expected text or json`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := tryTool(t, func(c *cli.Context) error {
				if _, err := Logger(c); err != nil {
					return err
				}
				return MaxArgs(c, 1)
			}, tt.args...)
			if code != ExitUsage || !strings.Contains(stderr, tt.stderr) || stdout != "" {
				t.Errorf("got %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestFlagsStandBeforeAndAfterArguments(t *testing.T) {
	tests := []struct {
		args   string
		number int
		rest   string
	}{
		{"do --some-number 3 x y", 3, "x y"},
		{"do x --some-number 3 y", 3, "x y"},
		{"do x y --some-number=3", 3, "x y"},
		{"do - --some-number 3 --quiet", 3, "-"},
		{"do --some-number 3 -- x --some-number 4", 3, "x --some-number 4"},
		{"do do", 0, "do"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			code, _, stderr := tryTool(t, func(c *cli.Context) error {
				if n, rest := c.Int("some-number"), strings.Join(c.Args().Slice(), " "); n != tt.number || rest != tt.rest {
					t.Errorf("got %d %q, want %d %q", n, rest, tt.number, tt.rest)
				}
				return nil
			}, strings.Fields(tt.args)...)
			if code != 0 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}

func TestCommonFlagsStandAnywhereAndHaveTwins(t *testing.T) {
	for _, args := range [][]string{{"--quiet", "do"}, {"do", "--quiet"}} {
		tryTool(t, func(c *cli.Context) error {
			if !Quiet(c) {
				t.Errorf("%v is not quiet", args)
			}
			return nil
		}, args...)
	}
	t.Setenv("BG_SOME_NUMBER", "5")
	t.Setenv("BG_LOG_FORMAT", "json")
	tryTool(t, func(c *cli.Context) error {
		if Quiet(c) {
			t.Error("quiet without being asked")
		}
		if n := c.Int("some-number"); n != 5 {
			t.Errorf("BG_SOME_NUMBER=5 gave %d", n)
		}
		log, err := Logger(c)
		if err != nil {
			return err
		}
		log.Info("hello")
		return nil
	}, "do")
}

func TestWriteFileAppearsOnlyWhenWhole(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/out.txt"
	failed := errors.New("no")
	var w bytes.Buffer
	write := func(err error) error {
		return WriteFile(&w, path, func(f io.Writer) error {
			f.Write([]byte("half"))
			return err
		})
	}
	if err := write(failed); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("a failed write left %v, %v", entries, err)
	}
	if err := write(nil); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "half" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := WriteFile(&w, "-", func(f io.Writer) error {
		_, err := f.Write([]byte("data"))
		return err
	}); err != nil || w.String() != "data" {
		t.Errorf("stdout got %q, %v", w.String(), err)
	}
}

func TestWriteFileRefusesAFolder(t *testing.T) {
	dir := t.TempDir()
	err := WriteFile(nil, dir, func(io.Writer) error { t.Error("it was written to"); return nil })
	if Report(io.Discard, "tool", err) != 2 || !strings.Contains(err.Error(), "is a folder, expected a file to write") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir + ".partial"); err == nil {
		t.Error("something was left beside it")
	}
}

func TestWriteFileKeepsAPipeAPipe(t *testing.T) {
	path := t.TempDir() + "/fifo"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		read <- string(data)
	}()
	if err := WriteFile(io.Discard, path, func(w io.Writer) error { _, err := io.WriteString(w, "data"); return err }); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "data" {
		t.Errorf("the reader got %q", got)
	}
	if about, err := os.Stat(path); err != nil || about.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("left %v, %v", about, err)
	}
}
