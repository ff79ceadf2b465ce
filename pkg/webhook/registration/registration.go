// Package registration keeps the registration of the webhook for ManifestWorkReplicaSets current. OCM's operator
// registers the webhook for ManifestWorks, and keeps the CA and the address in that registration current, in Hosted
// mode too. The same server serves both webhooks, so this package copies the CA and the address whenever the operator
// changes them.
package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

const (
	// Theirs is the name of the ValidatingWebhookConfiguration that OCM's operator maintains.
	Theirs = "manifestworkvalidators.admission.work.open-cluster-management.io"
	// Ours is the name of the ValidatingWebhookConfiguration in deploy/webhooks.
	Ours = "manifestworkreplicasetvalidators.admission.work.open-cluster-management.io"

	// Path is the path of our webhook on the server of their webhook.
	Path = "/validate-work-open-cluster-management-io-v1alpha1-manifestworkreplicaset"

	interval = time.Minute
	// patience limits the duration of the requests of one check.
	patience = 30 * time.Second
)

// Keeper keeps Ours in sync with Theirs.
type Keeper struct {
	Client kubernetes.Interface
}

// Run checks once a minute until the context ends. A problem is logged when it begins or changes.
func (k *Keeper) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName("webhook-registration")
	said := ""
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		changed, err := k.Once(ctx)
		switch {
		case changed:
			logger.Info("Copied the address and the CA of OCM's webhook", "from", Theirs, "to", Ours)
			said = ""
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			logger.Info("The address and the CA of the webhook of ManifestWorkReplicaSets can't be updated; retrying every minute", "err", err)
		}
	}, interval, 0.1, true)
}

// Once copies the address and the CA if they differ, and reports whether it changed them. It does nothing if Ours is
// not registered, or if the hub may not write it.
func (k *Keeper) Once(ctx context.Context) (changed bool, err error) {
	may, err := k.mayPatch(ctx)
	if err != nil || !may {
		return false, err
	}
	configurations := k.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	ours, err := configurations.Get(ctx, Ours, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", Ours, err)
	}
	theirs, err := configurations.Get(ctx, Theirs, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("reading %s, which OCM's operator creates: %w", Theirs, err)
	}
	patch, err := Follow(theirs, ours)
	if err != nil || patch == nil {
		return false, err
	}
	if _, err := configurations.Patch(ctx, Ours, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		return false, fmt.Errorf("writing %s: %w", Ours, err)
	}
	return true, nil
}

// mayPatch reports whether the hub may write Ours. Without the rights of deploy/webhooks, the hub then does not send requests that would be
// rejected.
func (k *Keeper) mayPatch(ctx context.Context) (bool, error) {
	review, err := k.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: admissionregistrationv1.GroupName, Resource: "validatingwebhookconfigurations", Name: Ours, Verb: "patch",
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking whether %s may be written: %w", Ours, err)
	}
	return review.Status.Allowed, nil
}

// Follow returns the JSON patch that copies the address and the CA of theirs to ours; nil if ours already has them.
func Follow(theirs, ours *admissionregistrationv1.ValidatingWebhookConfiguration) ([]byte, error) {
	if len(theirs.Webhooks) == 0 || len(ours.Webhooks) != 1 {
		return nil, fmt.Errorf("%s has %d webhooks and %s has %d: exactly one is expected in the latter, apply deploy/webhooks again",
			theirs.Name, len(theirs.Webhooks), ours.Name, len(ours.Webhooks))
	}
	wanted := theirs.Webhooks[0].ClientConfig.DeepCopy()
	if len(wanted.CABundle) == 0 {
		return nil, errors.New(theirs.Name + " has no CA yet")
	}
	if wanted.Service != nil {
		wanted.Service.Path = ptr.To(Path)
	}
	if wanted.URL != nil {
		address, err := url.Parse(*wanted.URL)
		if err != nil {
			return nil, fmt.Errorf("the URL of %s: %w", Theirs, err)
		}
		address.Path = Path
		wanted.URL = ptr.To(address.String())
	}
	if equality.Semantic.DeepEqual(*wanted, ours.Webhooks[0].ClientConfig) {
		return nil, nil
	}
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": ours.ResourceVersion},
		{"op": "replace", "path": "/webhooks/0/clientConfig", "value": wanted},
	})
}
