package serving

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	sdktls "open-cluster-management.io/sdk-go/pkg/tls"
	"sigs.k8s.io/yaml"
)

// The flags of library-go's command.
const (
	flagConfig           = "config"
	flagTerminateOnFiles = "terminate-on-files"
)

// ApplyToFlags makes library-go's command use the TLS flags. The command reads TLS settings only from the file in
// --config, so ApplyToFlags writes such a file and sets --config to it. An existing --config file stays in effect: the
// new file has its settings, except those that the TLS flags override, and the command still ends when the existing
// file changes. Call remove when the command has ended. Without TLS flags, ApplyToFlags does nothing.
func (o *TLS) ApplyToFlags(flags *pflag.FlagSet) (remove func(), err error) {
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return func() {}, nil
	}
	given := flags.Lookup(flagConfig).Value.String()
	content, err := merge(given, o, config)
	if err != nil {
		return nil, err
	}
	path, err := writeTemporary(content)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration by which the TLS flags take effect (is %s writable?): %w", os.TempDir(), err)
	}
	if given != "" {
		if err := flags.Set(flagTerminateOnFiles, given); err != nil {
			return nil, err
		}
	}
	return func() { _ = os.Remove(path) }, flags.Set(flagConfig, path)
}

// merge returns the configuration in the file, if there is one, with the settings of the TLS flags.
func merge(file string, o *TLS, config *sdktls.TLSConfig) ([]byte, error) {
	content := map[string]any{}
	if file != "" {
		raw, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(raw, &content)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s=%s: name a GenericOperatorConfig in YAML: %w", flagConfig, file, err)
		}
	} else {
		content["apiVersion"], content["kind"] = "operator.openshift.io/v1alpha1", "GenericOperatorConfig"
	}
	serving, ok := content["servingInfo"].(map[string]any)
	if !ok {
		serving = map[string]any{}
		content["servingInfo"] = serving
	}
	if strings.TrimSpace(o.MinVersion) != "" {
		serving["minTLSVersion"] = sdktls.VersionToString(config.MinVersion)
	}
	if len(config.CipherSuites) > 0 {
		serving["cipherSuites"] = strings.Split(sdktls.CipherSuitesToString(config.CipherSuites), ",")
	}
	return yaml.Marshal(content)
}

func writeTemporary(content []byte) (path string, err error) {
	file, err := os.CreateTemp("", "work-serving-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return file.Name(), err
}
