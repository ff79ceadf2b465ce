package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openshift/library-go/pkg/crypto"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// The tokens that the hub knows: one with permission to read metrics, one without it, and one that the hub is not allowed to review.
const (
	readersToken   = "reader"
	othersToken    = "other"
	forbiddenToken = "nobody-may-ask"
)

// answerAboutToken answers the two requests of /metrics about a token.
func answerAboutToken(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		review := &authenticationv1.TokenReview{}
		_ = json.NewDecoder(r.Body).Decode(review)
		if review.Spec.Token == forbiddenToken {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
				Reason: metav1.StatusReasonForbidden, Message: `User "work" cannot create resource "tokenreviews"`,
			})
			return true
		}
		review.Status.Authenticated = review.Spec.Token == readersToken || review.Spec.Token == othersToken
		review.Status.User.Username = review.Spec.Token
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
		_ = json.NewEncoder(w).Encode(review)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		review := &authorizationv1.SubjectAccessReview{}
		_ = json.NewDecoder(r.Body).Decode(review)
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == readersToken && asked != nil && asked.Path == "/metrics" && asked.Verb == "get"
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
		_ = json.NewEncoder(w).Encode(review)
	default:
		return false
	}
	return true
}

// readMetrics returns the status code for a token.
func readMetrics(t *testing.T, address, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := anybody.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	return answer.StatusCode
}

// TestMetricsNeedAToken: both commands serve their metrics only over TLS, and only to users with permission to get /metrics.
func TestMetricsNeedAToken(t *testing.T) {
	m := newMachine(t)
	_, manager := m.serveManager(t, "manager-metrics", "manager")
	closed := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError}
	webhook, _, _, metrics := m.serveWebhook(t, "webhook-metrics", "webhook-server")
	for command, address := range map[string]string{"manager": manager, "webhook-server": metrics} {
		t.Run(command, func(t *testing.T) {
			require.Equal(t, http.StatusOK, readMetrics(t, address, readersToken))
			require.Equal(t, http.StatusForbidden, readMetrics(t, address, othersToken))
			// The libraries of the two commands reject requests with different codes.
			require.Contains(t, closed, readMetrics(t, address, "made-up"))
			require.Contains(t, closed, readMetrics(t, address, ""))
			require.Contains(t, closed, readMetrics(t, address, forbiddenToken))
			require.Error(t, isOK(t.Context(), "http://"+address+"/metrics"))
		})
	}
	log := webhook.LogTail(200)
	require.Contains(t, log, `cannot create resource \"tokenreviews\"`, "the missing permission")
	require.Contains(t, log, "system:auth-delegator", "the remedy")
}

// clientAuthority creates a certificate authority, and a client certificate from it.
func clientAuthority(t *testing.T) (ca []byte, client tls.Certificate) {
	t.Helper()
	config, err := crypto.MakeSelfSignedCAConfigForDuration("clients", time.Hour)
	require.NoError(t, err)
	ca, _, err = config.GetPEMBytes()
	require.NoError(t, err)
	authority := &crypto.CA{Config: config, SerialGenerator: &crypto.RandomSerialGenerator{}}
	issued, err := authority.MakeClientCertificateForDuration(&user.DefaultInfo{Name: "kube-apiserver"}, time.Hour)
	require.NoError(t, err)
	certificate, key, err := issued.GetPEMBytes()
	require.NoError(t, err)
	client, err = tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	return ca, client
}

// asks sends a GET without a body to the webhook of works. The answer is 200 if the connection is accepted, although the GET is not a
// review.
func asks(ctx context.Context, address string, certificates ...tls.Certificate) error {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, //nolint:gosec // Who serves is not what this is about.
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/validate-work-open-cluster-management-io-v1-manifestwork", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}

// TestWebhookAsksForACertificate: if the hub has certificate authorities for API servers, from a flag or beside the serving certificate,
// a client without a certificate from them is rejected. The health endpoint does not change.
func TestWebhookAsksForACertificate(t *testing.T) {
	m := newMachine(t)
	ca, client := clientAuthority(t)
	_, stranger := clientAuthority(t)
	_, webhooks, _, _ := m.serveWebhook(t, "webhook-open", "webhook-server")
	require.NoError(t, asks(t.Context(), webhooks))

	byFlag := m.group.Path("authorities.pem")
	require.NoError(t, os.WriteFile(byFlag, ca, 0o600))
	for _, args := range [][]string{{"--client-ca-file=" + byFlag}, nil} {
		if args == nil {
			require.NoError(t, os.WriteFile(filepath.Join(m.certificates, "client-ca.crt"), ca, 0o600))
		}
		_, webhooks, health, _ := m.serveWebhook(t, fmt.Sprintf("webhook-closed-%d", len(args)), append([]string{"webhook-server"}, args...)...)
		require.NoError(t, isOK(t.Context(), "http://"+health+"/healthz"))
		require.NoError(t, asks(t.Context(), webhooks, client))
		require.ErrorContains(t, asks(t.Context(), webhooks), "certificate required")
		require.Error(t, asks(t.Context(), webhooks, stranger))
		serving, err := tls.LoadX509KeyPair(filepath.Join(m.certificates, "tls.crt"), filepath.Join(m.certificates, "tls.key"))
		require.NoError(t, err)
		require.Error(t, asks(t.Context(), webhooks, serving))
	}
}
