package hub

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cloudevents"
	"github.com/open-cluster-management-io/work-rollback/pkg/controller"
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
	"github.com/open-cluster-management-io/work-rollback/pkg/serving"
)

// The work drivers.
const (
	driverKube = "kube"
	driverMQTT = "mqtt"
	driverGRPC = "grpc"
)

// Options are the flags of the manager, except those that all of OCM's hub components share.
type Options struct {
	// WorkDriver is how ManifestWorks travel to the agents: kube, mqtt or grpc.
	WorkDriver string
	// WorkDriverConfig is the path of the driver's configuration; a kubeconfig for kube.
	WorkDriverConfig string
	// CloudEventsClientID identifies this hub to a CloudEvents driver.
	CloudEventsClientID string
	// CloudEventsAgentReturn is the time that agents may take to reconnect after an outage of the broker. No deadline
	// expires in this time.
	CloudEventsAgentReturn time.Duration
	// CloudEventsQPS limits how many events are sent to the broker per second; 0 means no limit.
	CloudEventsQPS float32
	// SuccessSettle is the time for which this process must observe a cluster's success before the success counts.
	SuccessSettle time.Duration
	// OwnerKeyHash is true if the hub also writes the label and the annotation of ocm#1684.
	OwnerKeyHash bool
	// ManifestLimit is the maximum total size of the manifests of one ManifestWork in bytes, like the webhook's flag of
	// the same name.
	ManifestLimit int
	// TLS restricts the TLS versions and cipher suites of clients of the serving port.
	TLS serving.TLS
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		WorkDriver: driverKube, SuccessSettle: controller.DefaultSuccessSettle, CloudEventsAgentReturn: cloudevents.DefaultAgentReturn,
		ManifestLimit: handover.DefaultLimits().ManifestBytes,
	}
}

// AddFlags registers the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.WorkDriver, "work-driver", o.WorkDriver, "Driver that carries ManifestWorks to the agents: kube, mqtt or grpc.")
	flags.StringVar(&o.WorkDriverConfig, "work-driver-config", o.WorkDriverConfig, "Path to the work driver's configuration file.")
	flags.StringVar(&o.CloudEventsClientID, "cloudevents-client-id", o.CloudEventsClientID,
		"Client ID of this hub if works are published with CloudEvents.")
	flags.DurationVar(&o.CloudEventsAgentReturn, "cloudevents-agent-return", o.CloudEventsAgentReturn,
		"Time that agents may take to reconnect after the broker was unavailable. No progressDeadline fires in that time.")
	flags.Float32Var(&o.CloudEventsQPS, "cloudevents-qps", o.CloudEventsQPS,
		"Events per second that the hub sends to the broker, with bursts of twice as many. 0 means no limit: "+
			"an overloaded broker slows the hub down. --kube-api-qps does not limit events.")
	flags.DurationVar(&o.SuccessSettle, "success-settle", o.SuccessSettle,
		"Time for which the hub must see a cluster succeed, without interruption, before the cluster counts as succeeded. "+
			"It covers the window when an agent reports the state of the old objects under the new generation.")
	flags.BoolVar(&o.OwnerKeyHash, "owner-key-hash", o.OwnerKeyHash,
		"Write the label "+workv1alpha1.LabelOwnerHash+" on ManifestWorks, too, and roll out objects whose <namespace>.<name> has "+
			"more than 63 characters. Experimental, until OCM writes this label.")
	flags.IntVar(&o.ManifestLimit, "manifestLimit", o.ManifestLimit,
		"Largest total size, in bytes, of the manifests of one ManifestWork: set it to the value of the webhook's flag of this name. "+
			"pruneStrategy WhenAvailable keeps no objects if the work would be larger.")
	o.TLS.AddFlags(flags)
}

// Validate returns an error that names an invalid flag and its allowed values.
func (o *Options) Validate() error {
	switch o.WorkDriver {
	case driverKube, driverMQTT, driverGRPC:
	default:
		return fmt.Errorf("--work-driver=%s: use kube, mqtt or grpc", o.WorkDriver)
	}
	if o.CloudEventsAgentReturn < 0 {
		return fmt.Errorf("--cloudevents-agent-return=%s: use 0s or more", o.CloudEventsAgentReturn)
	}
	if o.CloudEventsQPS < 0 {
		return fmt.Errorf("--cloudevents-qps=%g: use 0 for no limit, or more", o.CloudEventsQPS)
	}
	if o.SuccessSettle < 0 {
		return fmt.Errorf("--success-settle=%s: use 0s or more", o.SuccessSettle)
	}
	if o.ManifestLimit < 1 {
		return fmt.Errorf("--manifestLimit=%d: use a number of bytes above 0", o.ManifestLimit)
	}
	_, err := o.TLS.Config()
	return err
}
