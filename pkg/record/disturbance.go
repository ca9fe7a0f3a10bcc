package record

import (
	"bgbench/pkg/jsontext"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// DisturbancesFile is beside the rows of a cell that was played on a cluster.
const DisturbancesFile = "disturbances.jsonl"

// Disturbance is something that happened to a stack while it was measured and that no
// arm asks for.
type Disturbance struct {
	At     time.Time `json:"at"`               // when it was seen
	Kind   string    `json:"kind"`             // restart, oom-killed, evicted, gone, new, node
	Object string    `json:"object"`           // pod or node
	Detail string    `json:"detail,omitempty"` // what the cluster says
}

// WriteDisturbances writes one JSON object a line.
func WriteDisturbances(w io.Writer, list []Disturbance) error {
	encoder := json.NewEncoder(w)
	for _, d := range list {
		if err := encoder.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

// ReadDisturbances reads the file at path; watched is false where there is none, as on
// targets on which nothing but the run itself can disturb the stack.
func ReadDisturbances(path string) (list []Disturbance, watched bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for decoder := json.NewDecoder(f); ; {
		var d Disturbance
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return list, true, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s:%d: %w", path, len(list)+1, jsontext.Line(err))
		}
		list = append(list, d)
	}
}
