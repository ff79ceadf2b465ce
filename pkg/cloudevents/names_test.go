package cloudevents

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hostile are names that no cluster can have. Some of them are wildcards or levels of an MQTT topic.
var hostile = []string{"a+0", "+", "#", "a/b", "..", "a%2fb", "c1\x00", "\xff", "C1", "$SYS", strings.Repeat("a", 64<<10)}

// Nothing is sent to a name that no cluster can have: a broker ends the connection of a client that publishes to a wildcard.
func TestNothingIsSentToAMadeUpName(t *testing.T) {
	r := newRig(t, nil)
	before := r.wire.said()
	for _, name := range hostile {
		work := owned(name, "v1")
		_, err := r.cluster(name).Create(t.Context(), work, metav1.CreateOptions{})
		require.True(t, apierrors.IsBadRequest(err), "%.100q: %v", name, err)
		require.Less(t, len(err.Error()), 500)
		require.Error(t, r.link.ask(t.Context(), name), "%.100q", name)
	}
	require.Equal(t, before, r.wire.said())
	r.create(owned("c1", "v1"))
}

// Over gRPC, an event has no topic: one that names a cluster that cannot exist is dropped before anything is kept for that name.
func TestMadeUpNameIsNotHeard(t *testing.T) {
	r := newRig(t, nil)
	for i, name := range hostile {
		r.arrived(context.WithoutCancel(t.Context()), question(t, name))
		require.Equal(t, i+1, r.refusals.of(RefusedCluster), "%.100q", name)
		_, heard := r.HeardSince(name)
		require.False(t, heard)
	}
	require.Empty(t, r.store.clusters)
	require.Equal(t, 0, r.refusals.counted(fmt.Sprint("received ", ReceivedQuestion)))
}
