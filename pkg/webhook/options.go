package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/open-cluster-management-io/work-rollback/pkg/serving"
)

// Options are the flags of the webhook server.
type Options struct {
	// Port is the port of the webhooks.
	Port int
	// CertDir holds tls.crt and tls.key. Empty means the directory where the operator mounts them:
	// k8s-webhook-server/serving-certs in the directory for temporary files.
	CertDir string
	// ManifestLimit is the maximum total size of the manifests of one object, in bytes.
	ManifestLimit int
	// OwnerKeyHash is the manager's flag of the same name. It allows long names.
	OwnerKeyHash bool
	// Kubeconfig is the path of the kubeconfig of the hub; empty if the server runs in a Pod of the hub.
	Kubeconfig string
	// HealthPort is the port of /healthz and /readyz, on every address and without TLS. If it is 0 or less, they are
	// not served.
	HealthPort int
	// MetricsPort is the port of /metrics, on every address, with TLS and a token. If it is 0 or less, /metrics is not
	// served.
	MetricsPort int
	// ClientCAFile is the file with the authorities whose certificates clients of the webhooks must present. Empty
	// means client-ca.crt in CertDir. If that does not exist, no certificate is required.
	ClientCAFile string
	// TLS restricts the TLS versions and cipher suites of clients of the webhooks and of /metrics.
	TLS serving.TLS
}

// NewOptions returns the defaults: upstream's, and those of the operator's Deployment and probes.
func NewOptions() *Options {
	return &Options{Port: 9443, ManifestLimit: 500 * 1024, HealthPort: 8000, MetricsPort: 8080}
}

// AddFlags registers the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Port, "port", o.Port, "Port of the webhooks.")
	flags.StringVar(&o.CertDir, "certdir", o.CertDir, "Directory that holds tls.crt and tls.key. If not set, "+
		"{TempDir}/k8s-webhook-server/serving-certs.")
	flags.IntVar(&o.ManifestLimit, "manifestLimit", o.ManifestLimit, "Largest total size, in bytes, of the manifests of one object.")
	flags.BoolVar(&o.OwnerKeyHash, "owner-key-hash", o.OwnerKeyHash,
		"Allow ManifestWorkReplicaSets whose <namespace>.<name> has more than 63 characters: set it if the manager has the flag of this name.")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path of a kubeconfig of the hub. Not needed in a Pod of the hub.")
	flags.IntVar(&o.HealthPort, "health-probe-port", o.HealthPort, "Port of /healthz and /readyz; 0 disables them.")
	flags.IntVar(&o.MetricsPort, "metrics-port", o.MetricsPort, "Port of /metrics, which requires TLS and a token; 0 disables it.")
	flags.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with the certificates of the authorities that sign the API servers' client certificates: "+
			"clients of the webhooks must present one. If not set, client-ca.crt in --certdir; without that file, no certificate is required.")
	o.TLS.AddFlags(flags)
}

// addressOf returns the address of a port in the format of controller-runtime: "0" disables it.
func addressOf(port int) string {
	if port > 0 {
		return fmt.Sprintf(":%d", port)
	}
	return "0"
}

// Validate returns an error that names an invalid flag and its allowed values.
func (o *Options) Validate() error {
	if o.Port < 1 || o.Port > 65535 {
		return fmt.Errorf("--port=%d: use a port between 1 and 65535", o.Port)
	}
	if o.HealthPort > 65535 {
		return fmt.Errorf("--health-probe-port=%d: use a port up to 65535, or 0 for none", o.HealthPort)
	}
	if o.MetricsPort > 65535 {
		return fmt.Errorf("--metrics-port=%d: use a port up to 65535, or 0 for none", o.MetricsPort)
	}
	if _, err := o.TLS.Config(); err != nil {
		return err
	}
	if o.ManifestLimit < 1 {
		return fmt.Errorf("--manifestLimit=%d: use a number of bytes above 0", o.ManifestLimit)
	}
	dir := o.certDir()
	if _, err := tls.LoadX509KeyPair(filepath.Join(dir, certName), filepath.Join(dir, keyName)); err != nil {
		return fmt.Errorf("--certdir=%s: name a directory that holds the %s and %s of the webhook's service: %w", dir, certName, keyName, err)
	}
	_, err := o.clientCAs()
	return err
}

const (
	certName = "tls.crt"
	keyName  = "tls.key"
)

func (o *Options) certDir() string {
	if o.CertDir != "" {
		return o.CertDir
	}
	return filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
}

// clientCAName is the file next to the serving certificate that is used if no flag names one. OCM's operator sets the arguments of its
// Deployment and reverts edits to them, but it keeps a key that a user adds to the Secret of the serving certificate.
const clientCAName = "client-ca.crt"

// clientCAs returns the authorities whose certificates a client of the webhooks must present; nil if no certificate is required.
func (o *Options) clientCAs() (*x509.CertPool, error) {
	path, optional := o.ClientCAFile, false
	if path == "" {
		path, optional = filepath.Join(o.certDir(), clientCAName), true
	}
	content, err := os.ReadFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file=%s: name a file with the certificates of authorities in PEM: %w", path, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("--client-ca-file=%s: the file has no certificate; name a file with the certificates of authorities in PEM", path)
	}
	return pool, nil
}
