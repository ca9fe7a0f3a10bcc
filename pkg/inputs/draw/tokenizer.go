package draw

import (
	"bgbench/pkg/inputs"
	"bgbench/pkg/tokenizer"
)

// openTokenizer counts by the profile's tokenizer, if it has one.
func (d *drawing) openTokenizer() error {
	file := d.Profile.Tokenizer
	if file == "" {
		return nil
	}
	t, err := tokenizer.Open(file)
	if err != nil {
		return err
	}
	d.counter = t
	d.tokenizer = &inputs.Tokenizer{File: file, SHA256: t.SHA256, Template: t.Template()}
	return nil
}
