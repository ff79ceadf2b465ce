package cloudevents

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/flowcontrol"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	cloudeventserrors "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/errors"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// errAway is the error of a send without a connection.
var errAway = apierrors.NewServiceUnavailable("the broker is not connected")

// newLimiter returns a limiter for the number of events sent per second, with bursts of twice that number. Zero means
// no limit.
func newLimiter(qps float32) flowcontrol.RateLimiter {
	if qps <= 0 {
		return flowcontrol.NewFakeAlwaysRateLimiter()
	}
	return flowcontrol.NewTokenBucketRateLimiter(qps, max(1, int(2*qps)))
}

// publish sends a work, and sends it again until its agent reports the work. A deletion has no content.
func (d *Driver) publish(ctx context.Context, action eventtypes.EventAction, work *workv1.ManifestWork, what *content) error {
	if what != nil {
		if err := what.problem(); err != nil {
			return apierrors.NewInvalid(common.ManifestWorkGK, work.Name, field.ErrorList{
				field.Invalid(field.NewPath("spec", "workload", "manifests"), "", err.Error()),
			})
		}
	}
	if err := d.send(ctx, action, work, what); err != nil {
		return err
	}
	d.lookAfter(work, confirmAfter)
	return nil
}

// send fails with the server's error or, if no server answered, with a temporary error. Without a connection, it fails
// immediately, without encoding the event.
func (d *Driver) send(ctx context.Context, action eventtypes.EventAction, work *workv1.ManifestWork, what *content) error {
	if err := d.reachable(); err != nil {
		return err
	}
	if err := d.limiter.Wait(ctx); err != nil {
		return refusal(work.Name, err)
	}
	event, err := d.encode(action, work, what)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("encoding ManifestWork %s/%s: %w", work.Namespace, work.Name, err))
	}
	if err := d.link.Send(ctx, *event); err != nil {
		return refusal(work.Name, err)
	}
	d.metrics.EventSent(string(action))
	return nil
}

// Reachable reports whether events can be sent now.
func (d *Driver) Reachable() bool { return d.link.up.Load() }

// reachable returns nil while events can be sent.
func (d *Driver) reachable() error {
	if d.Reachable() {
		return nil
	}
	return errAway
}

// labelGeneration holds, on the work in an event, the generation of the work. An agent applies a work only if the spec or a label changes.
// Without this label, it would take over a new generation of unchanged content, and report each condition except Applied for it. The
// cluster would then be in flight until the agent's next resync, which takes up to 6 minutes, and could fail at its deadline.
const labelGeneration = "work.open-cluster-management.io/generation"

// encode returns the event of a work. The spec is encoded once for all works that share it.
func (d *Driver) encode(action eventtypes.EventAction, work *workv1.ManifestWork, what *content) (*cloudevents.Event, error) {
	bare := *work
	bare.Spec, bare.Labels = workv1.ManifestWorkSpec{}, map[string]string{}
	maps.Copy(bare.Labels, work.Labels)
	bare.Labels[labelGeneration] = strconv.FormatInt(work.Generation, 10)
	event, err := d.codec.Encode(SourceID, eventtypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: eventtypes.SubResourceSpec, Action: action,
	}, &bare)
	if err != nil || !work.DeletionTimestamp.IsZero() {
		return event, err
	}
	event.DataEncoded, err = what.payload()
	return event, err
}

// refusal converts the error of a send to the error that an API server would return.
func refusal(name string, err error) error {
	if apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsBadRequest(err) || apierrors.IsServiceUnavailable(err) {
		return err
	}
	if said := cloudeventserrors.ToStatusError(common.ManifestWorkGR, name, err); !cloudeventserrors.IsPublishError(said) {
		return said
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("the broker did not accept the event: %v", err))
}
