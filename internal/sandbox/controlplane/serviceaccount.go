package controlplane

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// ServiceAccountConfig returns a client configuration with a token of a ServiceAccount, so RBAC determines its permissions. The token is
// valid for as long as the server's certificates, because no kubelet renews it.
func (s *APIServer) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(s.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", s.Name, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(lifetime.Seconds()))}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking %s for a token of the ServiceAccount %s/%s: %w", s.Name, namespace, name, err)
	}
	return &rest.Config{
		Host:            s.Host(),
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem},
		BearerToken:     answer.Status.Token,
		QPS:             -1,
	}, nil
}
