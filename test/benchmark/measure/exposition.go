package measure

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/component-base/metrics/testutil"
)

// Metric is one value of a /metrics page.
type Metric struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Scrape reads the counters, gauges and untyped values with these names from a /metrics page.
func Scrape(ctx context.Context, client *http.Client, url string, names ...string) ([]Metric, error) {
	body, err := Get(ctx, client, url)
	if err != nil {
		return nil, err
	}
	metrics, err := parse(bytes.NewReader(body), names...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	return metrics, nil
}

// Get reads a page.
func Get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", url, response.Status, body)
	}
	return body, nil
}

// parse reads the values with these names. It skips the other values: an API server's page has megabytes of them.
func parse(page io.Reader, names ...string) ([]Metric, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var kept bytes.Buffer
	lines := bufio.NewReader(page)
	for {
		line, err := lines.ReadString('\n')
		if wanted[nameOf(line)] {
			kept.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	families, err := testutil.TextToMetricFamilies(&kept)
	if err != nil {
		return nil, err
	}
	var metrics []Metric
	for _, name := range names {
		for _, found := range families[name].GetMetric() {
			m := Metric{Name: name, Labels: map[string]string{}}
			for _, label := range found.GetLabel() {
				m.Labels[label.GetName()] = label.GetValue()
			}
			m.Value = found.GetCounter().GetValue() + found.GetGauge().GetValue() + found.GetUntyped().GetValue()
			metrics = append(metrics, m)
		}
	}
	return metrics, nil
}

// nameOf returns the name of the metric in a line.
func nameOf(line string) string {
	if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
		line = rest
	}
	end := strings.IndexAny(line, "{ \n")
	if end < 0 {
		return ""
	}
	return line[:end]
}
