package plugin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// dialTimeout limits the wait for the webhook's server. A user outside the hub can't reach it.
const dialTimeout = 3 * time.Second

// webhook checks that the validating webhook is registered, and that its certificate authorities are valid. Without the webhook, the
// admission policies of deploy/ suffice. Their binding has the name of the CRD.
func (d *doctor) webhook(ctx context.Context) ([]diagnosis, error) {
	const check = "webhook"
	list, err := d.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return unreadable(check, "list validatingwebhookconfigurations", err)
	}
	for i := range list.Items {
		for j := range list.Items[i].Webhooks {
			if hook := &list.Items[i].Webhooks[j]; covers(hook) {
				return d.certificates(ctx, hook), nil
			}
		}
	}
	bindings := d.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if _, err := bindings.Get(ctx, mwrsCRD, metav1.GetOptions{}); err == nil {
		return one(checkOK, check,
			"the admission policies of deploy/ check ManifestWorkReplicaSets; the optional webhook is not registered", ""), nil
	}
	return one(checkWarn, check, "no validating webhook checks ManifestWorkReplicaSets", "register it as docs/webhook.md describes"), nil
}

// covers reports whether a webhook checks ManifestWorkReplicaSets.
func covers(hook *admissionv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(hook.Rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, workv1alpha1.GroupName) && slices.Contains(rule.Resources, "manifestworkreplicasets")
	})
}

// certificates checks the CA bundle of a webhook, and the serving certificate if the server is reachable.
func (d *doctor) certificates(ctx context.Context, hook *admissionv1.ValidatingWebhook) []diagnosis {
	const check = "webhook"
	const remedy = "restart the operator, which writes the CA bundle of ManifestWorks' webhook, " +
		"and apply deploy/webhooks, so that the hub copies it (docs/webhook.md)"
	pool, until, err := authorities(hook.ClientConfig.CABundle, d.now())
	if err != nil {
		return one(checkFail, check, "the CA bundle of "+hook.Name+" is not valid: "+err.Error(), remedy)
	}
	text := fmt.Sprintf("%s is registered, and its CA bundle is valid until %s", hook.Name, until.UTC().Format(time.RFC3339))
	address, server, err := addressOf(&hook.ClientConfig)
	if err != nil {
		return one(checkFail, check, hook.Name+": "+err.Error(), remedy)
	}
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: dialTimeout},
		Config:    &tls.Config{RootCAs: pool, ServerName: server, MinVersion: tls.VersionTLS12, Time: d.now},
	}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	var invalid *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid):
		return one(checkFail, check, "the CA bundle of "+hook.Name+" does not verify the serving certificate: "+invalid.Error(), remedy)
	case err != nil:
		text += "; the server was not reachable from here, so its certificate was not checked"
	default:
		_ = connection.Close()
		text += " and verifies the serving certificate"
	}
	return one(checkOK, check, text, "")
}

// authorities returns the certificates of a CA bundle that are valid now, and the time until which one of them is.
func authorities(bundle []byte, now time.Time) (pool *x509.CertPool, until time.Time, err error) {
	pool, expired := x509.NewCertPool(), 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, time.Time{}, err
		}
		if now.After(certificate.NotAfter) || now.Before(certificate.NotBefore) {
			expired++
			continue
		}
		pool.AddCert(certificate)
		if certificate.NotAfter.After(until) {
			until = certificate.NotAfter
		}
	}
	switch {
	case !until.IsZero():
		return pool, until, nil
	case expired > 0:
		return nil, until, fmt.Errorf("%d of %d certificates have expired or are not valid yet", expired, expired)
	}
	return nil, until, errors.New("it has no certificate in PEM format")
}

// addressOf returns the address of the webhook's server and the name in its certificate.
func addressOf(config *admissionv1.WebhookClientConfig) (address, server string, err error) {
	if config.URL != nil {
		target, err := url.Parse(*config.URL)
		if err != nil {
			return "", "", fmt.Errorf("its URL is not valid: %w", err)
		}
		port := target.Port()
		if port == "" {
			port = "443"
		}
		return net.JoinHostPort(target.Hostname(), port), target.Hostname(), nil
	}
	if config.Service == nil {
		return "", "", errors.New("it names neither a URL nor a Service")
	}
	server = config.Service.Name + "." + config.Service.Namespace + ".svc"
	return net.JoinHostPort(server, strconv.Itoa(int(ptr.Deref(config.Service.Port, 443)))), server, nil
}
