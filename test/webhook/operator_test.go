package webhook

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/webhooks"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
)

const hubNamespace = "open-cluster-management-hub"

// operators renders one of the manifests that the ClusterManager operator applies.
func operators(file string, into any) error { return ocm.Render(file, ocm.Defaults(), into) }

// operatorsArguments returns the arguments of the Deployment, without the binary.
func operatorsArguments(gates string) ([]string, error) {
	values := ocm.Defaults()
	values["WorkFeatureGates"] = []string{"--feature-gates=" + gates}
	args, err := ocm.Arguments(ocm.WebhookDeployment, values)
	if err != nil {
		return nil, err
	}
	return args[1:], nil
}

func grantTheOperatorsRights(ctx context.Context) error {
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	if err := operators("hub/work/webhook-clusterrole.yaml", role); err != nil {
		return err
	}
	if err := operators("hub/work/webhook-clusterrolebinding.yaml", binding); err != nil {
		return err
	}
	if _, err := hub.kube.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := hub.kube.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}

// serviceAccountKubeconfig returns a kubeconfig for the operator's ServiceAccount.
func serviceAccountKubeconfig(name string) (string, error) {
	config, err := hub.plane.UserConfig("system:serviceaccount:"+hubNamespace+":work-webhook-sa",
		"system:serviceaccounts", "system:serviceaccounts:"+hubNamespace)
	if err != nil {
		return "", err
	}
	path := hub.env.Group.Path("webhook-" + name + ".kubeconfig")
	return path, controlplane.WriteKubeconfig(path, name, config)
}

type certificate struct {
	dir string
	ca  []byte
}

func writeCertificate(name string) (certificate, error) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return certificate{}, err
	}
	dir := hub.env.Group.Path("webhook-"+name, "serving-certs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return certificate{}, err
	}
	for file, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return certificate{}, err
		}
	}
	return certificate{dir: dir, ca: cert}, nil
}

// registerServer creates the operator's configuration and this project's, for the namespaces that a server checks. Services are not
// resolved here, so the paths are called at the server's own address.
func registerServer(ctx context.Context, name, address string, ca []byte) error {
	theirs, ours := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := operators("hub/work/webhook-validatingconfiguration.yaml", theirs); err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(webhooks.ReplicaSets, ours); err != nil {
		return err
	}
	hub.servers[name] = admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: ca}
	for _, configuration := range []*admissionregistrationv1.ValidatingWebhookConfiguration{theirs, ours} {
		configuration.Name = strings.Replace(configuration.Name, "validators", "validators-"+name, 1)
		webhook := &configuration.Webhooks[0]
		url := address + *webhook.ClientConfig.Service.Path
		webhook.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
		webhook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{lookedAtBy: name}}
		_, err := hub.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("registering %s: %w", configuration.Name, err)
		}
	}
	return nil
}
