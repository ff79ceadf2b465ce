package cloudevents

import (
	"k8s.io/client-go/rest"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
)

// clientset has ManifestWorks and nothing else.
type clientset struct {
	workclientset.Interface
	workv1client.AppliedManifestWorksGetter
	driver *Driver
}

// IsWatchListSemanticsUnSupported makes an informer list first, and watch then.
func (c *clientset) IsWatchListSemanticsUnSupported() bool { return true }

// WorkV1 implements workclientset.Interface.
func (c *clientset) WorkV1() workv1client.WorkV1Interface { return c }

// ManifestWorks implements workv1client.ManifestWorksGetter.
func (c *clientset) ManifestWorks(namespace string) workv1client.ManifestWorkInterface {
	return &client{driver: c.driver, namespace: namespace}
}

// RESTClient implements workv1client.WorkV1Interface.
func (c *clientset) RESTClient() rest.Interface { return nil }
