// Package manager runs hub controllers inside the process of a test: OCM's controllers, or this project's.
package manager

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/client-go/rest"
	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/features"
	upstreamhub "open-cluster-management.io/ocm/pkg/work/hub"
)

// EnableReplicaSets enables OCM's feature gate of ManifestWorkReplicaSets for the whole process. It works once per process.
func EnableReplicaSets() error {
	if err := features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubWorkFeatureGates); err != nil {
		return err
	}
	return features.HubMutableFeatureGate.Set(string(ocmfeature.ManifestWorkReplicaSet) + "=true")
}

// Upstream runs the work hub that this project replaces: the work hub of the linked OCM release. It requires EnableReplicaSets.
func Upstream(ctx context.Context, controllers *controllercmd.ControllerContext) error {
	return upstreamhub.NewWorkHubManagerConfig(upstreamhub.NewWorkHubManagerOptions()).RunWorkHubManager(ctx, controllers)
}

// Start runs a manager until stop is called or ctx ends. stop waits until the manager has ended, and returns its error. Controllers outlive
// their manager for a moment, but none of their requests reach the API server after stop. Another call of stop has no effect.
func Start(ctx context.Context, config *rest.Config, run controllercmd.StartFunc) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	config = rest.CopyConfig(config)
	var stopped atomic.Bool
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(request *http.Request) (*http.Response, error) {
			if stopped.Load() {
				return nil, errors.New("this manager was stopped")
			}
			return inner.RoundTrip(request)
		})
	})
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = run(ctx, &controllercmd.ControllerContext{KubeConfig: config})
	}()
	return func() error {
		stopped.Store(true)
		cancel()
		<-done
		return err
	}
}

// RoundTripper is a function that sends requests.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
