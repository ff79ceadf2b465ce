package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// APIServerOptions are the options of a kube-apiserver.
type APIServerOptions struct {
	// Name names the log file, the keys in etcd and the context in kubeconfigs. It must be unique in the group.
	Name string
	// Args are added to the flags.
	Args []string
}

// APIServer is a kube-apiserver.
type APIServer struct {
	// Name is the name of the server, from the options.
	Name string

	group  *process.Group
	binary string
	etcd   *Etcd
	args   []string
	ca     *authority
	admin  keyPair
	port   int
	child  *process.Process
}

// StartAPIServer starts a kube-apiserver on an etcd and returns once it is ready.
func StartAPIServer(ctx context.Context, group *process.Group, binary string, etcd *Etcd, options APIServerOptions) (*APIServer, error) {
	server := &APIServer{Name: options.Name, group: group, binary: binary, etcd: etcd, args: options.Args}
	var err error
	if server.ca, err = writePKI(server.dir(), options.Name); err != nil {
		return nil, err
	}
	if server.admin, err = server.ca.client("admin", "system:masters"); err != nil {
		return nil, err
	}
	for range startAttempts {
		if server.port, err = process.FreePort(); err != nil {
			return nil, err
		}
		if err = server.Start(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return server, nil
}

// Start starts a server that was stopped or killed, on its old port and with its old data.
func (s *APIServer) Start(ctx context.Context) error {
	child, err := s.group.Start(process.Command{
		Name: s.Name + "-kube-apiserver",
		Path: s.binary,
		Args: append(s.flags(), s.args...),
		// A graceful stop would wait for open watches to end.
		Abrupt: true,
	})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(s.RESTConfig())
	if err != nil {
		return errors.Join(fmt.Errorf("creating a client for %s: %w", s.Name, err), child.Kill())
	}
	ready := func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
	if err := child.WaitReady(ctx, 2*time.Minute, ready); err != nil {
		return errors.Join(err, child.Kill())
	}
	s.child = child
	return nil
}

// Stop ends the server; its data stays until the group stops.
func (s *APIServer) Stop() error { return s.child.Kill() }

// Process returns the child process that is running.
func (s *APIServer) Process() *process.Process { return s.child }

// Host is the server's address, with the scheme.
func (s *APIServer) Host() string { return fmt.Sprintf("https://127.0.0.1:%d", s.port) }

func (s *APIServer) dir() string { return s.group.Path(s.Name) }

func (s *APIServer) flags() []string {
	file := func(name string) string { return s.group.Path(s.Name, name) }
	return []string{
		"--etcd-servers=" + s.etcd.URL,
		"--etcd-prefix=/" + s.Name,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", s.port),
		"--cert-dir=" + file("apiserver"),
		"--tls-cert-file=" + file(servingCertFile),
		"--tls-private-key-file=" + file(servingKeyFile),
		"--client-ca-file=" + file(caFile),
		// No proxy runs here, but servers that authenticate their clients through this one (the work hub's metrics) need these settings.
		"--requestheader-client-ca-file=" + file(caFile),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + file(tokenKeyFile),
		"--service-account-signing-key-file=" + file(tokenKeyFile),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		// Nothing uses the service "kubernetes" here, and an endpoint cannot be a loopback address.
		"--endpoint-reconciler-type=none",
		// Pods would wait for the service account "default", which no controller creates here. The other two cost start-up time.
		"--disable-admission-plugins=ServiceAccount,RuntimeClass,StorageObjectInUseProtection",
	}
}

// RESTConfig returns a client configuration with all permissions and no client-side rate limit.
func (s *APIServer) RESTConfig() *rest.Config { return s.config(s.admin) }

// UserConfig returns a client configuration for a user and its groups, with the permissions that RBAC grants them.
func (s *APIServer) UserConfig(user string, groups ...string) (*rest.Config, error) {
	pair, err := s.ca.client(user, groups...)
	if err != nil {
		return nil, err
	}
	return s.config(pair), nil
}

func (s *APIServer) config(pair keyPair) *rest.Config {
	return &rest.Config{
		Host:            s.Host(),
		TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem, CertData: pair.cert, KeyData: pair.key},
		QPS:             -1,
	}
}
