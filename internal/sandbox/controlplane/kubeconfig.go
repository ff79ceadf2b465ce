package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig with all permissions to path and returns path. An empty path
// means <name>.kubeconfig in the group's directory.
func (s *APIServer) Kubeconfig(path string) (string, error) {
	if path == "" {
		path = s.group.Path(s.Name + ".kubeconfig")
	}
	return path, WriteKubeconfig(path, s.Name, s.RESTConfig())
}

// KubeconfigIn is Kubeconfig for a user who works in a namespace.
func (s *APIServer) KubeconfigIn(namespace, path string) error {
	return writeKubeconfig(path, s.Name, namespace, s.RESTConfig())
}

// WriteKubeconfig writes a client configuration that uses certificates or a token to path. Its only context has name.
func WriteKubeconfig(path, name string, config *rest.Config) error {
	return writeKubeconfig(path, name, "", config)
}

func writeKubeconfig(path, name, namespace string, config *rest.Config) error {
	content := clientcmdapi.NewConfig()
	content.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	content.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	content.CurrentContext = name
	data, err := clientcmd.Write(*content)
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig of %s: %w", name, err)
	}
	if err := replaceFile(path, data); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return nil
}

// replaceFile writes a file in one step, because another process may be reading it.
func replaceFile(path string, data []byte) error {
	// Only the owner can read a temporary file, as is required for a kubeconfig.
	temp, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err := errors.Join(err, temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return os.Rename(temp.Name(), path)
}
