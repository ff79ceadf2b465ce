package handover

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"
)

// The fields that messages name.
const (
	manifestsField = "spec.manifestWorkTemplate.workload.manifests"
	configsField   = "spec.manifestWorkTemplate.manifestConfigs"
)

// maxWork is the maximum size of the combined spec in bytes. etcd accepts 1.5 MiB, including the status of the work and its metadata.
const maxWork = 1 << 20

// Limits bound the content of a combined work.
type Limits struct {
	// ManifestBytes is the maximum total size of its manifests in bytes: the webhook's --manifestLimit. A larger work would be rejected.
	ManifestBytes int
}

// DefaultLimits are the limits of a webhook without flags.
func DefaultLimits() Limits { return Limits{ManifestBytes: 500 * 1024} }

// size is the current size of a combined spec in bytes: the size of its manifests, and the total size.
type size struct {
	limits          Limits
	manifests, work int
	// strategies has the size of each update strategy in bytes: all kept objects may share one strategy.
	strategies map[*workv1.UpdateStrategy]int
}

func sizeOf(spec *workv1.ManifestWorkSpec, limits Limits) size {
	s := size{limits: limits, strategies: map[*workv1.UpdateStrategy]int{}}
	for i := range spec.Workload.Manifests {
		s.manifests += spec.Workload.Manifests[i].Size()
	}
	rest := *spec
	rest.Workload.Manifests = nil
	s.work = s.manifests + encoded(&rest)
	return s
}

func encoded(value any) int {
	data, err := json.Marshal(value)
	if err != nil {
		return maxWork + 1
	}
	return len(data)
}

// add counts a kept object and its entries, and returns the bound that the combined work would exceed; empty for none.
func (c *combiner) add(o *object, entries []workv1.ManifestConfigOption) (exceeded string) {
	s := &c.size
	s.manifests += o.manifest.Size()
	s.work += o.manifest.Size()
	for i := range entries {
		strategy := entries[i].UpdateStrategy
		if s.strategies[strategy] == 0 {
			s.strategies[strategy] = encoded(strategy)
		}
		id := &entries[i].ResourceIdentifier
		s.work += len(id.Group) + len(id.Resource) + len(id.Namespace) + len(id.Name) + s.strategies[strategy] + len(entryFrame)
	}
	switch {
	case s.manifests > s.limits.ManifestBytes:
		return fmt.Sprintf("%s of the new revision and the dropped objects have more than %d bytes together: drop fewer objects at a time",
			manifestsField, s.limits.ManifestBytes)
	case s.work > maxWork:
		return fmt.Sprintf("%s of the new revision and those of the dropped objects would make a ManifestWork larger than %d bytes: "+
			"drop fewer objects at a time, or use shorter update strategies", configsField, maxWork)
	}
	return ""
}

// entryFrame is the JSON around the values of an entry.
const entryFrame = `{"resourceIdentifier":{"group":"","resource":"","name":"","namespace":""},"updateStrategy":,"feedbackRules":null},`
