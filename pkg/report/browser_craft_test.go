//go:build browser

package report

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	paper "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"bgbench/pkg/analysis"
)

func armsAreSwitched(t *testing.T, browser context.Context) {
	b := show(t, browser, fixture(), nil)
	drawAll(t, b, 1200)
	const button = `button[data-toggle="cdf-ttft"][data-series="s1-no-gateway"]`
	const blue = `document.querySelectorAll('#chart-cdf-ttft svg path[stroke="#0072b2"]').length`
	before := eval[int](t, b, blue)
	if before == 0 {
		t.Fatal("the arm is not drawn to begin with")
	}
	b.do(t, chromedp.Click(chromedp.CSS(button)))
	until(t, b, blue+` === 0`)
	if got := eval[string](t, b, `document.querySelector('`+button+`').getAttribute('aria-pressed')`); got != "false" {
		t.Errorf("the button of an arm that is off says pressed=%s", got)
	}
	// It stays off when the page is drawn anew, in the other colours.
	if err := scheme("dark")(b.ctx); err != nil {
		t.Fatal(err)
	}
	until(t, b, oneChart+`.includes('#3d9cdb')`)
	if n := eval[int](t, b, `document.querySelectorAll('#chart-cdf-ttft svg path[stroke="#3d9cdb"]').length`); n != 0 {
		t.Errorf("%d lines of an arm that was switched off came back with the dark", n)
	}
	b.do(t, chromedp.Click(chromedp.CSS(button)))
	until(t, b, fmt.Sprintf(`document.querySelectorAll('#chart-cdf-ttft svg path[stroke="#3d9cdb"]').length === %d`, before))
}

// screen is a size of the window, in CSS pixels.
func screen(width, height int64) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
		return err
	}
}

func narrowScreen(t *testing.T, browser context.Context) {
	r, beside := everything()
	b := openPage(t, browser, htmlBeside(t, r, beside), screen(400, 800))
	if wide := eval[float64](t, b, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the page is %v pixels wide on a screen of 400", wide)
	}
	drawAll(t, b, 400)
	save(t, b, "narrow.png")
}

// A4 less the margins of page.css, at 96 pixels an inch.
const (
	paperWidth  = (210 - 2*13) / 25.4 * 96
	paperHeight = (297 - 2*14) / 25.4 * 96
)

func chartsAreWholeOnPaper(t *testing.T, browser context.Context) {
	r, beside := everything()
	b := openPage(t, browser, htmlBeside(t, r, beside), screen(1200, 900))
	yes := true
	pdf, err := chromedp.Call(b.ctx, paper.PrintToPDF, paper.PrintToPDFParams{PreferCSSPageSize: &yes, PrintBackground: &yes})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(pdf.Data, []byte("%PDF-")) || len(pdf.Data) < 50_000 {
		t.Errorf("%d bytes that begin with %q are no printed page", len(pdf.Data), pdf.Data[:min(8, len(pdf.Data))])
	}
	keep(t, "report.pdf", pdf.Data)

	// As paper has it: no figure is higher than a sheet, wider than it, or cut.
	eval[bool](t, b, `window.dispatchEvent(new Event('beforeprint'))`)
	if err := screen(int64(math.Floor(paperWidth)), int64(math.Floor(paperHeight)))(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	type box struct {
		ID     string  `json:"id"`
		Width  float64 `json:"width"`
		Height float64 `json:"height"`
		Break  string  `json:"kept"`
	}
	boxes := eval[[]box](t, b, `Array.from(document.querySelectorAll('.figure')).map(function (f) {
		var r = f.getBoundingClientRect(), svg = f.querySelector('svg').getBoundingClientRect();
		return { id: f.querySelector('.chart').id, width: svg.right, height: r.height, kept: getComputedStyle(f).breakInside };
	})`)
	if len(boxes) == 0 {
		t.Fatal("no figure on paper")
	}
	for _, f := range boxes {
		if f.Width > paperWidth+1 || f.Height > paperHeight || f.Break != "avoid" {
			t.Errorf("%s ends %v pixels from the left and is %v high, break-inside %s; a sheet is %.0f by %.0f", f.ID, f.Width, f.Height, f.Break, paperWidth, paperHeight)
		}
	}
	save(t, b, "print.png")
}

func everythingIsReached(t *testing.T, browser context.Context) {
	r, beside := everything()
	b := openPage(t, browser, htmlBeside(t, r, beside), nil)
	for what, expression := range map[string]string{
		"charts without a description":       `Array.from(document.querySelectorAll('.chart')).filter(function (c) { return c.getAttribute('role') !== 'img' || !c.getAttribute('aria-label'); }).length`,
		"buttons without a name":             `Array.from(document.querySelectorAll('button')).filter(function (c) { return !c.textContent.trim() || c.tabIndex < 0; }).length`,
		"charts without a table of the same": `Array.from(document.querySelectorAll('.figure')).filter(function (f) { return !f.querySelector('details table td'); }).length`,
		"tables without headings":            `Array.from(document.querySelectorAll('table')).filter(function (c) { return !c.querySelector('th[scope]'); }).length`,
		"links to sections that are not":     `Array.from(document.querySelectorAll('nav a')).filter(function (a) { return !document.querySelector(a.getAttribute('href')); }).length`,
		"elements that share an id":          `(function () { var ids = Array.from(document.querySelectorAll('[id]')).map(function (e) { return e.id; }); return ids.length - new Set(ids).size; }())`,
		"wide tables that keys cannot scroll": `Array.from(document.querySelectorAll('.scroll')).filter(function (s) {
			return s.scrollWidth > s.clientWidth && s.clientWidth > 0 && s.tabIndex < 0; }).length`,
	} {
		if n := eval[int](t, b, expression); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// large is seven arms of five trials with as many points as 10,000 requests leave in a
// results.json: each curve and distribution is decimated to a fixed number of them.
func large() (analysis.Results, Beside) {
	r, beside := everything()
	arms, cells := r.Arms, r.Cells
	r.Arms, r.Cells = nil, nil
	for i := range 7 {
		a := arms[i%len(arms)]
		if i >= len(arms) {
			a.Name = fmt.Sprintf("%s-%d", a.Name, i)
			a.Baseline = false
		}
		r.Arms = append(r.Arms, a)
		for trial := range 5 {
			for _, c := range cells {
				if c.Arm != arms[i%len(arms)].Name || c.Trial != trial%3+1 {
					continue
				}
				c.Arm, c.Trial = a.Name, trial+1
				c.Curves = nil
				for n := range 24 {
					curve := analysis.Curve{Name: []string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "job:A", "job:B", "job:C",
						"batch_processor_aimd_concurrency_limit", "llm_d_epp_flow_control_pool_saturation"}[n%8], Source: fmt.Sprint("s", n/8)}
					for k := range 600 {
						curve.Points = append(curve.Points, [2]float64{float64(k) * 1.217, math.Round(1e4*(1+math.Sin(float64(k*n)/40))) / 1e3})
					}
					c.Curves = append(c.Curves, curve)
				}
				phases := c.Phases
				c.Phases = nil
				for _, p := range phases {
					p.CDFs = analysis.CDFs{}
					for _, metric := range []string{analysis.MetricTTFT, analysis.MetricITL, analysis.MetricTPOT, analysis.MetricE2E} {
						for k := range 56 {
							p.CDFs[metric] = append(p.CDFs[metric], [2]float64{0.01234 * math.Exp(float64(k)/9), float64(k+1) / 56})
						}
					}
					c.Phases = append(c.Phases, p)
				}
				r.Cells = append(r.Cells, c)
			}
		}
	}
	return r, beside
}

func largeExperimentOpens(t *testing.T, browser context.Context) {
	r, beside := large()
	page := htmlBeside(t, r, beside)
	t.Logf("the page has %.2f MB", float64(len(page))/1e6)
	if len(page) > 6_000_000 {
		t.Errorf("the page has %d bytes, more than 6 MB", len(page))
	}
	// The page is open when its text and the charts in view are there. CPU time of the page's
	// own thread is what a quiet machine waits for, whatever else this one does.
	b := openPage(t, browser, page, func(ctx context.Context) error {
		if err := screen(1200, 900)(ctx); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
		return err
	})
	metrics, err := chromedp.Call(b.ctx, performance.GetMetrics, chromedp.Void{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metrics.Metrics {
		if m.Name == "TaskDuration" {
			t.Logf("the page opened in %.2f CPU seconds", m.Value)
			if m.Value > 2 {
				t.Errorf("the page opened in %.2f CPU seconds, want 2", m.Value)
			}
			return
		}
	}
	t.Error("the browser does not say what the page took")
}

// keep writes a file to the folder BG_SCREENSHOTS, if it is set.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	folder := os.Getenv("BG_SCREENSHOTS")
	if folder == "" {
		return
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
