package batchfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const good = `{"custom_id":"%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"%s"}]}}` + "\n"

// lines writes n good lines whose content has so many bytes, without keeping them.
func lines(n, content int) io.Reader {
	text := strings.Repeat("x", content)
	r, w := io.Pipe()
	go func() {
		for i := range n {
			if _, err := fmt.Fprintf(w, good, i, text); err != nil {
				return
			}
		}
		w.Close()
	}()
	return r
}

func check(t *testing.T, r io.Reader) (Report, []string) {
	t.Helper()
	var all []string
	report, err := Check(r, func(p Problem) error {
		all = append(all, p.String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Problems != len(all) {
		t.Errorf("the report counts %d problems, found %d", report.Problems, len(all))
	}
	return report, all
}

func TestLimitsOfAFileAreThoseOfTheGateway(t *testing.T) {
	if r, all := check(t, lines(MaxLines, 1)); r.Lines != MaxLines || len(all) != 0 {
		t.Errorf("found %+v, %v", r, all)
	}
	if r, all := check(t, lines(MaxLines+5, 1)); r.Lines != MaxLines+5 || len(all) != 1 || all[0] != "50001: found line 50001, expected 50000 at most in a file" {
		t.Errorf("found %+v, %v", r, all)
	}
	_, all := check(t, lines(220, 1<<20))
	if len(all) != 1 || !strings.HasPrefix(all[0], "200: found 2097") || !strings.HasSuffix(all[0], "expected 209715200 at most in a file") {
		t.Errorf("found %v", all)
	}
}

func TestALastLineNeedsNoEnd(t *testing.T) {
	text := strings.TrimSuffix(fmt.Sprintf(good, 1, "x"), "\n")
	for in, bytes := range map[string]int{text: len(text), text + "\n": len(text) + 1, text + "\r\n": len(text) + 2, "": 0} {
		if r, all := check(t, strings.NewReader(in)); r.Bytes != int64(bytes) || len(all) != 0 {
			t.Errorf("%q: found %+v, %v, want %d bytes", in, r, all, bytes)
		}
	}
}

func TestReadingAndPrintingFail(t *testing.T) {
	broken := errors.New("broken")
	none := func(Problem) error { return nil }
	if _, err := Check(iotest.ErrReader(broken), none); !errors.Is(err, broken) {
		t.Errorf("found %v, want that reading broke", err)
	}
	if _, err := Check(strings.NewReader("x\ny\n"), func(Problem) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("found %v, want that printing broke", err)
	}
}

// FuzzCheck holds the two halves together: a line that has no problem is one that the
// processor decodes, and every problem says where and what.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		fmt.Sprintf(good, 1, "x"), `{"custom_id":7}`, `{"body":{"messages":[{"content":[]}]}}`, `{"body":{"messages":{}}}`, `{"body":{"stream":1}}`,
		"", "\n", "[]", `{"body":{"messages":[null,{"content":1}]}}`, "null", `{"custom_id":"\ud800"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text, _, _ = strings.Cut(text, "\n")
		var all []Problem
		if _, err := Check(strings.NewReader(text), func(p Problem) error { all = append(all, p); return nil }); err != nil {
			t.Fatal(err)
		}
		l, err := Decode([]byte(text))
		_, faulty := l.Fault()
		if bad := text != "" && (err != nil || faulty); bad != (len(all) == 1) {
			t.Fatalf("%q: found %v, the processor says %v", text, all, err)
		}
		for _, p := range all {
			if p.Line != 1 || !strings.Contains(p.Text, "found") || !strings.Contains(p.Text, "expected") {
				t.Fatalf("%q: found the problem %q", text, p)
			}
		}
	})
}
