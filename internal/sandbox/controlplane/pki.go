package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of the certificates. A sandbox that stays up for longer has to be started again.
const lifetime = 30 * 24 * time.Hour

// authority signs the certificates of one API server and of its clients.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// keyPair is a certificate and its key in PEM.
type keyPair struct {
	cert, key []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(pkix.Name{CommonName: name + "-ca"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	return &authority{cert: cert, key: key, pem: certPEM(der)}, nil
}

// client returns a certificate by which an API server knows a user and its groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// serving returns the certificate of a server on loopback.
func (a *authority) serving() (keyPair, error) {
	template := certificateTemplate(pkix.Name{CommonName: "localhost"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	encoded, err := keyPEM(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: certPEM(der), key: encoded}, nil
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		// A clock that was set back a little must not make a fresh certificate invalid.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(lifetime),
	}
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// writePKI makes what an API server needs to serve, to know its clients and to sign tokens, and writes it to dir.
func writePKI(dir, name string) (*authority, error) {
	ca, err := newAuthority(name)
	if err != nil {
		return nil, err
	}
	serving, err := ca.serving()
	if err != nil {
		return nil, err
	}
	tokenKey, err := newKey()
	if err != nil {
		return nil, err
	}
	tokens, err := keyPEM(tokenKey)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the certificates: %w", err)
	}
	for file, data := range map[string][]byte{
		caFile: ca.pem, servingCertFile: serving.cert, servingKeyFile: serving.key, tokenKeyFile: tokens,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return nil, fmt.Errorf("writing the certificates of %s: %w", name, err)
		}
	}
	return ca, nil
}

const (
	caFile          = "ca.crt"
	servingCertFile = "serving.crt"
	servingKeyFile  = "serving.key"
	tokenKeyFile    = "tokens.key"
)
