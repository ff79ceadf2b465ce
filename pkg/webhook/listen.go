package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// maxConnections limits the open connections. An API server needs one, as it uses HTTP/2. Who may connect is for the client certificate
	// and the NetworkPolicy to decide.
	maxConnections = 1024
	// maxHandshake limits the time for a TLS handshake and for the header of a request.
	maxHandshake = 5 * time.Second
	// maxIdle is how long a connection stays open without a request. It is the value of Go's clients.
	maxIdle = 90 * time.Second
	// maxAnswering is how long a request may take from its header to the end of the answer. API servers wait at most 30 seconds.
	maxAnswering = 30 * time.Second
	// maxHeader is the maximum size of a request's header in bytes.
	maxHeader = 64 << 10
	// maxShutdown is how long reviews in progress may take when the server stops.
	maxShutdown = time.Minute
)

// boundedServer is controller-runtime's webhook server with limits on its connections, so that a client that opens many, or that is slow,
// does not block the API servers.
type boundedServer struct {
	*ctrlwebhook.DefaultServer
	started atomic.Bool
}

func newBoundedServer(options ctrlwebhook.Options) *boundedServer {
	return &boundedServer{DefaultServer: &ctrlwebhook.DefaultServer{Options: options}}
}

// StartedChecker reports whether the server listens. It does not open a connection, because a crowded server should not be replaced.
func (s *boundedServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhook server has not been started yet")
		}
		return nil
	}
}

// Start implements ctrlwebhook.Server.
func (s *boundedServer) Start(ctx context.Context) error {
	options := &s.Options
	certificate, key := filepath.Join(options.CertDir, options.CertName), filepath.Join(options.CertDir, options.KeyName)
	certificates, err := certwatcher.New(certificate, key)
	if err != nil {
		return fmt.Errorf("reading the serving certificate: %w", err)
	}
	config := &tls.Config{NextProtos: []string{"h2"}, GetCertificate: certificates.GetCertificate}
	for _, option := range options.TLSOpts {
		option(config)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", options.Host, options.Port))
	if err != nil {
		return fmt.Errorf("listening at --port: %w", err)
	}
	go func() {
		if err := certificates.Start(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Changes of the serving certificate are not seen any more")
		}
	}()
	return s.serve(ctx, tls.NewListener(netutil.LimitListener(listener, maxConnections), config))
}

// serve answers requests until the context ends, and then finishes the requests in progress.
func (s *boundedServer) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.WebhookMux(), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: maxHandshake, IdleTimeout: maxIdle, WriteTimeout: maxAnswering,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxShutdown)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Reviews were under way when the webhook server ended")
		}
	}()
	s.started.Store(true)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}
