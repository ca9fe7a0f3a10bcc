package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"bgbench/pkg/analysis"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

//go:embed assets templates
var files embed.FS

// page is what the templates see.
type page struct {
	Title         string
	Question      string
	Facts         []fact
	Arms          []armNote
	Warnings      notices
	Validity      validity
	Answer        answer
	Summary       summary
	Markdown      template.JS
	CSV           template.JS
	Verdicts      []section // what was found, beside the answer
	Latencies     []latency
	Spread        []section
	Progress      []section
	Loads         []section
	Nav           []navLink
	Timelines     []figure
	TimelineNote  string // the caption that all of them share
	Servers       []figure
	ServerNote    string
	PhaseTables   []phaseTable
	Jobs          []jobRow
	Accounting    []cellRow
	Work          []cellRow
	Mechanisms    mechanismTable
	Many          bool // arms, so that what has a part for each is folded away
	Cells         []cellDetail
	Configuration configuration
	Reproduce     reproduce
	Reading       reading

	Style         template.CSS
	Script        template.JS
	ECharts       template.JS
	EChartsLegal  string
	EChartsNotice string
}

// latency is the section of one bars figure.
type latency struct {
	ID     string
	Title  string
	Nav    string
	Lead   string
	Figure figure
}

// fact is one word and what it stands for in this experiment.
type fact struct{ Name, Text string }

// armNote is an arm with its description.
type armNote struct {
	Arm         tag
	Description string
	Baseline    bool
}

// reading is what the words of the page depend on in this experiment.
type reading struct {
	Trials        int
	PairedFloor   string // smallest p of an exact sign-flip test
	UnpairedFloor string // smallest p of an exact rank test
	Exact         bool   // whether the paired one can reach 0.05
	Margin        string
	MarginSince   string
	Emulated      bool
	Untested      bool // there is no verdict to explain
}

// Beside is what the page shows beside the results of its experiment.
type Beside struct {
	Rates []analysis.RatePoint // of a rate sweep
	Runs  []Run                // other experiments
}

// navLink leads to a section.
type navLink struct{ ID, Text string }

// HTML writes the page.
func HTML(w io.Writer, results analysis.Results, beside Beside) error {
	p, err := newPage(results, beside)
	if err != nil {
		return err
	}
	templates, err := parseTemplates()
	if err != nil {
		return err
	}
	// Into memory first: half a page is worse than none.
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "page.gohtml", p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	_, err = out.WriteTo(w)
	return err
}

func parseTemplates() (*template.Template, error) {
	templates, err := template.New("page").Funcs(template.FuncMap{"inc": func(i int) int { return i + 1 }}).ParseFS(files, "templates/*.gohtml")
	if err != nil {
		return nil, fmt.Errorf("reading the page's templates: %w", err)
	}
	return templates, nil
}

func newPage(results analysis.Results, beside Beside) (page, error) {
	s := newStudy(results)
	s.Beside = beside
	p := page{
		Title:       label(s.Experiment.Name),
		Question:    prose(s.Experiment.Question),
		Facts:       s.facts(),
		Warnings:    fold(s.warnings()),
		Validity:    s.validity(),
		Answer:      s.answer(),
		Summary:     s.summary(),
		PhaseTables: s.phaseTables(),
		Jobs:        s.jobTable(),
		Accounting:  s.accounting(),
		Work:        s.work(),
		Mechanisms:  s.mechanisms(),
		Many:        s.many(),
		Cells:       s.cellDetails(),
		Reading:     s.reading(),
		Reproduce:   s.reproduce(),
	}
	if p.Title == "" {
		p.Title = "bgbench report"
	}
	for _, a := range s.Arms {
		p.Arms = append(p.Arms, armNote{a.Tag, prose(a.Description), a.ArmResult.Baseline})
	}
	var err error
	for _, l := range []struct{ id, class, metric, title, nav, lead string }{
		{"ttft", record.ClassInteractive, analysis.MetricTTFT, "Time to first token", "TTFT", "How long an interactive user waits for the first token."},
		{"itl", record.ClassInteractive, analysis.MetricITL, "Inter-token latency", "ITL", "How evenly tokens follow once they flow: every gap of every request."},
		{"tpot", record.ClassInteractive, analysis.MetricTPOT, "Time per output token", "TPOT", "What a token after the first takes, a mean within each request."},
		{"e2e", record.ClassInteractive, analysis.MetricE2E, "End-to-end latency", "End-to-end", "From the instant a request is sent to its last token."},
		{"standard-ttft", record.ClassStandard, analysis.MetricTTFT, "Time to first token, standard requests", "Standard TTFT", "How long those of priority 0 wait, between interactive and batch."},
	} {
		if l.class != record.ClassInteractive && s.phasesOf(l.class) == nil || l.metric != analysis.MetricTTFT && !s.has(l.class, l.metric) {
			continue
		}
		f, err := s.bars(l.id, l.class, percentiles(l.metric))
		if err != nil {
			return p, err
		}
		p.Latencies = append(p.Latencies, latency{l.id, l.title, l.nav, l.lead, f})
	}
	for _, part := range []struct {
		to        *[]section
		composers []composer
	}{{&p.Verdicts, verdictSections}, {&p.Spread, latencySections}, {&p.Progress, progressSections}, {&p.Loads, loadSections}} {
		if *part.to, err = s.compose(part.composers); err != nil {
			return p, err
		}
	}
	if p.Timelines, err = s.timelines(); err != nil {
		return p, err
	}
	if p.Servers, err = s.servers(); err != nil {
		return p, err
	}
	p.TimelineNote, p.ServerNote = lift(p.Timelines), lift(p.Servers)
	for _, figures := range [][]figure{p.Timelines, p.Servers} {
		for i := range figures {
			figures[i].Folded = p.Many
		}
	}
	if p.Configuration, err = s.configuration(); err != nil {
		return p, err
	}
	summary, err := json.Marshal(s.summaryMarkdown())
	if err != nil {
		return p, fmt.Errorf("writing the summary as Markdown: %w", err)
	}
	p.Markdown = template.JS(summary)
	if summary, err = json.Marshal(s.summaryCSV()); err != nil {
		return p, fmt.Errorf("writing the summary as CSV: %w", err)
	}
	p.CSV = template.JS(summary)
	p.Nav = p.links()
	return p, p.assets()
}

// links lists the sections that the page has, in its order.
func (p *page) links() []navLink {
	links := []navLink{{"answer", "Answer"}, {"summary", "Summary"}}
	add := func(sections []section) {
		for _, s := range sections {
			links = append(links, navLink{s.ID, s.Nav})
		}
	}
	have := func(there bool, id, text string) {
		if there {
			links = append(links, navLink{id, text})
		}
	}
	add(p.Verdicts)
	for _, l := range p.Latencies {
		links = append(links, navLink{l.ID, l.Nav})
	}
	add(p.Spread)
	add(p.Progress)
	have(p.Timelines != nil, "timeline", "Batch timeline")
	have(p.Mechanisms.Rows != nil, "mechanisms", "What engaged")
	have(p.Servers != nil, "servers", "Servers")
	add(p.Loads)
	return append(links, navLink{"phases", "Phases"}, navLink{"jobs", "Jobs"}, navLink{"cells", "Cells"}, navLink{"configuration", "Configuration"},
		navLink{"reproduce", "Reproduce"}, navLink{"reading", "How to read this"})
}

// assets loads what the page carries with it.
func (p *page) assets() error {
	for _, a := range []struct {
		name string
		to   func(string)
	}{
		{"assets/page.css", func(text string) { p.Style = template.CSS(text) }},
		{"assets/boot.js", func(text string) { p.Script = template.JS(text) }},
		{"assets/echarts/echarts.min.js", func(text string) { p.ECharts = template.JS(text) }},
		{"assets/echarts/NOTICE", func(text string) { p.EChartsNotice = text }},
		{"assets/echarts/licenses/LICENSE-d3", func(text string) { p.EChartsLegal = text }},
	} {
		data, err := files.ReadFile(a.name)
		if err != nil {
			return fmt.Errorf("reading the page's assets: %w", err)
		}
		a.to(string(data))
	}
	return nil
}

func (s study) facts() []fact {
	e := s.Experiment
	facts := []fact{{"Target", targetName(e.Target)}, {"Profile", label(e.Profile.Name)}, {"Model", label(e.Profile.Model)}}
	if s.ofEndpoints() {
		facts = append(facts[:2], s.endpointFacts()...)
	}
	facts = append(facts, fact{"Design", s.design()})
	facts = append(facts, fact{"Sweep", s.sweep()})
	for _, p := range e.Profiles() {
		for _, phase := range p.Interactive.Phases {
			facts = also(facts, "Phase "+label(phase.Name), declared(phase.Rate)+" req/s for "+clock(phase.Duration.Seconds()))
		}
	}
	for _, p := range e.Profiles() {
		if i := p.Interactive; i.Cycles > 0 {
			facts = also(facts, "Cycles", fmt.Sprintf("%d, of which %d warm-up", i.Cycles, i.WarmupCycles))
		}
	}
	facts = append(facts, fact{"Run", s.days()})
	var kept []fact
	for _, f := range facts {
		if f.Text != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// design is the size of the experiment.
func (s study) design() string {
	return analysis.Plural(len(s.Arms), "arm") + " × " + analysis.Plural(max(s.Experiment.Trials, s.trials()), "trial")
}

// also adds what a point of a sweep says of a fact to what the others said.
func also(facts []fact, name, text string) []fact {
	for i, f := range facts {
		if f.Name == name {
			if !slices.Contains(strings.Split(f.Text, " or "), text) {
				facts[i].Text += " or " + text
			}
			return facts
		}
	}
	return append(facts, fact{name, text})
}

// sweep lists the keys that were swept and their values.
func (s study) sweep() string {
	var keys []string
	values := map[string][]string{}
	for _, a := range s.Arms {
		for _, f := range a.Factors {
			if values[f.Key] == nil {
				keys = append(keys, f.Key)
			}
			if text := fmt.Sprint(f.Value); !slices.Contains(values[f.Key], text) {
				values[f.Key] = append(values[f.Key], text)
			}
		}
	}
	for i, key := range keys {
		keys[i] = key + " " + strings.Join(values[key], ", ")
	}
	return prose(strings.Join(keys, "; "))
}

// virtualClock stands where a date would: the calendar of such a run is made up.
const virtualClock = "virtual clock"

func isVirtual(c analysis.CellResult) bool { return c.Clock == "virtual" }

// days says when the cells ran, as far as they ran on the wall clock.
func (s study) days() string {
	first, last, virtual := "", "", false
	for _, c := range s.Results.Cells {
		switch {
		case isVirtual(c):
			virtual = true
		case !c.StartedAt.IsZero():
			day := c.StartedAt.UTC().Format("2006-01-02")
			if first == "" || day < first {
				first = day
			}
			last = max(last, day)
		}
	}
	text := first
	if first != last {
		text += " to " + last
	}
	switch {
	case !virtual:
		return text
	case text == "":
		return virtualClock
	}
	return text + " and " + virtualClock
}

func targetName(target string) string {
	switch target {
	case spec.TargetModel:
		return "model (emulated stack, virtual clock)"
	case spec.TargetLocal:
		return "local (emulated stack, real sockets)"
	case spec.TargetEndpoint:
		return "endpoint (an OpenAI API as it is)"
	}
	return label(target)
}

// reading works out which p-values the number of trials allows: 2/2^n for a
// sign-flip test of n pairs, 2/C(2n,n) for a rank test of n against n.
func (s study) reading() reading {
	n := max(s.Experiment.Trials, s.trials())
	r := reading{Trials: n, Untested: s.ofEndpoints(), Emulated: s.Experiment.Target == spec.TargetModel || s.Experiment.Target == spec.TargetLocal}
	if s.Experiment.Margin > 0 {
		r.Margin, r.MarginSince = s.margin(), s.marginSince()
	}
	paired := math.Min(1, 2/math.Pow(2, float64(n)))
	choose := 1.0
	for i := 1; i <= n; i++ {
		choose *= float64(n+i) / float64(i)
	}
	r.PairedFloor, r.UnpairedFloor = significant(paired), significant(math.Min(1, 2/choose))
	r.Exact = paired < 0.05
	return r
}
