package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	operatorclient "open-cluster-management.io/api/client/operator/clientset/versioned"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	"open-cluster-management.io/ocm/pkg/operator/operators/clustermanager"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
)

const (
	// OperatorNamespace is the namespace in which OCM runs its operator.
	OperatorNamespace = "open-cluster-management"
	// ClusterManagerName is the name that `clusteradm init` uses.
	ClusterManagerName = "cluster-manager"
	// WorkController is the Deployment that the operator creates for the work hub.
	WorkController = ClusterManagerName + "-work-controller"
)

// Operator is OCM's ClusterManager operator. It runs inside this process.
type Operator struct {
	client operatorclient.Interface
	cancel context.CancelFunc
	done   chan error
}

// StartOperator sets up a hub as `clusteradm init` does: it installs the operator's CRD, runs the operator, and creates a ClusterManager.
// It returns once the operator's objects exist: CRDs, RBAC and Deployments, which do not run here.
func StartOperator(ctx context.Context, hub *rest.Config) (*Operator, error) {
	client, err := operatorclient.NewForConfig(hub)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the hub: %w", err)
	}
	definition, err := controlplane.ClusterManagerCRD(ctx)
	if err != nil {
		return nil, err
	}
	if err := controlplane.InstallCRDs(ctx, hub, definition); err != nil {
		return nil, err
	}
	fleet, err := NewFleet(hub)
	if err != nil {
		return nil, err
	}
	for _, namespace := range []string{OperatorNamespace, HubNamespace} {
		if err := fleet.Namespace(ctx, namespace); err != nil {
			return nil, err
		}
	}
	manager := &operatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: ClusterManagerName}}
	_, err = client.OperatorV1().ClusterManagers().Create(ctx, manager, metav1.CreateOptions{})
	if err := created("ClusterManager", ClusterManagerName, err); err != nil {
		return nil, err
	}
	o := &Operator{client: client, done: make(chan error, 1)}
	o.run(hub)
	if err := o.WaitApplied(ctx); err != nil {
		_ = o.Stop()
		return nil, err
	}
	return o, nil
}

func (o *Operator) run(hub *rest.Config) {
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	// If the number of replicas is not set, the operator counts the nodes of the hub, but the hub has no nodes.
	options := &clustermanager.Options{DeploymentReplicas: 1}
	go func() {
		o.done <- options.RunClusterManagerOperator(ctx, &controllercmd.ControllerContext{
			KubeConfig: rest.CopyConfig(hub), OperatorNamespace: OperatorNamespace,
		})
	}()
}

// WaitApplied waits until the operator has applied everything for the current ClusterManager.
func (o *Operator) WaitApplied(ctx context.Context) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		manager, err := o.client.OperatorV1().ClusterManagers().Get(ctx, ClusterManagerName, metav1.GetOptions{})
		if err != nil {
			last = err.Error()
			return false, nil
		}
		applied := meta.FindStatusCondition(manager.Status.Conditions, operatorv1.ConditionClusterManagerApplied)
		if applied == nil {
			last = "it has no condition " + operatorv1.ConditionClusterManagerApplied
			return false, nil
		}
		last = fmt.Sprintf("generation %d of %d is observed, %s", manager.Status.ObservedGeneration, manager.Generation, applied.Message)
		return manager.Status.ObservedGeneration == manager.Generation && applied.Status == metav1.ConditionTrue, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the operator has applied the ClusterManager: %w (%s)", err, last)
	}
	return nil
}

// Change edits the ClusterManager, as a user with kubectl does.
func (o *Operator) Change(ctx context.Context, mutate func(*operatorv1.ClusterManagerSpec)) error {
	api := o.client.OperatorV1().ClusterManagers()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		manager, err := api.Get(ctx, ClusterManagerName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		mutate(&manager.Spec)
		_, err = api.Update(ctx, manager, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing the ClusterManager: %w", err)
	}
	return nil
}

// Stop ends the operator. The objects that it created stay.
func (o *Operator) Stop() error {
	o.cancel()
	if err := <-o.done; err != nil {
		return fmt.Errorf("running the ClusterManager operator: %w", err)
	}
	return nil
}
