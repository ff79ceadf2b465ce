package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Digest identifies the meaning of a template. Two templates with equal digests are the same revision, even if their hashes differ.
type Digest string

// DigestOf returns the digest of a template that the caller has decoded into this binary's types. It sets the defaults of the CRD, and
// compares manifests as JSON values. The order of keys, the notation of numbers, and a null creationTimestamp, which serialisers add and
// drop, make no difference.
//
// The error names the manifest that is not a JSON object.
func DigestOf(template *workv1.ManifestWorkSpec) (Digest, error) {
	data, err := canonical(template)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return Digest(hex.EncodeToString(sum[:])), nil
}

// canonical returns the form of a template from which its digest is computed.
func canonical(template *workv1.ManifestWorkSpec) ([]byte, error) {
	defaulted := WithDefaults(template)
	manifests, err := manifestValues(defaulted.Workload.Manifests)
	if err != nil {
		return nil, err
	}
	defaulted.Workload.Manifests = nil
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(defaulted)
	if err != nil {
		return nil, fmt.Errorf("converting the template: %w", err)
	}
	value["workload"] = manifests
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding the template: %w", err)
	}
	return data, nil
}

func manifestValues(manifests []workv1.Manifest) ([]any, error) {
	values := make([]any, 0, len(manifests))
	for i := range manifests {
		value, err := manifestValue(&manifests[i].RawExtension)
		if err != nil {
			return nil, fmt.Errorf("workload.manifests[%d]: %w", i, err)
		}
		values = append(values, value)
	}
	return values, nil
}

func manifestValue(manifest *runtime.RawExtension) (any, error) {
	raw := manifest.Raw
	if raw == nil && manifest.Object != nil {
		encoded, err := json.Marshal(manifest.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding: %w", err)
		}
		raw = encoded
	}
	var value map[string]any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	if value == nil {
		return nil, errors.New("not a JSON object: null")
	}
	dropNullTimestamps(value)
	return value, nil
}

// dropNullTimestamps removes the null timestamps that the serialisation of ObjectMeta adds and the API server may drop, in the object and
// in the templates inside it.
func dropNullTimestamps(value any) {
	switch v := value.(type) {
	case map[string]any:
		if metadata, ok := v["metadata"].(map[string]any); ok {
			if timestamp, set := metadata["creationTimestamp"]; set && timestamp == nil {
				delete(metadata, "creationTimestamp")
			}
		}
		for _, child := range v {
			dropNullTimestamps(child)
		}
	case []any:
		for _, child := range v {
			dropNullTimestamps(child)
		}
	}
}

// WithDefaults returns a copy of a template with the defaults of the ManifestWork CRD, as the API server stores it. A template that was
// stored under an older CRD, or the data of a revision, may lack the defaults.
func WithDefaults(template *workv1.ManifestWorkSpec) *workv1.ManifestWorkSpec {
	stored := template.DeepCopy()
	if option := stored.DeleteOption; option != nil && option.PropagationPolicy == "" {
		option.PropagationPolicy = workv1.DeletePropagationPolicyTypeForeground
	}
	for i := range stored.ManifestConfigs {
		setConfigDefaults(&stored.ManifestConfigs[i])
	}
	return stored
}

func setConfigDefaults(config *workv1.ManifestConfigOption) {
	if config.FeedbackScrapeType == "" {
		config.FeedbackScrapeType = workv1.FeedbackPollType
	}
	strategy := config.UpdateStrategy
	if strategy == nil {
		return
	}
	if strategy.Type == "" {
		strategy.Type = workv1.UpdateStrategyTypeUpdate
	}
	apply := strategy.ServerSideApply
	if apply == nil {
		return
	}
	if apply.FieldManager == "" {
		apply.FieldManager = workv1.DefaultFieldManager
	}
	for i := range apply.IgnoreFields {
		if apply.IgnoreFields[i].Condition == "" {
			apply.IgnoreFields[i].Condition = workv1.IgnoreFieldsConditionOnSpokePresent
		}
	}
}
