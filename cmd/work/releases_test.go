package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/ocm"
)

// rendered is the command that the ClusterManager operator of some releases renders.
type rendered struct {
	name string
	// values are the operator's values in addition to ocm.Defaults.
	values ocm.Values
	// args are the arguments of the container, on one line.
	args string
}

const (
	hosted       = " --kubeconfig=/var/run/secrets/hub/kubeconfig"
	brokerConfig = " --cloudevents-client-id=work-controller-$(POD_NAME) --work-driver-config=/var/run/secrets/work/config.yaml"
	minVersion   = " --tls-min-version=VersionTLS12"
	profile      = " --tls-min-version=VersionTLS13 --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
	replicaSets  = " --feature-gates=ManifestWorkReplicaSet=true"
	drivers      = " --feature-gates=CloudEventsDrivers=true"
)

// gates returns the flags that helpers.ConvertToFeatureGateFlags makes from feature gates.
func gates(flags string) []string { return strings.Fields(flags) }

var (
	tlsProfile = ocm.Values{"TLSMinVersion": "VersionTLS13", "TLSCipherSuites": "TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}
	mqtt       = ocm.Values{"WorkFeatureGates": gates(replicaSets + drivers), "CloudEventsDriverEnabled": true, "WorkDriver": "mqtt"}
	grpc       = ocm.Values{"WorkFeatureGates": gates(replicaSets + drivers), "CloudEventsDriverEnabled": true, "WorkDriver": "grpc"}
	kube       = ocm.Values{"WorkFeatureGates": gates(replicaSets + drivers), "CloudEventsDriverEnabled": true, "WorkDriver": "kube"}
	oneGate    = ocm.Values{"WorkFeatureGates": gates(replicaSets)}
	inHosted   = ocm.Values{"HostedMode": true}
)

// release is the output of OCM's operator at some tags, from manifests/cluster-manager/management/work/deployment.yaml and
// webhook-deployment.yaml. The two files are the same at v1.2.0 and v1.2.1, and at v1.3.0 and v1.3.1.
type release struct {
	tags     []string
	managers []rendered
	webhooks []rendered
}

var releases = []release{
	{
		tags: []string{"v1.2.0", "v1.2.1"},
		managers: []rendered{
			{"kube", oneGate, "/work manager" + replicaSets},
			{"kube, hosted", merge(oneGate, inHosted), "/work manager" + replicaSets + hosted},
			{"kube, with the gate of drivers", kube, "/work manager" + replicaSets + drivers + " --work-driver=kube"},
			{"mqtt", mqtt, "/work manager" + replicaSets + drivers + " --work-driver=mqtt" + brokerConfig},
			{"mqtt, hosted", merge(mqtt, inHosted), "/work manager" + replicaSets + drivers + " --work-driver=mqtt" + brokerConfig + hosted},
			{"grpc", grpc, "/work manager" + replicaSets + drivers + " --work-driver=grpc" + brokerConfig},
			{"grpc, hosted", merge(grpc, inHosted), "/work manager" + replicaSets + drivers + " --work-driver=grpc" + brokerConfig + hosted},
		},
		webhooks: []rendered{
			{"no gates", ocm.Values{}, "/work webhook-server port=9443"},
			{"default", oneGate, "/work webhook-server port=9443" + replicaSets},
			{"hosted", merge(oneGate, inHosted), "/work webhook-server port=9443" + replicaSets + hosted},
		},
	},
	{
		tags: []string{"v1.3.0", "v1.3.1"},
		managers: []rendered{
			{"kube", oneGate, "/work manager" + replicaSets + minVersion},
			{"kube, hosted", merge(oneGate, inHosted), "/work manager" + replicaSets + hosted + minVersion},
			{"kube, with the gate of drivers", kube, "/work manager" + replicaSets + drivers + " --work-driver=kube" + minVersion},
			{"mqtt", mqtt, "/work manager" + replicaSets + drivers + " --work-driver=mqtt" + brokerConfig + minVersion},
			{"mqtt, hosted", merge(mqtt, inHosted), "/work manager" + replicaSets + drivers + " --work-driver=mqtt" + brokerConfig + hosted + minVersion},
			{"grpc", grpc, "/work manager" + replicaSets + drivers + " --work-driver=grpc" + brokerConfig + minVersion},
			{"grpc, hosted", merge(grpc, inHosted), "/work manager" + replicaSets + drivers + " --work-driver=grpc" + brokerConfig + hosted + minVersion},
			{"a TLS profile", merge(oneGate, tlsProfile), "/work manager" + replicaSets + profile},
		},
		webhooks: []rendered{
			{"no gates", ocm.Values{}, "/work webhook-server --port=9443 --health-probe-port=8000 --metrics-port=8080" + minVersion},
			{"default", oneGate, "/work webhook-server --port=9443 --health-probe-port=8000 --metrics-port=8080" + replicaSets + minVersion},
			{"hosted", merge(oneGate, inHosted),
				"/work webhook-server --port=9443 --health-probe-port=8000 --metrics-port=8080" + replicaSets + hosted + minVersion},
			{"a TLS profile", merge(oneGate, tlsProfile),
				"/work webhook-server --port=9443 --health-probe-port=8000 --metrics-port=8080" + replicaSets + profile},
			{"other ports, without health or metrics", merge(oneGate, ocm.Values{"WorkWebhook": map[string]any{
				"Port": 10443, "HealthProbePort": 0, "MetricsPort": -1, "HostNetwork": true,
			}}), "/work webhook-server --port=10443 --health-probe-port=0 --metrics-port=-1" + replicaSets + minVersion},
		},
	},
}

func merge(all ...ocm.Values) ocm.Values {
	merged := ocm.Values{}
	for _, values := range all {
		for name, value := range values {
			merged[name] = value
		}
	}
	return merged
}

// TestTheLinkedRelease compares the table above with the OCM release that this build links: exactly one entry matches it.
func TestTheLinkedRelease(t *testing.T) {
	var fits [][]string
	var differences []string
	for _, release := range releases {
		before := len(differences)
		for file, wanted := range map[string][]rendered{ocm.WorkDeployment: release.managers, ocm.WebhookDeployment: release.webhooks} {
			for _, row := range wanted {
				args, err := ocm.Arguments(file, merge(ocm.Defaults(), row.values))
				require.NoError(t, err)
				if line := strings.Join(args, " "); line != row.args {
					differences = append(differences, release.tags[0]+", "+row.name+": "+line)
				}
			}
		}
		if len(differences) == before {
			fits = append(fits, release.tags)
		}
	}
	require.Len(t, fits, 1, "add the output of the operator of the linked release:\n%s", strings.Join(differences, "\n"))
}
