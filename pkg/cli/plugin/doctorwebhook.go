package plugin

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// webhook checks that the validating webhook is registered, and that its certificate authorities are valid. Without the webhook, the
// admission policies of deploy/ suffice. Their binding has the name of the CRD.
func (d *doctor) webhook(ctx context.Context) error {
	d.begins("webhook", "list validatingwebhookconfigurations")
	list, err := d.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		for j := range list.Items[i].Webhooks {
			if hook := &list.Items[i].Webhooks[j]; covers(hook) {
				d.certificates(hook)
				return nil
			}
		}
	}
	bindings := d.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if _, err := bindings.Get(ctx, mwrsCRD, metav1.GetOptions{}); err == nil {
		d.ok("the admission policies of deploy/ check ManifestWorkReplicaSets; the optional webhook is not registered")
		return nil
	}
	d.warn("register it as docs/webhook.md describes", "no validating webhook checks ManifestWorkReplicaSets")
	return nil
}

// covers reports whether a webhook checks ManifestWorkReplicaSets.
func covers(hook *admissionv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(hook.Rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, workv1alpha1.GroupName) && slices.Contains(rule.Resources, "manifestworkreplicasets")
	})
}

// certificates checks the CA bundle of a webhook.
func (d *doctor) certificates(hook *admissionv1.ValidatingWebhook) {
	until, err := validUntil(hook.ClientConfig.CABundle, d.now())
	if err == nil {
		d.ok("%s is registered, and its CA bundle is valid until %s", hook.Name, until.UTC().Format(time.RFC3339))
		return
	}
	remedy := "restart the operator, which writes the CA bundle of ManifestWorks' webhook, and apply deploy/webhooks, so that the hub " +
		"copies it (docs/webhook.md)"
	if service := hook.ClientConfig.Service; service != nil && service.Name == besideOCM+"-webhook" {
		remedy = "delete the Secret " + service.Name + ", if the chart created it, and run " + applyChart
	}
	d.fail(remedy, "the CA bundle of %s is not valid: %v", hook.Name, err)
}

// validUntil returns the time until which a CA bundle has a valid certificate.
func validUntil(bundle []byte, now time.Time) (until time.Time, err error) {
	certificates, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return until, err
	}
	for _, c := range certificates {
		if !now.Before(c.NotBefore) && !now.After(c.NotAfter) && c.NotAfter.After(until) {
			until = c.NotAfter
		}
	}
	if until.IsZero() {
		return until, fmt.Errorf("%d of %d certificates have expired or are not valid yet", len(certificates), len(certificates))
	}
	return until, nil
}
