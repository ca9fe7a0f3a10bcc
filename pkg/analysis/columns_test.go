package analysis

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bgbench/pkg/analysis/analysistest"
	"bgbench/pkg/record"
	"bgbench/pkg/spec"
)

// fillOthers gives every column that is not read something to say.
func fillOthers[T any](row *T, read []string) (filled int) {
	v := reflect.ValueOf(row).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		field := v.FieldByIndex(f.Index)
		if slices.Contains(read, name) || !field.IsZero() {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		switch field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(analysistest.Start.Add(7 * time.Second)))
		case string:
			field.SetString("7")
		case bool:
			field.SetBool(true)
		case float64:
			field.SetFloat(7)
		default:
			field.SetInt(7)
		}
		filled++
	}
	return filled
}

// The summary of a file, of which some columns are read, is that of all columns in memory:
// a column that something new is computed from must be read.
func TestTheColumnsThatAreReadAreEnough(t *testing.T) {
	for _, arm := range []string{analysistest.S0, analysistest.S1, analysistest.S2} {
		t.Run(arm, func(t *testing.T) {
			c := everything(arm)
			filled := 0
			for i := range c.Requests {
				filled += fillOthers(&c.Requests[i], requestColumns)
			}
			for i := range c.Samples {
				filled += fillOthers(&c.Samples[i], sampleColumns)
			}
			if filled == 0 {
				t.Fatal("every column is read: there is nothing to guard")
			}
			inMemory, err := gather(c)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := c.Write(dir); err != nil {
				t.Fatal(err)
			}
			fromFile, err := readCell(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(inMemory.rows.outputs(), fromFile.rows.outputs()) {
				t.Error("the outputs differ")
			}
			want, err := inMemory.result("cell")
			if err != nil {
				t.Fatal(err)
			}
			got, err := fromFile.result("cell")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(encode(t, want), encode(t, got)); diff != "" {
				t.Errorf("(-all columns +those that are read)\n%s", diff)
			}
		})
	}
}

// everything is a cell of which each part of the summary has something to say.
func everything(arm string) analysistest.Cell {
	c := analysistest.New(arm, 1)
	c.Answer(0)
	c.Arm(func(a *spec.Arm) {
		a.Router.Kind, a.Router.FlowControl, a.Router.Eviction = spec.RouterEPP, true, true
		a.Gateway.Concurrency.AIMD.Enabled = true
	})
	for i, status := range []string{record.StatusRejected, record.StatusTimeout, record.StatusIncomplete, record.StatusHTTPError} {
		q := &c.Requests[20+i]
		code, text := int32(400), contextOverflow+" is 1024 tokens"
		q.Status, q.HTTPStatus, q.Error, q.TTFTS, q.CrossesPhase = status, &code, &text, nil, true
	}
	rising := func(t float64) float64 { return max(0, 3*t) }
	for _, metric := range append(slices.Sorted(maps.Keys(curveUnits)), keptMetrics...) {
		c.Series("server-0", metric, `{"le":"1","priority":"-1"}`, rising)
	}
	return c
}
