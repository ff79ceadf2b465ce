// This program sets the condition of a success gate from Prometheus on each ManifestWork of a ManifestWorkReplicaSet. The query returns one
// sample for each cluster, with the label cluster. The condition is True if the value is at most the limit, and Unknown without a sample.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	kubeconfig    = flag.String("kubeconfig", "", "kubeconfig of the hub; in the cluster if empty")
	owner         = flag.String("owner", "default.web", "namespace and name of the ManifestWorkReplicaSet, separated by a dot")
	conditionType = flag.String("type", "example.com/ErrorRate", "type of the condition")
	prometheus    = flag.String("prometheus", "http://prometheus:9090", "URL of Prometheus")
	query         = flag.String("query", `sum by (cluster) (rate(errors_total[5m]))`, "query that returns a sample for each cluster")
	limit         = flag.Float64("limit", 0.01, "highest good value")
	every         = flag.Duration("every", 15*time.Second, "time between two queries; 0 for one query")
	works         = schema.GroupVersionResource{Group: "work.open-cluster-management.io", Version: "v1", Resource: "manifestworks"}
)

func main() {
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config)
	ctx, stop := context.WithCancel(context.Background())
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := judge(ctx, client); err != nil {
			log.Print(err)
		}
		if *every == 0 {
			stop()
		}
	}, *every)
}

// judge sets the condition on each ManifestWork.
func judge(ctx context.Context, client dynamic.Interface) error {
	values, err := samples(ctx)
	if err != nil {
		return err
	}
	selector := "work.open-cluster-management.io/manifestworkreplicaset=" + *owner
	list, err := client.Resource(works).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	for i := range list.Items {
		status, message := "Unknown", "Prometheus has no sample of this cluster"
		if value, found := values[list.Items[i].GetNamespace()]; found {
			status, message = "True", fmt.Sprintf("%g, at most %g is good", value, *limit)
			if value > *limit {
				status = "False"
			}
		}
		if err := set(ctx, client, &list.Items[i], status, message); err != nil {
			log.Print(err) // The ManifestWork has changed: the next query judges it again.
		}
	}
	return nil
}

// set replaces the condition if its status or generation has changed.
func set(ctx context.Context, client dynamic.Interface, work *unstructured.Unstructured, status, message string) error {
	conditions, _, _ := unstructured.NestedSlice(work.Object, "status", "conditions")
	kept := []any{map[string]any{"type": *conditionType, "status": status, "reason": "Prometheus", "message": message,
		"observedGeneration": work.GetGeneration(), "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}
	for _, condition := range conditions {
		c := condition.(map[string]any)
		if c["type"] != *conditionType {
			kept = append(kept, c)
		} else if c["status"] == status && c["observedGeneration"] == work.GetGeneration() {
			return nil
		}
	}
	_ = unstructured.SetNestedSlice(work.Object, kept, "status", "conditions")
	_, err := client.Resource(works).Namespace(work.GetNamespace()).UpdateStatus(ctx, work, metav1.UpdateOptions{})
	return err
}

// samples returns the value of each cluster.
func samples(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, *prometheus+"/api/v1/query?query="+url.QueryEscape(*query), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	err, values := json.NewDecoder(response.Body).Decode(&answer), map[string]float64{}
	for _, sample := range answer.Data.Result {
		values[sample.Metric["cluster"]], _ = strconv.ParseFloat(fmt.Sprint(sample.Value[1]), 64)
	}
	return values, err
}
