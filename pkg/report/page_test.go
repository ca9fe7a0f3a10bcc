package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"bgbench/pkg/analysis"
)

func html(t *testing.T, results analysis.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, results, Beside{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSections(t *testing.T) {
	r, beside := everything()
	p, err := newPage(r, beside)
	if err != nil {
		t.Fatal(err)
	}
	// The YAML is pkg/spec's.
	p.Configuration.Profiles[0].YAML = "name: default\n"
	for i := range p.Configuration.Arms {
		p.Configuration.Arms[i].YAML = "name: " + p.Configuration.Arms[i].Name + "\n"
	}
	templates, err := parseTemplates()
	if err != nil {
		t.Fatal(err)
	}
	for name, sections := range map[string][]section{"verdicts": p.Verdicts, "spread": p.Spread, "progress": p.Progress, "loads": p.Loads} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := templates.ExecuteTemplate(&b, "sections.gohtml", sections); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".html", b.Bytes())
		})
	}
	for _, section := range []string{
		"reproduce", "header", "warnings", "answer", "summary", "latencies", "timelines", "servers", "mechanisms", "phases", "jobs",
		"accounting", "cells", "configuration", "reading", "glossary",
	} {
		t.Run(section, func(t *testing.T) {
			var b bytes.Buffer
			if err := templates.ExecuteTemplate(&b, section+".gohtml", p); err != nil {
				t.Fatal(err)
			}
			golden(t, section+".html", b.Bytes())
		})
	}
}

func TestSameInputGivesTheSameBytes(t *testing.T) {
	first, second := html(t, fixture()), html(t, fixture())
	if first != second {
		t.Error("two pages of the same results differ")
	}
}

// The licence texts name addresses, which is why only what a browser would follow counts.
var fetches = regexp.MustCompile(`(?i)(src|href|action|data|poster|srcset)\s*=\s*["']?\s*(https?:|//)|@import|url\(`)

func TestPageRefersToNothingOutsideItself(t *testing.T) {
	page := html(t, fixture())
	own := strings.Replace(page, asset(t, "assets/echarts/echarts.min.js"), "", 1)
	if len(own) > len(page)-1_000_000 {
		t.Fatal("the page does not hold ECharts as it was published")
	}
	if found := fetches.FindString(own); found != "" {
		t.Errorf("the page refers to %q", found)
	}
	policy := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">`
	if !strings.Contains(own, policy) {
		t.Error("the page has no content security policy that forbids every fetch")
	}
}

func asset(t *testing.T, name string) string {
	t.Helper()
	data, err := files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEChartsIsTheFileOfItsRelease(t *testing.T) {
	// dist/echarts.min.js of the npm package echarts 6.1.0.
	const want = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
	text := asset(t, "assets/echarts/echarts.min.js")
	sum := sha256.Sum256([]byte(text))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("echarts.min.js has SHA-256 %s, want %s", got, want)
	}
	if strings.Contains(strings.ToLower(text), "</script") || strings.Contains(text, "<!--") {
		t.Error("echarts.min.js would end the script element that holds it")
	}
}

func TestPageCarriesTheLicences(t *testing.T) {
	page := html(t, fixture())
	for _, want := range []string{"Apache License, Version 2.0", "Copyright 2017-2026 The Apache Software Foundation",
		"Copyright 2010-2016 Mike Bostock", "Redistributions in binary form must reproduce"} {
		if !strings.Contains(page, want) {
			t.Errorf("the footer lacks %q", want)
		}
	}
}

func TestHostileNamesStayText(t *testing.T) {
	results, beside := hostile(t)
	page := htmlBeside(t, results, beside)
	library := asset(t, "assets/echarts/echarts.min.js")
	own := strings.Replace(page, library, "", 1)
	if n := strings.Count(strings.ToLower(own), "<script"); n != len(regexp.MustCompile(`<script( type="application/json"[^>]*)?>`).FindAllString(own, -1)) {
		t.Errorf("%d script elements, not all of them the page's own", n)
	}
	if strings.Count(own, "<script") != strings.Count(strings.ToLower(own), "</script>") {
		t.Error("a name closed a script element")
	}
	// Inside the YAML of the configuration a name stands as it is, escaped.
	shown := withoutPre(own)
	for _, bad := range []string{"<img", "<script>document.title", "\u202e", "\u200f", "\u2028", `href="javascript:`} {
		if where := strings.Index(shown, bad); where >= 0 {
			t.Errorf("the page holds %q: %q", bad, shown[max(0, where-60):where+60])
		}
	}
	// Of a long text no more is shown than there is room for.
	if where := strings.Index(shown, strings.Repeat("x", maxProse+1)); where >= 0 {
		t.Errorf("a text of 10,000 characters is shown whole: %q", shown[max(0, where-60):where+60])
	}
}

var pre = regexp.MustCompile(`(?s)<pre>.*?</pre>| title="[^"]*"`)

func withoutPre(page string) string { return pre.ReplaceAllString(page, "") }

func TestResultsOfNearlyNothingMakeAPage(t *testing.T) {
	for name, results := range map[string]analysis.Results{
		"an arm and no cell":            {Arms: []analysis.ArmResult{{Name: "s0"}}},
		"a cell with nothing in it":     {Arms: []analysis.ArmResult{{Name: "s0", Baseline: true}}, Cells: []analysis.CellResult{{Arm: "s0", Trial: 1}}},
		"a trial number beyond reason":  {Arms: []analysis.ArmResult{{Name: "s0"}}, Cells: []analysis.CellResult{{Arm: "s0", Trial: 1 << 40}}},
		"a curve without points":        {Arms: []analysis.ArmResult{{Name: "s0"}}, Cells: []analysis.CellResult{{Arm: "s0", Trial: 1, Curves: []analysis.Curve{{Name: "job:A"}, {Name: "x"}}}}},
		"a metric of zero in all cells": {Arms: []analysis.ArmResult{{Name: "s0", Trials: 1, Metrics: map[string]analysis.Estimate{"//ttft/p50": {Unit: "s", Median: new(float64)}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			page := html(t, results)
			if !strings.HasSuffix(page, "</html>\n") {
				t.Error("the page has no end")
			}
			var b bytes.Buffer
			if err := Markdown(&b, results); err != nil {
				t.Error(err)
			}
		})
	}
}

// The calendar of the virtual clock is made up, so the page shows no date of it.
func TestRunsOnTheVirtualClockHaveNoDate(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	virtual := analysis.CellResult{Arm: "a", Trial: 1, Clock: "virtual", StartedAt: day, EndedAt: day.Add(5 * time.Minute)}
	wall := analysis.CellResult{Arm: "a", Trial: 2, Clock: "wall", StartedAt: day.AddDate(0, 4, 1), EndedAt: day.AddDate(0, 4, 1)}
	later := wall
	later.Trial, later.StartedAt = 3, day.AddDate(0, 4, 2)
	for _, c := range []struct {
		name  string
		cells []analysis.CellResult
		want  string
	}{
		{"on the virtual clock", []analysis.CellResult{virtual}, "virtual clock"},
		{"on the wall clock", []analysis.CellResult{wall}, "2026-05-02"},
		{"on two days", []analysis.CellResult{later, wall}, "2026-05-02 to 2026-05-03"},
		{"on both clocks", []analysis.CellResult{virtual, wall}, "2026-05-02 and virtual clock"},
		{"never", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStudy(analysis.Results{Arms: []analysis.ArmResult{{Name: "a"}}, Cells: c.cells})
			if got := s.days(); got != c.want {
				t.Errorf("found %q, expected %q", got, c.want)
			}
		})
	}
	page := html(t, analysis.Results{Arms: []analysis.ArmResult{{Name: "a"}}, Cells: []analysis.CellResult{virtual}})
	if strings.Contains(page, "2026-01-01") || !strings.Contains(page, "5m later") {
		t.Error("the page shows a date of the virtual clock")
	}
}

func TestMoreArmsThanColours(t *testing.T) {
	results := analysis.Results{}
	for i := range 20 {
		results.Arms = append(results.Arms, analysis.ArmResult{Name: string(rune('a' + i)), Baseline: i == 3})
	}
	s := newStudy(results)
	seen := map[[2]int]string{}
	for _, a := range s.Arms {
		look := [2]int{a.Tag.Slot, a.Tag.Lap}
		if other, ok := seen[look]; ok {
			t.Errorf("arms %s and %s look the same", other, a.Name)
		}
		seen[look] = a.Name
		if (a.Tag.Slot == 0) != a.ArmResult.Baseline {
			t.Errorf("arm %s has slot %d: the grey is the baseline's alone", a.Name, a.Tag.Slot)
		}
	}
}
