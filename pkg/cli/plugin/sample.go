package plugin

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/worklist"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
)

const (
	// sampleFrom is the number of ManifestWorks from which `get` and `why` read only a sample. sampleStep is the number that they read first;
	// it then doubles.
	sampleFrom, sampleStep = 1000, 100
	// sampleSize is the maximum number of ManifestWorks in a sample.
	sampleSize = 1500
	// lagShare limits how far the hub's counts may lag behind the works: one in lagShare clusters.
	lagShare = 100
)

// sampleReader returns a function that reads a sample of the works of a large fleet, including those of the named clusters. It reads all
// works if the fleet is small, or if a sample is not conclusive.
func (o *options) sampleReader(named ...string) worksReader {
	return func(ctx context.Context, c *clients, objects *view.Objects) error {
		found, err := o.trySample(ctx, c, objects, named)
		switch {
		case found != nil:
			*objects = *found
			return nil
		case err != nil && !apierrors.IsForbidden(err): // A user may be allowed to list works, but not to get them.
			return err
		}
		return readWorks(ctx, c, objects)
	}
}

// trySample returns the objects with a sample of the works. It returns nil if the fleet is small, or if a sample is not conclusive.
func (o *options) trySample(ctx context.Context, c *clients, objects *view.Objects, named []string) (*view.Objects, error) {
	if objects.ReplicaSet.Status.Summary.Total < o.sampleFrom {
		return nil, nil
	}
	works, err := worklist.Metadata(ctx, c.metadatas, owned(objects.ReplicaSet))
	if err != nil {
		return nil, err
	}
	metadata := *objects
	metadata.Works = works
	// The hub's counts should not be older than the metadata.
	set := objects.ReplicaSet
	metadata.ReplicaSet, err = c.set(ctx, set.Name)
	if err != nil || metadata.ReplicaSet.Generation != set.Generation {
		return nil, err
	}
	if was, is := ledger.FromStatus(&set.Status), ledger.FromStatus(&metadata.ReplicaSet.Status); !is.Equal(&was) {
		return nil, nil
	}
	return sampled(ctx, c, &metadata, o.sampleStep, named)
}

// sampled returns the objects with a sample of the works; nil if the sample is not conclusive.
func sampled(ctx context.Context, c *clients, objects *view.Objects, step int, named []string) (*view.Objects, error) {
	sample := view.SampleOf(objects, named...)
	if sample == nil || len(sample.Must) > sampleSize {
		return nil, nil
	}
	next, left := sample.Must, sample.May[:min(len(sample.May), sampleSize-len(sample.Must))]
	for {
		if err := worklist.Fetch(ctx, c.works, objects.Works, next); err != nil {
			return nil, err
		}
		sample.Read(next)
		presumed, uncounted := sample.Presumed()
		switch {
		case uncounted <= 0:
			return presumed, nil
		case len(left) > 0:
		case uncounted <= len(objects.Works)/lagShare:
			return presumed, nil
		default:
			return nil, nil
		}
		n := min(len(left), step)
		next, left, step = left[:n], left[n:], 2*step
	}
}
