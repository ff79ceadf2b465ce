package sandbox

import (
	"context"
	"fmt"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/client-go/rest"
	placement "open-cluster-management.io/ocm/pkg/placement/controllers"
)

// StartPlacement runs OCM's placement controller inside this process until stop is called.
func StartPlacement(hub *rest.Config) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- placement.RunControllerManager(ctx, &controllercmd.ControllerContext{KubeConfig: rest.CopyConfig(hub)})
	}()
	return func() error {
		cancel()
		if err := <-done; err != nil {
			return fmt.Errorf("running the placement controller: %w", err)
		}
		return nil
	}
}
