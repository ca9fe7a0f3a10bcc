package corpus

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// choices is how many answers a question has.
const choices = 4

// readMMLU reads the rows of question, choices A to D and the right answer, as the files
// of MMLU (Hendrycks et al., Measuring Massive Multitask Language Understanding) have
// them, with a head or, as there, without.
func readMMLU(r io.Reader, row func(Row) error) error {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1
	rows.ReuseRecord = true
	for n := 0; ; n++ {
		record, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // csv names the line
		}
		line, _ := rows.FieldPos(0)
		if n == 0 && strings.EqualFold(strings.TrimPrefix(record[0], "\ufeff"), "question") {
			continue
		}
		if len(record) != choices+2 {
			return at("line", line, fmt.Errorf("found %d columns, expected %d: the question, four choices, the answer", len(record), choices+2))
		}
		if err := row(Row{{User: question(record[0], record[1:1+choices]), Answer: record[1+choices]}}); err != nil {
			return err
		}
	}
}

// question is put as MMLU's authors put it.
func question(text string, choices []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(text, "\ufeff"))
	for i, c := range choices {
		fmt.Fprintf(&b, "\n%c. %s", 'A'+i, c)
	}
	b.WriteString("\nAnswer:")
	return b.String()
}
