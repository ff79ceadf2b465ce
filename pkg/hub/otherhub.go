package hub

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// otherInterval is the interval at which the hub checks for another hub.
const otherInterval = 5 * time.Minute

// hubAccounts are the ServiceAccounts of the hubs that OCM's operator and deploy/chart run. The operator deletes its account if the gates
// are off.
var hubAccounts = []string{"work-controller-sa", "work-rollback"}

// otherHub detects whether OCM's operator and deploy/chart both run a hub. The Lease allows only one active hub, but
// that may later be OCM's.
type otherHub struct {
	client    kubernetes.Interface
	namespace string
	note      atomic.Pointer[string]
}

// text returns the problem, with the remedy; empty if no problem is known.
func (o *otherHub) text() string {
	if note := o.note.Load(); note != nil {
		return *note
	}
	return ""
}

// watch checks for another hub until the context ends.
func (o *otherHub) watch(ctx context.Context) { wait.UntilWithContext(ctx, o.look, otherInterval) }

// look checks for the ServiceAccounts of both hubs. Without the permission to get them, nothing is known. After any
// other error, the last result is kept.
func (o *otherHub) look(ctx context.Context) {
	note := ""
	for _, name := range hubAccounts {
		_, err := o.client.CoreV1().ServiceAccounts(o.namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			o.note.Store(&note)
			return
		}
		if err != nil {
			klog.FromContext(ctx).V(4).Info("Can't tell whether another hub is installed", "err", err)
			return
		}
	}
	note = fmt.Sprintf("OCM's operator and deploy/chart both run a work hub in namespace %s, and OCM's hub rolls out aborted templates if it "+
		"gets the Lease. Disable the feature gates ManifestWorkReplicaSet and CleanUpCompletedManifestWork in the ClusterManager, "+
		"or uninstall the chart", o.namespace)
	if o.text() == "" {
		klog.FromContext(ctx).Info("Two hubs are installed", "problem", note)
	}
	o.note.Store(&note)
}
