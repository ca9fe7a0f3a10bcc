package draw

import (
	"errors"
	"fmt"

	"bgbench/pkg/corpus"
	"bgbench/pkg/inputs"
	"bgbench/pkg/prompt"
	"bgbench/pkg/random"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
	"bgbench/pkg/tokenizer"
)

// texts deals out the rows of the files that the classes take their texts from. A row is
// dealt once, whatever class and job it goes to, as long as there are enough.
type texts struct {
	packs   []*pack
	byClass map[string]*pack
}

// pack is a file with the bounds that its texts are held to.
type pack struct {
	class    string // the first that has it
	source   spec.Source
	min, max int
	needed   int
	rows     []corpus.Row
	next     int
	digest   corpus.Digest
	leftOut  int
}

// NoTextError says that no text of a file is as long as was asked for.
type NoTextError struct {
	File     string
	Min, Max int
	Rows     int
}

func (e NoTextError) Error() string {
	return fmt.Sprintf("%s: found none of %d texts that has %d to %d tokens, expected one or more", e.File, e.Rows, e.Min, e.Max)
}

// Hint says what to change.
func (e NoTextError) Hint() string { return "widen isl.min and isl.max" }

// readTexts reads as many rows as all requests together need.
func (d *drawing) readTexts() error {
	d.texts.byClass = map[string]*pack{}
	jobs := 0
	for _, job := range d.Profile.Batch.Jobs {
		jobs += job.Requests
	}
	d.texts.add(record.ClassInteractive, d.Profile.InteractivePrompt(), len(d.arrivals))
	d.texts.add(record.ClassBatch, d.Profile.BatchPrompt(), jobs)
	for _, p := range d.texts.packs {
		if err := d.read(p); err != nil {
			return err
		}
	}
	return nil
}

func (t *texts) add(class string, asked spec.Prompt, requests int) {
	if asked.Source == nil || requests == 0 {
		return
	}
	for _, p := range t.packs {
		if p.source == *asked.Source && p.min == asked.ISL.Min && p.max == asked.ISL.Max {
			p.needed += requests
			t.byClass[class] = p
			return
		}
	}
	p := &pack{class: class, source: *asked.Source, min: asked.ISL.Min, max: asked.ISL.Max, needed: requests}
	t.packs = append(t.packs, p)
	t.byClass[class] = p
}

func (d *drawing) read(p *pack) error {
	bounds := spec.Prompt{ISL: spec.Distribution{Min: p.min, Max: p.max}}
	sample := corpus.NewSample(p.needed, random.Stream(d.seed(), "texts"))
	var err error
	p.digest, err = corpus.Read(p.source, func(row corpus.Row) error {
		if !prompt.Fits(bounds, d.counter, row) {
			p.leftOut++
			return nil
		}
		sample.Add(row)
		return nil
	})
	if err != nil {
		return err
	}
	if p.rows = sample.Rows(); len(p.rows) == 0 {
		return NoTextError{p.source.File, p.min, p.max, p.digest.Rows}
	}
	return nil
}

// deal returns the next so many rows of the class's file, none where it has no file, and
// says with took how many of them were taken. After the last row comes the first.
func (t *texts) deal(class string, n int) []corpus.Row {
	p := t.byClass[class]
	if p == nil {
		return nil
	}
	rows := make([]corpus.Row, n)
	for i := range rows {
		rows[i] = p.rows[(p.next+i)%len(p.rows)]
	}
	return rows
}

func (t *texts) took(class string, n int) {
	if p := t.byClass[class]; p != nil {
		p.next += n
	}
}

// sources says what the files were.
func (t *texts) sources() []inputs.Source {
	var all []inputs.Source
	for _, p := range t.packs {
		all = append(all, inputs.Source{
			Class: p.class, File: p.source.File, Bytes: p.digest.Bytes, SHA256: p.digest.SHA256,
			Rows: p.digest.Rows, WithoutText: p.digest.Empty, LeftOut: p.leftOut, Dealt: p.next,
		})
	}
	return all
}

// IsInput reports whether err is about a file of texts, lengths or tokens that the user
// gave.
func IsInput(err error) bool {
	var file corpus.FileError
	var none NoTextError
	var lengths prompt.LengthsError
	var room prompt.RoomError
	var tokens tokenizer.FileError
	var source SourceError
	return errors.As(err, &source) || errors.As(err, &file) || errors.As(err, &none) || errors.As(err, &lengths) || errors.As(err, &room) || errors.As(err, &tokens)
}
