package controlplane

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig with all rights to path and returns path. An empty path
// means <name>.kubeconfig in the group's directory.
func (s *APIServer) Kubeconfig(path string) (string, error) {
	if path == "" {
		path = s.group.Path(s.Name + ".kubeconfig")
	}
	return path, WriteKubeconfig(path, s.Name, s.RESTConfig())
}

// WriteKubeconfig writes a client configuration that uses certificates to path. Its only context bears name.
func WriteKubeconfig(path, name string, config *rest.Config) error {
	content := clientcmdapi.NewConfig()
	content.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	content.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	content.CurrentContext = name
	if err := clientcmd.WriteToFile(*content, path); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return nil
}
