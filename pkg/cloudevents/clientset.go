package cloudevents

import (
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1alpha1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1alpha1"
)

// clientset has ManifestWorks and nothing else.
type clientset struct{ driver *Driver }

var (
	_ workclientset.Interface      = &clientset{}
	_ workv1client.WorkV1Interface = &clientset{}
)

// IsWatchListSemanticsUnSupported makes an informer list first, and watch then.
func (c *clientset) IsWatchListSemanticsUnSupported() bool { return true }

// WorkV1 implements workclientset.Interface.
func (c *clientset) WorkV1() workv1client.WorkV1Interface { return c }

// ManifestWorks implements workv1client.ManifestWorksGetter.
func (c *clientset) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	return &client{driver: c.driver, namespace: namespace}
}

// Discovery is nil: no broker can be discovered.
func (c *clientset) Discovery() discovery.DiscoveryInterface { return nil }

// WorkV1alpha1 is nil: ManifestWorkReplicaSets stay in the API server.
func (c *clientset) WorkV1alpha1() workv1alpha1client.WorkV1alpha1Interface { return nil }

// RESTClient is nil: there is none.
func (c *clientset) RESTClient() rest.Interface { return nil }

// AppliedManifestWorks is nil: they are the agents'.
func (c *clientset) AppliedManifestWorks() workv1client.AppliedManifestWorkInterface { return nil }
