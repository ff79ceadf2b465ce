package webhook

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// clientCAName is the file next to the serving certificate that is used if no flag names one. OCM's operator writes the arguments of its
// Deployment and takes back what is edited there, but it keeps a key that somebody adds to the Secret of the serving certificate.
const clientCAName = "client-ca.crt"

// clientCAs returns the authorities whose certificates a client of the webhooks must present; nil if it need not present one.
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
		return nil, fmt.Errorf("--client-ca-file=%s: no certificate is in it, name a file with the certificates of authorities in PEM", path)
	}
	return pool, nil
}
