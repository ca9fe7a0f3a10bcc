//go:build browser

package report

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"bgbench/pkg/analysis"
)

// browserBinary returns a Chromium of this machine. Who asks for this test by its
// build tag wants it to run, so that a machine without one fails it.
func browserBinary(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium found: install it (Debian: apt-get install chromium) or leave out -tags browser")
	return ""
}

func TestBrowser(t *testing.T) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(browserBinary(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// No name resolves and no address is reached.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.Flag("proxy-server", "http://127.0.0.1:1"),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1200, 900),
		chromedp.WSURLReadTimeout(2*time.Minute),
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...) // t.Context ends before Cleanup
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts the browser
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // its folder is to be removed
			t.Log(err)
		}
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"every chart draws", everyChartDraws},
		{"a chart is drawn when it comes into view", chartIsDrawnWhenItComesIntoView},
		{"a folded chart is drawn when it is opened", foldedChartIsDrawnWhenOpened},
		{"charts are drawn anew in the dark", chartsAreDrawnAnewInTheDark},
		{"arms are switched off and on", armsAreSwitched},
		{"a narrow screen needs no scrolling sideways", narrowScreen},
		{"charts are whole on paper", chartsAreWholeOnPaper},
		{"everything has a name and is reached by keys", everythingIsReached},
		{"a large experiment opens quickly", largeExperimentOpens},
		{"the summary is copied", summaryIsCopied},
		{"the summary is copied without a clipboard", summaryIsCopiedWithoutClipboard},
		{"hostile names are text", hostileNamesAreText},
		{"tables and text are there without scripts", tablesAreThereWithoutScripts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, ctx) })
	}
}

// tab is a page in a browser that can reach no network, and what went wrong in it.
type tab struct {
	ctx      context.Context
	mu       sync.Mutex
	requests []string
	problems []string
}

// show writes the page of results to a file and opens it, after prepare.
func show(t *testing.T, browser context.Context, results analysis.Results, prepare func(context.Context) error) *tab {
	t.Helper()
	return openPage(t, browser, html(t, results), prepare)
}

func openPage(t *testing.T, browser context.Context, page string, prepare func(context.Context) error) *tab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, chromedp.Void{})
	}
	if err == nil && prepare != nil {
		err = prepare(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Navigate("file://"+path))
	// Where no script runs nothing is drawn, and nothing waited for.
	if eval[bool](t, b, `document.documentElement.classList.contains('js')`) {
		b.do(t, chromedp.WaitReady(chromedp.CSS("html[data-drawn]")))
	}
	t.Cleanup(func() { b.check(t, "file://"+path) })
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.ConsoleAPICalledTypeLog {
			b.problems = append(b.problems, fmt.Sprintf("console.%s %s", e.Type, e.Args[0].Value))
		}
	case *log.EventEntryAdded: // violations of the content security policy come here
		b.problems = append(b.problems, e.Entry.Text)
	}
}

// check is the last word on every page: it asked for itself alone, without a complaint.
func (b *tab) check(t *testing.T, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || b.requests[0] != url {
		t.Errorf("the page made the requests %q, want its own file alone", b.requests)
	}
	for _, p := range b.problems {
		t.Errorf("the browser complained: %s", p)
	}
}

// do runs actions with a bound, so that a page that hangs fails its own test.
func (b *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// take returns what an action gives.
func take[T any](t *testing.T, b *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// eval returns what an expression of the page, or the promise that it is, gives.
func eval[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	return take(t, b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits, frame by frame, for a condition to hold in the page.
func until(t *testing.T, b *tab, condition string) {
	t.Helper()
	eval[bool](t, b, `new Promise(function (done) {
		(function again() { if (`+condition+`) { done(true); } else { requestAnimationFrame(again); } }());
	})`)
}

// drawAll gives the window the height of the page, so that every chart comes into view.
func drawAll(t *testing.T, b *tab, width int64) {
	t.Helper()
	if err := screen(width, int64(eval[float64](t, b, `document.documentElement.scrollHeight`)))(b.ctx); err != nil {
		t.Fatal(err)
	}
	until(t, b, `Array.from(document.querySelectorAll('.chart')).every(function (c) { return c.querySelector('svg') || c.closest('details:not([open])'); })`)
}

// drawing is what the page says about one chart.
type drawing struct {
	ID     string  `json:"id"`
	Series int     `json:"series"`
	Shapes int     `json:"shapes"`
	Text   string  `json:"text"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Colour string  `json:"colours"`
}

const drawings = `Array.from(document.querySelectorAll('script[data-chart]')).map(function (s) {
	var box = document.getElementById('chart-' + s.dataset.chart), chart = echarts.getInstanceByDom(box);
	var svg = box.querySelector('svg'), size = svg.getBoundingClientRect();
	return {
		id: s.dataset.chart, series: chart.getOption().series.length,
		shapes: svg.querySelectorAll('path, polyline, circle').length, text: svg.textContent,
		width: size.width, height: size.height,
		colours: Array.from(svg.querySelectorAll('[fill], [stroke]')).map(function (e) {
			return e.getAttribute('fill') + ' ' + e.getAttribute('stroke'); }).join(' ')
	};
})`

func everyChartDraws(t *testing.T, browser context.Context) {
	r, beside := everything()
	b := openPage(t, browser, htmlBeside(t, r, beside), nil)
	drawAll(t, b, 1200)
	want := map[string]struct {
		shapes int
		texts  []string
	}{
		"ttft":        {24, []string{"p50", "p99", "burst", "idle", "s0-interactive-only", "341 ms", "1.80 s", dash}},
		"itl":         {24, []string{"p95", "s6-low-concurrency", "10.4 ms", "ms"}},
		"timeline-0":  {10, []string{"completed requests", "burst", "warm-up", "A due", "A", "B", "C", "min"}},
		"timeline-2":  {10, []string{"completed requests"}},
		"servers-0":   {9, []string{"requests running", "requests waiting", "KV cache in use", "100 %"}},
		"servers-3":   {9, []string{"KV cache in use"}},
		"forest":      {12, []string{"interactive TTFT p95 in burst", "s1-no-gateway", "degraded", "no conclusion", "1×"}},
		"trade-off":   {6, []string{"s2-ungated", "s0-interactive-only, without batch work", "per second", "s"}},
		"cdf-ttft":    {12, []string{"TTFT in burst", "TTFT in idle", "p95", "100 %", "1 s"}},
		"failures":    {4, []string{"interactive in burst", "s1-no-gateway", "%"}},
		"completions": {9, []string{"job A, requests completed", "A due", "burst", "min"}},
		"load":        {8, []string{"requests sent per second", "largest lateness", "ms", "min"}},
		"sweep":       {9, []string{"TTFT p95 of interactive requests in burst", "batch requests completed per second", "rate"}},
		"heatmap":     {6, []string{"ratio to the baseline", "router.maxConcurrency, requests", "interactive.phases.0.rate, requests/s", "✗"}},
		"rates":       {6, []string{"TTFT p95 from the due time", "requests that ended ok per second", "knee"}},
		"goodput":     {12, []string{"good, of those offered", "good requests per second"}},
		"cycles":      {12, []string{"TTFT p95 in burst", "batch requests completed per second in idle", "cycle", "2"}},
		"queue-times": {9, []string{"priority 100 in burst", "priority -1 in idle", "s2-ungated", "210 ms"}},
	}
	all := eval[[]drawing](t, b, drawings)
	for id := range want {
		if !slices.ContainsFunc(all, func(d drawing) bool { return d.ID == id }) {
			t.Errorf("no chart %s", id)
		}
	}
	// Those above, two more latencies, two more distributions, and the other timelines and
	// panels of servers.
	if len(all) != len(want)+2+2+1+2 {
		t.Errorf("%d charts, want %d", len(all), len(want)+7)
	}
	for _, d := range all {
		if d.Series == 0 || d.Width < 300 || d.Height < 150 || d.Shapes < 4 {
			t.Errorf("chart %s looks empty: %+v", d.ID, d)
		}
		for _, text := range want[d.ID].texts {
			if !strings.Contains(strings.ReplaceAll(d.Text, "\u00a0", " "), text) {
				t.Errorf("chart %s does not say %q: %s", d.ID, text, d.Text)
			}
		}
		if d.Shapes < want[d.ID].shapes {
			t.Errorf("chart %s has %d shapes, want %d or more", d.ID, d.Shapes, want[d.ID].shapes)
		}
	}
	shown := colours(t, take(t, b, chromedp.Screenshot(chromedp.CSS("#chart-ttft"))))
	for name, rgb := range map[string][3]uint32{"baseline grey": {0x6b, 0x74, 0x80}, "blue": {0x00, 0x72, 0xb2}, "vermilion": {0xd5, 0x5e, 0x00}, "green": {0x00, 0x9e, 0x73}} {
		if shown[rgb] < 200 {
			t.Errorf("%d pixels of the %s of an arm, want its bars", shown[rgb], name)
		}
	}
	save(t, b, "light.png")
}

func chartIsDrawnWhenItComesIntoView(t *testing.T, browser context.Context) {
	b := show(t, browser, fixture(), screen(1200, 900))
	if n := eval[int](t, b, `document.querySelectorAll('#chart-load svg').length`); n != 0 {
		t.Error("a chart far below the screen is drawn")
	}
	eval[bool](t, b, `document.getElementById('chart-load').scrollIntoView(), true`)
	b.do(t, chromedp.WaitReady(chromedp.CSS("#chart-load svg")))
}

func foldedChartIsDrawnWhenOpened(t *testing.T, browser context.Context) {
	b := show(t, browser, sweep(), nil)
	drawn := func() bool {
		return eval[bool](t, b, `document.querySelector('#chart-timeline-4 svg') !== null`)
	}
	if drawn() {
		t.Error("a chart behind closed details is drawn")
	}
	b.do(t, chromedp.Click(chromedp.CSS("#timeline details.many:nth-of-type(5) > summary")))
	// The browser tells of the opening in a task of its own.
	b.do(t, chromedp.WaitReady(chromedp.CSS("#chart-timeline-4 svg")))
}

func colours(t *testing.T, picture []byte) map[[3]uint32]int {
	t.Helper()
	decoded, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]int{}
	bounds := decoded.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := decoded.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	return seen
}

func scheme(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}
}

const oneChart = `(document.querySelector('#chart-ttft svg') || { outerHTML: '' }).outerHTML`

func chartsAreDrawnAnewInTheDark(t *testing.T, browser context.Context) {
	b := show(t, browser, fixture(), scheme("light"))
	drawAll(t, b, 1200)
	if !eval[bool](t, b, oneChart+`.includes('#0072b2')`) {
		t.Fatal("the light chart has no light blue bars")
	}
	if err := scheme("dark")(b.ctx); err != nil {
		t.Fatal(err)
	}
	until(t, b, oneChart+`.includes('#3d9cdb') && !`+oneChart+`.includes('#0072b2')`)
	if got := eval[string](t, b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(20, 23, 27)" {
		t.Errorf("the page is %s in the dark", got)
	}
	drawAll(t, b, 1200)
	if n := eval[int](t, b, `document.querySelectorAll('.chart').length - document.querySelectorAll('.chart svg').length`); n != 0 {
		t.Errorf("%d charts without a drawing after the change", n)
	}
	save(t, b, "dark.png")

	// Paper is light; the screen is dark again afterwards.
	eval[bool](t, b, `window.dispatchEvent(new Event('beforeprint'))`)
	if !eval[bool](t, b, oneChart+`.includes('#0072b2')`) {
		t.Error("the printed chart keeps the colours of the dark")
	}
	if !eval[bool](t, b, `Array.from(document.querySelectorAll('.chart svg')).every(function (svg) { return svg.hasAttribute('viewBox'); })`) {
		t.Error("a printed chart cannot shrink to the paper")
	}
	eval[bool](t, b, `window.dispatchEvent(new Event('afterprint'))`)
	until(t, b, oneChart+`.includes('#3d9cdb')`) // not light any more
}

func summaryIsCopied(t *testing.T, browser context.Context) {
	prepare := `Object.defineProperty(navigator, 'clipboard', { value: {
		writeText: function (text) { window.taken = text; return Promise.resolve(); } } }), true`
	copies(t, browser, "summary-markdown", prepare, newStudy(fixture()).summaryMarkdown())
	copies(t, browser, "summary-csv", prepare, newStudy(fixture()).summaryCSV())
}

func summaryIsCopiedWithoutClipboard(t *testing.T, browser context.Context) {
	copies(t, browser, "summary-markdown", `Object.defineProperty(navigator, 'clipboard', { value: undefined }),
		document.addEventListener('copy', function () { window.taken = document.activeElement.value; }), true`, newStudy(fixture()).summaryMarkdown())
}

// copies presses the button of a source after prepare, which leaves what is copied in window.taken.
func copies(t *testing.T, browser context.Context, source, prepare, want string) {
	t.Helper()
	b := show(t, browser, fixture(), nil)
	eval[bool](t, b, prepare)
	button := `button[data-copy="` + source + `"]`
	b.do(t, chromedp.Click(chromedp.CSS(button)))
	until(t, b, `document.querySelector('`+button+`').textContent === 'Copied'`)
	if got := eval[string](t, b, `window.taken`); got != want {
		t.Errorf("copied\n%s\nwant\n%s", got, want)
	}
}

func hostileNamesAreText(t *testing.T, browser context.Context) {
	results, beside := hostile(t)
	b := openPage(t, browser, htmlBeside(t, results, beside), nil)
	drawAll(t, b, 1200)
	// The tooltip is the one place where ECharts writes HTML.
	eval[bool](t, b, `Array.from(document.querySelectorAll('.chart')).every(function (box) {
		var chart = echarts.getInstanceByDom(box);
		chart.getOption().series.forEach(function (s, i) {
			[0, 1].forEach(function (k) { chart.dispatchAction({ type: 'showTip', seriesIndex: i, dataIndex: k }); });
		});
		return true; })`)
	for _, id := range []string{"timeline-0", "servers-0", "cdf-ttft"} {
		until(t, b, `document.querySelector('#chart-`+id+`').textContent.includes("document.title='PWNED'")`)
	}
	if got := eval[string](t, b, `document.title`); got != label(results.Experiment.Name) {
		t.Errorf("the title is %q", got)
	}
	if n := eval[int](t, b, `document.querySelectorAll('img, iframe, object, a[href^="javascript"]').length`); n != 0 {
		t.Errorf("%d elements that the page did not write", n)
	}
	// One in the head, the library, the boot script, the summary twice and an option a chart.
	charts := eval[int](t, b, `document.querySelectorAll('.chart').length`)
	if n := eval[int](t, b, `document.scripts.length`); n != charts+5 {
		t.Errorf("%d scripts beside %d charts, want 5", n-charts, charts)
	}
	if wide := eval[float64](t, b, `document.documentElement.scrollWidth`); wide > 1200 {
		t.Errorf("a long name makes the page %v pixels wide", wide)
	}
	save(t, b, "hostile.png")
}

func tablesAreThereWithoutScripts(t *testing.T, browser context.Context) {
	b := show(t, browser, fixture(), func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
	text := eval[string](t, b, `document.body.innerText`)
	for _, want := range []string{"degraded in s1-no-gateway", "11 of 12 cells are valid", "341 ms", "How to read this page"} {
		if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
			t.Errorf("the page without scripts does not say %q", want)
		}
	}
	if n := eval[int](t, b, `Array.from(document.querySelectorAll('.chart, .copy')).filter(function (e) { return e.offsetHeight > 0; }).length`); n != 0 {
		t.Errorf("%d empty charts or dead buttons are shown", n)
	}
}

// save keeps a picture of the whole page in the folder BG_SCREENSHOTS, if it is set.
func save(t *testing.T, b *tab, name string) {
	t.Helper()
	if os.Getenv("BG_SCREENSHOTS") != "" {
		keep(t, name, take(t, b, chromedp.FullScreenshot(100))) // 100 is PNG
	}
}
