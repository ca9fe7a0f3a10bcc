package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"bgbench/pkg/spec"
)

// readParquet reads a file row by row; the library keeps a page of each column.
func readParquet(f *os.File, s spec.Source, row func(Row) error) (err error) {
	n := 0
	defer func() {
		// The library panics on some damaged files.
		if r := recover(); r != nil {
			err = at("row", n+1, fmt.Errorf("the file is damaged: %v", r))
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return fmt.Errorf("found no Parquet file: %w", err)
	}
	rows := parquet.NewReader(file)
	defer rows.Close()
	for {
		v := map[string]any{}
		if err := rows.Read(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return at("row", n+1, err)
		}
		n++
		found, err := rowOf(s, plain(v))
		if err != nil {
			return at("row", n, err)
		}
		if err := row(found); err != nil {
			return err
		}
	}
}

// plain turns what the library makes of a row into what JSON would be: bytes are texts,
// and a list is a list without the two groups that Parquet wraps it in
// (parquet-format, LogicalTypes.md, Lists).
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		return v
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		if list, ok := v["list"]; ok && len(v) == 1 {
			return elements(plain(list))
		}
		for key := range v {
			v[key] = plain(v[key])
		}
		return v
	}
	return v
}

// elements unwraps the items of a list.
func elements(list any) any {
	items, ok := list.([]any)
	if !ok {
		return list
	}
	for i, item := range items {
		wrapped, ok := item.(map[string]any)
		if !ok || len(wrapped) != 1 {
			continue
		}
		for _, key := range []string{"element", "item"} {
			if in, ok := wrapped[key]; ok {
				items[i] = in
			}
		}
	}
	return items
}
