package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// accept asks for protobuf, which has native histograms, then for text. It does not
// name OpenMetrics: vLLM's Python client sends it to who does, before anything else,
// and it says no more than the text. Who knows nothing else may answer with it.
const accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited," +
	"text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

// maxPage is far above any page that is a page (a busy vLLM server has 100 KB).
const maxPage = 64 << 20

func isOpenMetrics(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && kind == expfmt.OpenMetricsType
}

// fetch gets a /metrics page into body.
func fetch(ctx context.Context, client *http.Client, address string, body *bytes.Buffer) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // the caller names the URL
			err = wrapped.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("found status %s, expected 200 OK", response.Status)
	}
	body.Reset()
	if _, err := body.ReadFrom(io.LimitReader(response.Body, maxPage+1)); err != nil {
		return nil, err
	}
	if body.Len() > maxPage {
		return nil, fmt.Errorf("found more than %d bytes", maxPage)
	}
	return response.Header, nil
}

// parse returns the families of a page sorted by name.
func parse(header http.Header, page []byte) ([]*dto.MetricFamily, error) {
	switch format := expfmt.ResponseFormat(header); format.FormatType() {
	case expfmt.TypeProtoDelim:
		return parseProtobuf(page, format)
	case expfmt.TypeTextPlain:
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
		if err != nil {
			return nil, err
		}
		out := make([]*dto.MetricFamily, 0, len(families))
		for _, name := range slices.Sorted(maps.Keys(families)) {
			out = append(out, families[name])
		}
		return out, nil
	}
	return nil, fmt.Errorf("found content type %q, expected Prometheus text 0.0.4, delimited protobuf or OpenMetrics", header.Get("Content-Type"))
}

func parseProtobuf(page []byte, format expfmt.Format) ([]*dto.MetricFamily, error) {
	decoder := expfmt.NewDecoder(bytes.NewReader(page), format.WithEscapingScheme(model.NoEscaping))
	var out []*dto.MetricFamily
	for {
		family := new(dto.MetricFamily)
		err := decoder.Decode(family)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, family)
	}
}
