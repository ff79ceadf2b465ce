package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/openshift/library-go/pkg/crypto"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/keyutil"
)

// lifetime is the lifetime of the certificates. A sandbox that runs for longer must be restarted.
const lifetime = 30 * 24 * time.Hour

// The files of an API server.
const (
	caFile          = "ca.crt"
	servingCertFile = "serving.crt"
	servingKeyFile  = "serving.key"
	tokenKeyFile    = "tokens.key"
)

// authority signs the certificates of one API server and of its clients.
type authority struct {
	ca  *crypto.CA
	pem []byte
}

// keyPair is a certificate and its key in PEM.
type keyPair struct {
	cert, key []byte
}

// client returns a certificate with which an API server identifies a user and its groups.
func (a *authority) client(name string, groups ...string) (keyPair, error) {
	config, err := a.ca.MakeClientCertificateForDuration(&user.DefaultInfo{Name: name, Groups: groups}, lifetime)
	if err != nil {
		return keyPair{}, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	cert, key, err := config.GetPEMBytes()
	if err != nil {
		return keyPair{}, fmt.Errorf("encoding the certificate of %s: %w", name, err)
	}
	return keyPair{cert: cert, key: key}, nil
}

// writePKI writes to dir the files with which an API server serves on loopback, authenticates its clients and signs tokens.
func writePKI(dir, name string) (*authority, error) {
	config, err := crypto.MakeSelfSignedCAConfigForDuration(name+"-ca", lifetime)
	if err != nil {
		return nil, fmt.Errorf("creating a certificate authority: %w", err)
	}
	a := &authority{ca: &crypto.CA{Config: config, SerialGenerator: &crypto.RandomSerialGenerator{}}}
	if a.pem, _, err = config.GetPEMBytes(); err != nil {
		return nil, fmt.Errorf("encoding a certificate authority: %w", err)
	}
	serving, err := a.ca.MakeServerCertForDuration(sets.New("localhost", "127.0.0.1", "::1"), lifetime)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	tokens, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, fmt.Errorf("creating a key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of the certificates: %w", err)
	}
	if err := serving.WriteCertConfigFile(filepath.Join(dir, servingCertFile), filepath.Join(dir, servingKeyFile)); err != nil {
		return nil, fmt.Errorf("writing the certificates of %s: %w", name, err)
	}
	for file, data := range map[string][]byte{caFile: a.pem, tokenKeyFile: tokens} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return nil, fmt.Errorf("writing the certificates of %s: %w", name, err)
		}
	}
	return a, nil
}
