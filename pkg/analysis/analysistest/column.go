package analysistest

import (
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"bgbench/pkg/record"
)

// DropColumn writes a file of requests anew without one of its columns.
func DropColumn(path, column string) error {
	in, err := record.ReadFile[record.Request](path)
	if err != nil {
		return err
	}
	defer in.Close()
	whole := reflect.TypeFor[record.Request]()
	var kept []reflect.StructField
	for _, f := range reflect.VisibleFields(whole) {
		if name, _, _ := strings.Cut(f.Tag.Get("parquet"), ","); name != column {
			kept = append(kept, f)
		}
	}
	if len(kept) == whole.NumField() {
		return fmt.Errorf("%s: requests have no column %q", path, column)
	}
	narrow := reflect.StructOf(kept)
	out, err := os.Create(path + ".narrow")
	if err != nil {
		return err
	}
	defer out.Close()
	w := parquet.NewWriter(out, parquet.SchemaOf(reflect.New(narrow).Interface()))
	for rows, err := range in.Batches() {
		if err != nil {
			return err
		}
		for i := range rows {
			row := reflect.New(narrow)
			for _, f := range kept {
				row.Elem().FieldByName(f.Name).Set(reflect.ValueOf(rows[i]).FieldByName(f.Name))
			}
			if err := w.Write(row.Interface()); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
