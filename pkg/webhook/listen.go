package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/klog/v2"
	sdktls "open-cluster-management.io/sdk-go/pkg/tls"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// maxConnections limits the open connections. An API server needs one connection, because it uses HTTP/2. The
	// client certificate and the NetworkPolicy decide who may connect.
	maxConnections = 1024
	// maxReading limits the time for a TLS handshake, and for a request. API servers send a request immediately.
	maxReading = 5 * time.Second
	// maxIdle is the time for which a connection stays open without a request. It is the default of Go's clients.
	maxIdle = 90 * time.Second
	// maxAnswering is the time that a request may take from its header to the end of the answer. API servers wait at most 30 seconds.
	maxAnswering = 30 * time.Second
	// maxHeader is the maximum size of a request's header in bytes.
	maxHeader = 64 << 10
	// maxRequest is the maximum size of a request in bytes. The new and the old object have up to 3 MB each, the API
	// server's limit, and 1 MB remains for everything else.
	maxRequest = 7 << 20
)

// listen opens the port, and returns the server of the webhooks. A client that connects before the server starts has to
// wait. The server of controller-runtime has no limits: a client that opens many connections, or is slow, would block
// the API servers.
func (s *Server) listen(ctx context.Context, handler http.Handler, bounds *sdktls.TLSConfig) (*manager.Server, error) {
	dir := s.Options.certDir()
	certificates, err := certwatcher.New(filepath.Join(dir, certName), filepath.Join(dir, keyName))
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	config := &tls.Config{NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12, GetCertificate: certificates.GetCertificate}
	sdktls.ConfigToFunc(bounds)(config)
	if config.ClientCAs, err = s.Options.clientCAs(); err != nil {
		return nil, err
	}
	if config.ClientCAs != nil {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", s.Options.Port))
	if err != nil {
		return nil, fmt.Errorf("listening at --port: %w", err)
	}
	go func() {
		if err := certificates.Start(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The serving certificate is no longer watched for changes")
		}
	}()
	limited := netutil.LimitListener(listener, maxConnections)
	return &manager.Server{Name: "webhooks", Server: newHTTPServer(handler), Listener: tls.NewListener(limited, config)}, nil
}

// newHTTPServer returns a server that limits the size of a request and the time that it takes.
func newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: http.MaxBytesHandler(handler, maxRequest), MaxHeaderBytes: maxHeader,
		ReadTimeout: maxReading, WriteTimeout: maxAnswering, IdleTimeout: maxIdle,
	}
}
