package plugin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/cert"

	"github.com/open-cluster-management-io/work-rollback/deploy"
)

// TestHubRights: the doctor checks every permission that deploy/ grants to the hub. The user roles have no bindings.
func TestHubRights(t *testing.T) {
	objects, err := deploy.Render()
	require.NoError(t, err)
	var granted []right
	for _, object := range objects {
		kind := object.GetKind()
		if kind != "ClusterRole" && kind != "Role" || strings.HasPrefix(object.GetName(), "mwrs-") {
			continue
		}
		var role rbacv1.Role
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		for _, rule := range role.Rules {
			r := right{group: rule.APIGroups[0], resource: rule.Resources[0], hubOnly: kind == "Role", verbs: rule.Verbs}
			if len(rule.ResourceNames) > 0 {
				r.name = rule.ResourceNames[0]
			}
			granted = append(granted, r)
		}
	}
	require.ElementsMatch(t, granted, hubRights)
}

// TestReleases: the doctor's list matches the table of docs/upgrade.md.
func TestReleases(t *testing.T) {
	page, err := os.ReadFile("../../../docs/upgrade.md")
	require.NoError(t, err)
	for _, release := range releases {
		require.Contains(t, string(page), "\n| "+release+" |")
	}
}

// TestUnrecorded: a development build of the plugin accepts a hub that has not recorded its version.
func TestUnrecorded(t *testing.T) {
	for plugin, want := range map[string]string{"v0.0.0-master+$Format:%H$": checkOK, "v1.2.3": checkWarn} {
		d := &doctor{}
		d.unrecorded(plugin)
		require.Equal(t, want, d.found[0].Result)
	}
}

// TestMissingFields: a missing field is named once, even inside lists and maps.
func TestMissingFields(t *testing.T) {
	field := func(name string, schema map[string]any) map[string]any {
		return map[string]any{"properties": map[string]any{name: schema}}
	}
	shipped := field("spec", field("refs", map[string]any{"items": field("name", map[string]any{})}))
	require.Empty(t, missingFields("", shipped, shipped))
	require.Equal(t, []string{"spec"}, missingFields("", shipped, nil))
	require.Equal(t, []string{"spec.refs[].name"},
		missingFields("", shipped, field("spec", field("refs", map[string]any{"items": map[string]any{}}))))
	require.Empty(t, missingFields("", shipped, map[string]any{"x-kubernetes-preserve-unknown-fields": true}))
}

// TestValidUntil: a bundle is valid for as long as any of its certificates.
func TestValidUntil(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	valid := func(from, until time.Duration) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(from), NotAfter: now.Add(until)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
	}
	expired, early := valid(-2*time.Hour, -time.Hour), valid(time.Hour, 9*time.Hour)
	for want, bundle := range map[string][]byte{
		"1 of 1 certificates have expired or are not valid yet": expired,
		"2 of 2 certificates have expired or are not valid yet": slices.Concat(early, expired),
		"does not contain any valid":                            nil,
		"malformed certificate":                                 []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
	} {
		_, err := validUntil(bundle, now)
		require.ErrorContains(t, err, want)
	}
	until, err := validUntil(slices.Concat(expired, valid(-time.Hour, 2*time.Hour), valid(0, time.Hour), early), now)
	require.NoError(t, err)
	require.Equal(t, now.Add(2*time.Hour), until)
}

// TestRemedyForACertificate: the remedy fits the owner of the webhook.
func TestRemedyForACertificate(t *testing.T) {
	remedy := func(service string) string {
		hook := &admissionv1.ValidatingWebhook{}
		if service != "" {
			hook.ClientConfig.Service = &admissionv1.ServiceReference{Name: service}
		}
		d := &doctor{options: &options{now: time.Now}}
		d.certificates(hook)
		require.Equal(t, checkFail, d.found[0].Result)
		return d.found[0].Remedy
	}
	const values = "helm upgrade work-rollback deploy/chart --reset-then-reuse-values"
	require.Contains(t, remedy("work-rollback-webhook"), values)
	require.NotContains(t, remedy("work-rollback-webhook"), "deploy/webhooks")
	for _, service := range []string{"cluster-manager-work-webhook", ""} {
		require.Contains(t, remedy(service), "apply deploy/webhooks")
		require.NotContains(t, remedy(service), values)
	}
}

// TestUnled: without a Lease, only the specs that were processed show that a hub runs. It must have processed all of them.
func TestUnled(t *testing.T) {
	for _, c := range []struct {
		n      int
		behind []string
		result string
		part   string
	}{
		{0, nil, checkFail, "no work controller has led in namespace hub"},
		{2, []string{"default/a", "default/b"}, checkFail, "no work controller has led"},
		{2, []string{"default/b"}, checkFail, "the newest spec of 1 of 2 ManifestWorkReplicaSets: default/b"},
		{2, nil, checkWarn, "it runs, or ran, without leader election"},
	} {
		d := &doctor{hub: "hub"}
		d.unled(survey{n: c.n, behind: c.behind})
		require.Equal(t, c.result, d.found[0].Result)
		require.Contains(t, d.found[0].Message, c.part)
	}
}
