package irreversible

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// Finding is an effect that a change from one template to another has on one object.
type Finding struct {
	// Object is the kind, namespace and name of the object.
	Object string `json:"object"`
	// Effect is the effect of the change, as a phrase that follows "the rollout", such as "deletes Namespace shop with all objects in it".
	Effect      string      `json:"effect"`
	Consequence Consequence `json:"consequence"`
	// Manifest is the index of the object in the newer template, or in the older one if the newer template does not have it.
	Manifest int `json:"-"`
}

// Consequence is the meaning of an effect for a user who wants to go back.
type Consequence string

const (
	// Lost means that the opposite change does not restore the data.
	Lost Consequence = "Lost"
	// Interrupted means that the object does not exist for a while, or until the newer template is no longer rolled out.
	Interrupted Consequence = "Interrupted"
	// Rejected means that an API server rejects the change: nothing is lost, but the cluster does not succeed.
	Rejected Consequence = "Rejected"
)

// Findings returns the losses that a change from one template to another causes, and the changes that API servers reject, in the order of
// the older template. It omits objects that the agents neither delete nor update, and unreadable manifests.
func Findings(from, to *workv1.ManifestWorkSpec) []Finding {
	var found []Finding
	after := map[identity]*object{}
	for _, o := range objectsOf(to) {
		after[o.identity()] = o
	}
	strategies := revision.NewStrategyIndex(to.ManifestConfigs, revision.NewComparisons())
	for _, old := range objectsOf(from) {
		if now := after[old.identity()]; now != nil {
			found = append(found, old.changed(now, strategies.Strategy(identify(now)).Type)...)
		} else if !keeps(to.DeleteOption, old) {
			found = append(found, old.deleted()...)
		}
	}
	return found
}

// Warning is a sentence about a manifest.
type Warning struct {
	// Manifest is the index of the manifest in the newer template, or -1 if that template does not have it.
	Manifest int
	Text     string
}

// Warnings returns sentences about a rollout from one template to another. If the rollout can be aborted, they include the losses from an
// abort, which is the opposite change. An abort does not have to restore objects that the rollout can't change.
func Warnings(from, to *workv1.ManifestWorkSpec, aborts bool) []Warning {
	var warnings []Warning
	rejected := map[string]bool{}
	newer := map[string]int{}
	for _, o := range objectsOf(to) {
		newer[o.String()] = o.index
	}
	add := func(f *Finding, text string) {
		place, found := newer[f.Object]
		if !found {
			place = -1
		}
		warnings = append(warnings, Warning{place, text})
	}
	for _, f := range Findings(from, to) {
		text := "the rollout " + f.Effect
		switch {
		case f.Consequence == Rejected:
			rejected[f.Object] = true
		case f.Consequence == Lost && aborts:
			text += "; an abort does not restore them"
		}
		add(&f, text)
	}
	if !aborts {
		return warnings
	}
	for _, f := range Findings(to, from) {
		if !rejected[f.Object] {
			add(&f, "an abort "+f.Effect)
		}
	}
	return warnings
}

// identity distinguishes an object of a cluster from others. It does not include the version.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

// object is a manifest with its index in the template.
type object struct {
	unstructured.Unstructured
	index int
}

func objectsOf(template *workv1.ManifestWorkSpec) []*object {
	var objects []*object
	for i := range template.Workload.Manifests {
		o := &object{index: i}
		if o.UnmarshalJSON(template.Workload.Manifests[i].Raw) == nil && !o.IsList() {
			objects = append(objects, o)
		}
	}
	return objects
}

func (o *object) identity() identity {
	return identity{o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName()}
}

func (o *object) String() string {
	return o.GetKind() + " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}

// identify returns the identifier that templates use for an object. Its resource is a guess, because only the cluster knows the real one.
func identify(o *object) workv1.ResourceIdentifier {
	kind := o.GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return workv1.ResourceIdentifier{Group: kind.Group, Resource: plural.Resource, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// keeps reports whether, under the given deleteOption of a template, the agents leave an object on the cluster that the template no longer
// has.
func keeps(option *workv1.DeleteOption, o *object) bool {
	switch {
	case option == nil:
		return false
	case option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan:
		return true
	case option.PropagationPolicy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan || option.SelectivelyOrphan == nil:
		return false
	}
	return slices.Contains(option.SelectivelyOrphan.OrphaningRules, workv1.OrphaningRule(identify(o)))
}
