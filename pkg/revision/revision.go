package revision

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Revision is a decoded ControllerRevision.
type Revision struct {
	// Object is the ControllerRevision. It is shared with the cache, and must not be changed.
	Object *appsv1.ControllerRevision
	// Hash is the value of its label controller-hash.
	Hash string
	// Record is the hub's record of the revision; empty if there is no readable record.
	Record
	// Template is the template in the data; nil if Err is set.
	Template *workv1.ManifestWorkSpec
	// Digest identifies the content of the template; empty if Err is set.
	Digest Digest
	// ReportsDegraded is true if every agent reports Degraded for it.
	ReportsDegraded bool
	// Err is the reason why the data can't be read.
	Err error
}

// data is the shape of a revision's data.
type data struct {
	Spec struct {
		ManifestWorkTemplate *workv1.ManifestWorkSpec `json:"manifestWorkTemplate"`
	} `json:"spec"`
}

// Decode reads a ControllerRevision. If it can't be read, Err has the reason.
func Decode(object *appsv1.ControllerRevision) Revision {
	rev := Revision{Object: object, Hash: object.Labels[workv1alpha1.LabelControllerHash], Record: RecordOf(object)}
	template, err := templateOf(object.Data.Raw)
	if err == nil {
		rev.Digest, err = DigestOf(template)
	}
	if err != nil {
		rev.Err = fmt.Errorf("ControllerRevision %s/%s holds no template in data.spec.manifestWorkTemplate: %w",
			object.Namespace, object.Name, err)
		return rev
	}
	rev.Template, rev.ReportsDegraded = template, ReportsDegraded(template)
	return rev
}

func templateOf(raw []byte) (*workv1.ManifestWorkSpec, error) {
	var content data
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	if content.Spec.ManifestWorkTemplate == nil {
		return nil, errors.New("the field is absent")
	}
	return content.Spec.ManifestWorkTemplate, nil
}

// encoded returns the data of a revision with a template, in the API server's own encoding. The API server rejects a strategic merge patch
// to the metadata if it would encode the data differently, because data is immutable. The garbage collector sends such a patch when the
// owner is deleted with --cascade=orphan.
func encoded(template *workv1.ManifestWorkSpec) ([]byte, error) {
	var content data
	content.Spec.ManifestWorkTemplate = template
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Name returns the only name under which a revision with this hash counts.
func Name(owner, hash string) string {
	return owner + "-" + hash
}

// New returns the ControllerRevision for a template of an owner.
func New(
	owner *workv1alpha1.ManifestWorkReplicaSet, template *workv1.ManifestWorkSpec, hash string, number int64,
) (*appsv1.ControllerRevision, error) {
	raw, err := encoded(template)
	if err != nil {
		return nil, fmt.Errorf("encoding the template of revision %s: %w", Name(owner.Name, hash), err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name:      Name(owner.Name, hash),
			Namespace: owner.Namespace,
			Labels: map[string]string{
				workv1alpha1.LabelControllerHash: hash,
				workv1alpha1.LabelReplicaSet:     workv1alpha1.RevisionLabelValue(owner.Namespace, owner.Name),
			},
			Annotations: map[string]string{
				workv1alpha1.AnnotationGeneration: strconv.FormatInt(owner.Generation, 10),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, workv1alpha1.ManifestWorkReplicaSetKind)},
		},
		Data:     runtime.RawExtension{Raw: raw},
		Revision: number,
	}, nil
}
