package v1alpha1

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/diff"
	upstream "open-cluster-management.io/api/work/v1alpha1"
)

const samples = 200

// filler fills objects as the tests of Kubernetes' own types do. The seeds start at 0; a failure names its seed, so it can be repeated.
func filler(seed int64) interface{ Fill(object any) } {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // For the objects in manifests.
	return fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
}

// TestUpstreamRoundTrip: our types can read and write every value of upstream's types without a loss.
func TestUpstreamRoundTrip(t *testing.T) {
	for seed := range int64(samples) {
		sent, got := &upstream.ManifestWorkReplicaSet{}, &upstream.ManifestWorkReplicaSet{}
		filler(seed).Fill(sent)

		ours := &ManifestWorkReplicaSet{}
		recode(t, sent, ours)
		recode(t, ours, got)
		if !equality.Semantic.DeepEqual(sent, got) {
			t.Fatalf("seed %d, lost on the way (-sent +got):\n%s", seed, diff.Diff(sent, got))
		}
	}
}

// TestRoundTrip: our own fields are also kept, and upstream's types can read the result.
func TestRoundTrip(t *testing.T) {
	for seed := range int64(samples) {
		sent, got := &ManifestWorkReplicaSet{}, &ManifestWorkReplicaSet{}
		filler(seed).Fill(sent)

		recode(t, sent, got)
		if !equality.Semantic.DeepEqual(sent, got) {
			t.Fatalf("seed %d, lost on the way (-sent +got):\n%s", seed, diff.Diff(sent, got))
		}
		if !equality.Semantic.DeepEqual(sent, sent.DeepCopy()) {
			t.Fatalf("seed %d, lost in the deep copy:\n%s", seed, diff.Diff(sent, sent.DeepCopy()))
		}
		if err := json.Unmarshal(marshal(t, sent), &upstream.ManifestWorkReplicaSet{}); err != nil {
			t.Fatalf("seed %d, upstream's type doesn't read it: %v", seed, err)
		}
	}
}

// TestStrategyIsInline pins the only place in which our types wrap upstream's types: JSON must not show it.
func TestStrategyIsInline(t *testing.T) {
	const raw = `{"type":"Progressive","progressive":{"minSuccessTime":"30s","progressDeadline":"10m","maxFailures":"10%",` +
		`"maxConcurrency":2},"failureStrategy":"AbortAll"}`
	strategy := &RolloutStrategy{}
	recode(t, json.RawMessage(raw), strategy)
	if strategy.Progressive == nil || strategy.Progressive.MinSuccessTime.Duration != 30*time.Second || strategy.FailureStrategy != AbortAll {
		t.Fatalf("read as %+v", strategy)
	}
	require.Equal(t, raw, string(marshal(t, strategy)), "written in another way")
}

// recode writes from as JSON, and reads it into to, which must have every field of from.
func recode(t *testing.T, from, to any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(marshal(t, from)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, obj any) []byte {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
