package webhook

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSlowConnectionsKeepNobodyOut: 100 connections from the API server's address that send only a part of a request do not delay its
// reviews.
func TestSlowConnectionsKeepNobodyOut(t *testing.T) {
	c := as(t, hub.config, namespace(t, usual))
	c.dryRun = []string{metav1.DryRunAll}
	configurations, err := hub.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range configurations.Items {
		address := configurations.Items[i].Webhooks[0].ClientConfig.URL
		if !strings.Contains(configurations.Items[i].Name, "validators-"+usual) || address == nil {
			continue
		}
		at, err := url.Parse(*address)
		require.NoError(t, err)
		for range 100 {
			conn, err := tls.Dial("tcp", at.Host, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // nothing is said that matters
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\nhalf", at.Path)
			require.NoError(t, err)
		}
	}
	var reviews errgroup.Group
	for i := range 20 {
		object := replicaSet(t)
		object.SetName(fmt.Sprintf("slow-%d", i))
		reviews.Go(func() error {
			_, err := c.create(replicaSetResource, object)
			return err
		})
	}
	require.NoError(t, reviews.Wait())
}
