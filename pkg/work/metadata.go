package work

import (
	"slices"
	"strconv"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// The labels and annotations of a work that do not depend on its revision:
//
//  1. The owner label, the Placement that the work counts for, and the labels of its owner. Labels by which GitOps tools track their
//     objects are not copied. Copied labels are removed when the owner loses them (OwnerMetadata).
//  2. Annotations that keep GitOps tools from deleting the work (Annotations).
//  3. If the API server stores a different spec than the hub requested: the digest of the requested spec (AnnotationAccepted).
//  4. If labels or annotations are outdated but the spec is not, the hub writes only labels and annotations (package rollout, relabel).
//
// Each write has all of them, except the time of the request (Metadata).

// keepOptions are the annotations for Argo CD. Argo CD tracks applications by label. It treats a work with copied labels as a resource
// that was removed from Git, and would delete every work when it prunes.
var keepOptions = [...]struct{ annotation, option string }{
	{"argocd.argoproj.io/sync-options", "Prune=false"},
	{"argocd.argoproj.io/compare-options", "IgnoreExtraneous"},
}

// isToolLabel reports whether a GitOps tool uses a label to track the objects that it applied. The tool did not apply the work, so the
// label is not copied from the owner.
func isToolLabel(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && (domain == "argocd.argoproj.io" || strings.HasSuffix(domain, ".toolkit.fluxcd.io"))
}

// OfTool reports whether an object has a label or an annotation of a GitOps tool.
func OfTool(marks map[string]string) bool {
	for key := range marks {
		if isToolLabel(key) {
			return true
		}
	}
	return false
}

// OwnerMetadata is the metadata that works get from their owner. All writes of a plan share one.
type OwnerMetadata struct {
	// owner is the value of the owner label. It is not written if it is too long.
	owner string
	// hash and key are the values of LabelOwnerHash and AnnotationOwner; empty if they are not written.
	hash, key string
	labels    map[string]string
	// copied is the value of AnnotationCopiedLabels: the keys of the owner's labels that are copied, sorted.
	copied string
	// wanted are the copied labels of each work. tools are the owner's labels that GitOps tools set.
	wanted, tools []label
	// Brokered is true if the works travel over a broker. How an API server stores them is then unknown.
	Brokered bool
}

type label struct{ key, value string }

// on reports whether an object has the label.
func (l label) on(labels map[string]string) bool {
	value, found := labels[l.key]
	return found && value == l.value
}

// NewOwnerMetadata returns the metadata that works get from an owner. The parameter owner is the value of their owner label, and labels
// are the owner's own labels.
func NewOwnerMetadata(owner string, labels map[string]string, brokered bool) *OwnerMetadata {
	o := &OwnerMetadata{owner: owner, labels: labels, Brokered: brokered}
	keys := make([]string, 0, len(labels))
	for key, value := range labels {
		if isToolLabel(key) {
			o.tools = append(o.tools, label{key, value})
			continue
		}
		keys = append(keys, key)
		switch key {
		case workv1alpha1.LabelControllerHash, workv1alpha1.LabelReplicaSet, workv1alpha1.LabelPlacement,
			workv1alpha1.LabelOwnerHash: // A work has its own.
		default:
			o.wanted = append(o.wanted, label{key, value})
		}
	}
	slices.Sort(keys)
	o.copied = strings.Join(keys, ",")
	return o
}

// AddHash adds LabelOwnerHash and AnnotationOwner.
func (o *OwnerMetadata) AddHash() {
	if namespace, name, ok := workv1alpha1.ParseOwnerLabelValue(o.owner); ok {
		o.hash, o.key = workv1alpha1.OwnerHash(namespace, name), namespace+"/"+name
	}
}

// MarkOwner sets the labels and annotations by which the work of an owner is found.
func (o *OwnerMetadata) MarkOwner(labels, annotations map[string]string) {
	delete(labels, workv1alpha1.LabelReplicaSet)
	if o.fits() {
		labels[workv1alpha1.LabelReplicaSet] = o.owner
	}
	if o.hash != "" {
		labels[workv1alpha1.LabelOwnerHash], annotations[workv1alpha1.AnnotationOwner] = o.hash, o.key
	}
}

func (o *OwnerMetadata) fits() bool { return len(o.owner) <= workv1alpha1.MaxOwnerLabelLength }

// isMarked reports whether a work has the labels and annotations that MarkOwner sets.
func (o *OwnerMetadata) isMarked(w *Work) bool {
	return (w.read().owner == o.owner || !o.fits()) && (o.hash == "" ||
		w.Object.Labels[workv1alpha1.LabelOwnerHash] == o.hash && w.Object.Annotations[workv1alpha1.AnnotationOwner] == o.key)
}

// Labels returns the labels of a work that counts for a Placement, except those for its hash and its owner.
func (o *OwnerMetadata) Labels(placement string) map[string]string {
	labels := make(map[string]string, len(o.wanted)+3)
	for _, wanted := range o.wanted {
		labels[wanted.key] = wanted.value
	}
	if placement != "" {
		labels[workv1alpha1.LabelPlacement] = placement
	}
	return labels
}

// dropped returns the keys of labels to remove from a work: copied labels that its owner no longer has, and labels of GitOps tools, which
// OCM's hub copies without a record.
func (o *OwnerMetadata) dropped(object *workv1.ManifestWork) []string {
	var dropped []string
	for key := range strings.SplitSeq(object.Annotations[workv1alpha1.AnnotationCopiedLabels], ",") {
		if _, kept := o.labels[key]; (kept && !isToolLabel(key)) || key == "" || strings.HasPrefix(key, workv1alpha1.GroupName+"/") {
			continue
		}
		if _, there := object.Labels[key]; there {
			dropped = append(dropped, key)
		}
	}
	for _, tool := range o.tools {
		if tool.on(object.Labels) && !slices.Contains(dropped, tool.key) {
			dropped = append(dropped, tool.key)
		}
	}
	slices.Sort(dropped)
	return dropped
}

// Metadata is the change that a write makes to a work's labels and annotations. Keys that others set stay.
type Metadata struct {
	Labels, Annotations               map[string]string
	DroppedLabels, DroppedAnnotations []string
}

// Metadata returns the change that gives an existing work the labels and annotations from its owner.
func (o *OwnerMetadata) Metadata(existing *workv1.ManifestWork, placement string) Metadata {
	m := Metadata{Labels: o.Labels(placement), DroppedLabels: o.dropped(existing), Annotations: Annotations(existing.Annotations)}
	o.MarkOwner(m.Labels, m.Annotations)
	m.SetOrDrop(workv1alpha1.AnnotationCopiedLabels, o.copied)
	return m
}

// SetOrDrop sets an annotation, or drops it if the value is empty.
func (m *Metadata) SetOrDrop(annotation, value string) {
	if value == "" {
		m.DroppedAnnotations = append(m.DroppedAnnotations, annotation)
	} else {
		m.Annotations[annotation] = value
	}
}

// Annotations are the annotations that keep GitOps tools from deleting a work. Options that others set stay.
func Annotations(existing map[string]string) map[string]string {
	wanted := make(map[string]string, len(keepOptions))
	for _, keep := range keepOptions {
		key, option := keep.annotation, keep.option
		switch options := existing[key]; {
		case strings.TrimSpace(options) == "":
			wanted[key] = option
		case hasOption(options, option):
			wanted[key] = options
		default:
			wanted[key] = options + "," + option
		}
	}
	return wanted
}

func hasOption(options, wanted string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if strings.TrimSpace(option) == wanted {
			return true
		}
	}
	return false
}

// AskedFor returns the value of AnnotationAccepted for a write of a spec: the requested spec, and the generation that the write creates.
// If the hub dies before it sees the stored spec, its successor has this information.
func AskedFor(asked revision.Digest, generation int64) string {
	return string(asked) + "/" + strconv.FormatInt(generation, 10)
}

// Accepted returns the value of AnnotationAccepted if the API server stored a different spec than the hub requested: the SHA-256 digests of
// both. It is empty for a work that was stored as requested.
func (w *Work) Accepted() string {
	if w.AcceptedAs == "" || w.Digest == "" || w.AcceptedAs == w.Digest {
		return ""
	}
	return string(w.AcceptedAs) + "/" + string(w.Digest)
}

// Note describes how AnnotationAccepted applies to a work.
type Note string

// The notes.
const (
	// NoNote means that the annotation does not apply to the current spec of the work.
	NoNote Note = ""
	// NotedContent means that the annotation has the digest of the work's current spec.
	NotedContent Note = "Content"
	// NotedGeneration means that the annotation has the generation of the work.
	NotedGeneration Note = "Generation"
)

// Noted returns the digest of the spec that a hub requested, if the work's annotation marks its current spec as the API server's version
// of the requested one; empty otherwise. An edited spec has another digest and another generation. A write that does not change the stored
// spec does not create a generation. A user who may edit a work can also forge its annotations. Like an agent's false report, this changes
// only the hub's view of one cluster.
func (w *Work) Noted() (asked revision.Digest, how Note) {
	value := w.Object.Annotations[workv1alpha1.AnnotationAccepted]
	at := strings.LastIndexByte(value, '/')
	if at <= 0 || w.Digest == "" {
		return "", NoNote
	}
	asked, stored := revision.Digest(value[:at]), value[at+1:]
	if stored == string(w.Digest) {
		return asked, NotedContent
	}
	generation, err := strconv.ParseInt(stored, 10, 64)
	if spec := w.SpecGeneration(); err == nil && (spec == generation || spec == generation-1) {
		return asked, NotedGeneration
	}
	return "", NoNote
}

// Outdated returns the part of a work's metadata that is outdated, given the Placement that the work counts for; empty for none.
func (o *OwnerMetadata) Outdated(w *Work, placement string) string {
	is := w.read()
	if !o.isMarked(w) || placement != "" && is.placement != placement || is.copied != o.copied || !o.labelled(w.Object.Labels) {
		return "its labels changed"
	}
	if accepted := w.Accepted(); accepted != "" && w.Object.Annotations[workv1alpha1.AnnotationAccepted] != accepted {
		return "the API server's changes to it must be recorded"
	}
	if !is.keptByTools {
		return "nothing keeps GitOps tools from deleting it"
	}
	return ""
}

// labelled reports whether a work has all labels that it gets from its owner, and no label that a GitOps tool set on the owner.
func (o *OwnerMetadata) labelled(labels map[string]string) bool {
	missing := func(wanted label) bool { return !wanted.on(labels) }
	return !slices.ContainsFunc(o.wanted, missing) && !slices.ContainsFunc(o.tools, func(tool label) bool { return tool.on(labels) })
}

// keptByTools reports whether annotations keep GitOps tools from deleting a work.
func keptByTools(annotations map[string]string) bool {
	for _, keep := range keepOptions {
		if !hasOption(annotations[keep.annotation], keep.option) {
			return false
		}
	}
	return true
}
