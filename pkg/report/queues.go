package report

import (
	"fmt"
	"slices"

	"bgbench/pkg/analysis"
)

// queues draws how long the router let requests of each priority wait, and how soon an
// eviction gave room.
func queues(s study) (section, error) {
	one := section{ID: "queues", Title: "Waiting in the router", Nav: "Router queue",
		Lead: "From the arrival of a request at the router's flow control to its dispatch, by priority, according to the router's own histograms, in the measured time."}
	f, err := s.queueFigure()
	if err != nil {
		return one, err
	}
	if f.Rows != nil {
		one.Figures = []figure{f}
	}
	if t := s.releases(); t.Rows != nil {
		one.Tables = []table{t}
	}
	return one, nil
}

// queueBlock is a place where requests wait.
type queueBlock struct{ phase, priority string }

func (s study) queueFigure() (figure, error) {
	f := figure{ID: "queue-times", Wide: true, Alt: "Mean waiting time in the router by phase, priority and arm; the table below has the numbers.",
		Caption: "Dot: the mean of one trial, which a histogram has exactly. Line: from the smallest to the largest. Of percentiles it has only the bucket; the table has those.",
		Heads:   []string{"Phase", "Priority", "Arm", "Trial", "Dispatched", "Mean", "p50", "p95", "p99", "Refused"}}
	var blocks []queueBlock
	longest := 0.0
	for _, a := range s.Arms {
		cells, _ := a.drawn()
		for _, c := range cells {
			for _, q := range c.QueueTimes {
				if q.Phase == analysis.PhaseAll && len(s.Phases) > 1 {
					continue // the phases are it
				}
				if v := q.Times.MeanS.Value; v != nil {
					longest = max(longest, *v)
				} else if q.Refused.Value == nil || *q.Refused.Value == 0 {
					continue
				}
				if b := (queueBlock{q.Phase, q.Priority}); !slices.Contains(blocks, b) {
					blocks = append(blocks, b)
				}
			}
		}
	}
	slices.SortStableFunc(blocks, func(a, b queueBlock) int { return slices.Index(s.Phases, a.phase) - slices.Index(s.Phases, b.phase) })
	if blocks == nil || longest == 0 {
		return f, nil
	}
	unit, factor := secondsUnit(longest)
	end, step := axisEnd(1.3 * longest * factor)
	c := newCanvas("")
	y := 4
	for i, b := range blocks {
		var names []string
		var payload []map[string]any
		for _, a := range s.Arms {
			var points []float64
			cells, _ := a.drawn()
			found := false
			for _, cell := range cells {
				for _, q := range cell.QueueTimes {
					if q.Phase != b.phase || q.Priority != b.priority {
						continue
					}
					found = true
					t := q.Times
					if t.MeanS.Value != nil {
						points = append(points, *t.MeanS.Value)
					}
					f.Rows = append(f.Rows, []string{label(b.phase), label(b.priority), a.Tag.Label(), fmt.Sprint(cell.Trial), value(t.N, analysis.UnitCount).Text,
						value(t.MeanS, "s").Text, bucket(t.P50), bucket(t.P95), bucket(t.P99), value(q.Refused, analysis.UnitCount).Text})
				}
			}
			if !found {
				continue
			}
			m := map[string]any{"text": dash, "color": a.Tag.colour()}
			if points != nil {
				low, high := slices.Min(points), slices.Max(points)
				m["text"], m["min"], m["max"] = span(low, high, "s"), rounded(low*factor), rounded(high*factor)
				for j := range points {
					points[j] = rounded(points[j] * factor)
				}
				m["points"] = points
			}
			names, payload = append(names, shortened(a.Tag.Label(), barsName)), append(payload, m)
		}
		height := len(names) * barsRow
		c.text("priority "+label(b.priority)+" in "+label(b.phase), "0", px(y), true)
		panel := c.panel(place{Left: "176", Right: "110", Top: px(y + 26), Height: px(height)},
			scaleAxis{Min: 0, Max: end, Step: step, Unit: "\u00a0" + unit, Hidden: i < len(blocks)-1}, scaleAxis{Names: names})
		c.add(trialSeries(panel, len(names), payload))
		y += height + 40
	}
	f.Height = y + 26
	var err error
	f.Option, err = c.option()
	return f, err
}

// bucket writes where a quantile lies.
func bucket(q analysis.BucketQuantile) string {
	switch {
	case q.LowS == nil:
		return dash
	case q.HighS == nil:
		return "above " + quantity(*q.LowS, "s")
	}
	return span(*q.LowS, *q.HighS, "s")
}

// releases has a row a cell with eviction.
func (s study) releases() table {
	t := table{Title: "From the order to evict to the end of the stream", Texts: 1,
		Heads: []string{"Arm", "Trial", "Confirmed", "Timed out", "Mean", "p50", "p95", "p99"},
		Note:  "A pair of numbers is the bucket of the router's histogram that the percentile lies in."}
	if s.many() {
		t.Folded = "All cells"
	}
	for _, a := range s.Arms {
		for _, c := range a.Cells {
			r := c.Release
			if r == nil {
				continue
			}
			reason := prose(r.Times.P50.Reason)
			t.Rows = append(t.Rows, armRow(a.Tag, word(fmt.Sprint(c.Trial)), value(r.Confirmed, analysis.UnitCount), value(r.TimedOut, analysis.UnitCount), value(r.Times.MeanS, "s"),
				entry{Text: bucket(r.Times.P50), Title: reason}, entry{Text: bucket(r.Times.P95), Title: reason}, entry{Text: bucket(r.Times.P99), Title: reason}))
		}
	}
	return t
}
