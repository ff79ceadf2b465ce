package cloudevents

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// Selection reports whether an owner selects a cluster.
type Selection int

const (
	// SelectionUnknown means that a Placement is missing, or has not made all of its decisions (R8).
	SelectionUnknown Selection = iota
	// Unselected means that no Placement of the owner has decided for the cluster.
	Unselected
	// Selected means that one has.
	Selected
)

// selections knows which clusters Placements select.
type selections struct {
	placements, decisions dynamic.NamespaceableResourceInterface
	clock                 clock.PassiveClock

	mu   sync.Mutex
	seen map[string]readPlacement
}

type readPlacement struct {
	at       time.Time
	clusters map[string]bool
	// settled says that the decisions that were read are all that the Placement made.
	settled bool
}

func newSelections(client dynamic.Interface, clk clock.PassiveClock) *selections {
	resource := func(name string) dynamic.NamespaceableResourceInterface {
		return client.Resource(clusterv1beta1.Resource(name).WithVersion(clusterv1beta1.GroupVersion.Version))
	}
	return &selections{
		placements: resource("placements"), decisions: resource("placementdecisions"),
		clock: clk, seen: map[string]readPlacement{},
	}
}

// of reports whether one of some Placements selects a cluster.
func (s *selections) of(ctx context.Context, namespace string, placements []string, cluster string) (Selection, error) {
	found := Unselected
	for _, name := range placements {
		placement, err := s.read(ctx, namespace, name)
		switch {
		case err != nil:
			return SelectionUnknown, err
		case placement.clusters[cluster]:
			return Selected, nil
		case !placement.settled:
			found = SelectionUnknown
		}
	}
	return found, nil
}

func (s *selections) read(ctx context.Context, namespace, name string) (readPlacement, error) {
	key := namespace + "/" + name
	s.mu.Lock()
	seen, known := s.seen[key]
	s.mu.Unlock()
	if known && s.clock.Since(seen.at) < ownerFreshness {
		return seen, nil
	}
	read, err := s.get(ctx, namespace, name)
	if err != nil {
		return readPlacement{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[key] = read
	return read, nil
}

func (s *selections) get(ctx context.Context, namespace, name string) (readPlacement, error) {
	read := readPlacement{at: s.clock.Now(), clusters: map[string]bool{}}
	placement, err := s.placements.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return read, nil
	}
	if err != nil {
		return read, fmt.Errorf("asking for Placement %s/%s: %w", namespace, name, err)
	}
	selector := labels.Set{clusterv1beta1.PlacementLabel: name}.String()
	list, err := s.decisions.Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return read, fmt.Errorf("asking for the decisions of Placement %s/%s: %w", namespace, name, err)
	}
	for i := range list.Items {
		decisions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "decisions")
		for _, decision := range decisions {
			fields, _ := decision.(map[string]any)
			if cluster, _, _ := unstructured.NestedString(fields, "clusterName"); cluster != "" {
				read.clusters[cluster] = true
			}
		}
	}
	selected, _, _ := unstructured.NestedInt64(placement.Object, "status", "numberOfSelectedClusters")
	read.settled = len(list.Items) > 0 && int(selected) == len(read.clusters)
	return read, nil
}
