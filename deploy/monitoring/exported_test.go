package monitoring

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/hub"
	"github.com/open-cluster-management-io/work-rollback/pkg/metrics"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// export holds the metrics that the manager's endpoint serves: the labels of each metric, and the possible values of each label.
type export map[string]map[string][]string

// exported gathers the metrics from the process's registry, after each of them was set once.
func exported(t *testing.T) export {
	t.Helper()
	hub.NewManagerCommand() // Registers the metrics that the manager serves.
	for _, stage := range []status.Stage{
		status.RollingOut, status.Stalled, status.Complete, status.Aborting, status.Aborted, workv1alpha1.StateInvalid, workv1alpha1.StateDeleting,
	} {
		key := "default/" + string(stage)
		metrics.Default().Observe(key, metrics.Observation{
			Stage: stage, WouldAbort: true,
			Clusters: map[rollout.Phase]int{}, Paused: true, Lost: 1, AwaitingApproval: 1, DeletingSince: time.Unix(1, 0), Started: time.Unix(1, 0),
			Problems:   []metrics.Problem{metrics.OlderCRD, metrics.HistoryUnavailable},
			Placements: []metrics.Placement{{Name: "all"}},
		})
		t.Cleanup(func() { metrics.Default().Forget(key) })
	}
	for _, name := range []string{"ManifestWorkReplicaSetController", "ManifestWorkReplicaSetControllerAborts"} {
		queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name})
		t.Cleanup(queue.ShutDown)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().Get(t.Context(), "nothing", metav1.GetOptions{})
	require.Error(t, err)

	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	e := export{}
	for _, family := range families {
		name := family.GetName()
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				e.add(name, label.GetName(), label.GetValue())
			}
		}
		e.add(name, "", "")
		if family.GetType().String() == "HISTOGRAM" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				e[name+suffix] = e[name]
			}
			delete(e, name)
		}
	}
	return e
}

func (e export) add(metric, label, value string) {
	if e[metric] == nil {
		e[metric] = map[string][]string{}
	}
	if !slices.Contains(e[metric][label], value) {
		e[metric][label] = append(e[metric][label], value)
	}
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	grouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)`)
	brackets = regexp.MustCompile(`\[[^\]]*\]`)
	selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-zA-Z_]+) *(?:=~|!~|!=|=) *"([^"]*)"`)
	matchers = regexp.MustCompile(`\{[^}]*\}`)
	words    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
)

// operators are the words of PromQL that are neither metrics nor functions.
var operators = []string{"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "inf", "nan"}

// check returns an error if a PromQL expression reads something that is not exported: a metric, a label, or a value that the label never
// has.
func (e export) check(expr string) error {
	for _, found := range selector.FindAllStringSubmatch(expr, -1) {
		for _, match := range matcher.FindAllStringSubmatch(found[2], -1) {
			if err := e.checkLabel(found[1], match[1], match[2]); err != nil {
				return err
			}
		}
	}
	bare := matchers.ReplaceAllString(brackets.ReplaceAllString(grouping.ReplaceAllString(expr, ""), ""), "")
	for _, word := range words.FindAllString(quoted.ReplaceAllString(bare, ""), -1) {
		if word = strings.TrimSpace(word); strings.HasSuffix(word, "(") || slices.Contains(operators, strings.ToLower(word)) {
			continue
		}
		if e[word] == nil {
			return fmt.Errorf("the hub exports no metric %s: %s", word, expr)
		}
	}
	return nil
}

// checkLabel accepts Grafana's variables, and the labels that name objects.
func (e export) checkLabel(metric, label, values string) error {
	if e[metric] == nil {
		return fmt.Errorf("the hub exports no metric %s", metric)
	}
	if e[metric][label] == nil {
		return fmt.Errorf("metric %s has no label %s", metric, label)
	}
	if strings.Contains(values, "$") {
		return nil
	}
	for value := range strings.SplitSeq(values, "|") {
		if !slices.Contains(e[metric][label], value) {
			return fmt.Errorf("label %s of metric %s is never %q", label, metric, value)
		}
	}
	return nil
}

func TestCheck(t *testing.T) {
	e := exported(t)
	for expr, wanted := range map[string]string{
		`sum by (pod) (rate(mwrs_work_writes_total{result="failed"}[5m])) > 0`:                 "",
		`histogram_quantile(0.9, rate(mwrs_abort_restore_duration_seconds_bucket[5m]))`:        "",
		`mwrs_abort_restore_duration_seconds`:                                                  "no metric mwrs_abort_restore_duration_seconds:",
		`sum(mwrs_work_write_total) or vector(0)`:                                              "no metric mwrs_work_write_total",
		`mwrs_stage{stage=~"Aborted|Abortend"}`:                                                `never "Abortend"`,
		`mwrs_stage{state="Aborted"}`:                                                          "no label state",
		`mwrs_stage{mwrs_namespace=~"$namespace"} unless on (name) mwrs_clusters{x!="Failed"}`: "no label x",
	} {
		if wanted == "" {
			require.NoError(t, e.check(expr), expr)
		} else {
			require.ErrorContains(t, e.check(expr), wanted, expr)
		}
	}
}

// Prometheus adds labels to each series of a pod. A metric with such a label would lose it, or be renamed, unless honorLabels is set.
// Prometheus ignores honorLabels if namespaces are enforced.
func TestNoLabelCollidesWithThatOfAPod(t *testing.T) {
	for name, labels := range exported(t) {
		if !strings.HasPrefix(name, "mwrs_") {
			continue
		}
		for _, attached := range []string{"namespace", "pod", "container", "service", "endpoint", "job", "instance"} {
			require.NotContains(t, labels, attached, name)
		}
	}
}
