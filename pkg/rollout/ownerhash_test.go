package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestOwnerHash: with the owner hash, works that lack the label or the annotation of their owner get both. Without it, works keep them,
// and only the old label is restored. If the old label of an owner would be too long, its works have only the new label.
func TestOwnerHash(t *testing.T) {
	hash, key := workv1alpha1.OwnerHash(rt.OwnerNamespace, rt.OwnerName), rt.OwnerNamespace+"/"+rt.OwnerName
	pair := []rt.WorkOption{rt.Labelled(workv1alpha1.LabelOwnerHash, hash), rt.Annotated(workv1alpha1.AnnotationOwner, key)}
	noLabel := func(w *work.Work) { delete(w.Object.Labels, workv1alpha1.LabelReplicaSet) }
	hashed := func(s *rollout.Snapshot) { s.OwnerHash = true }
	long := strings.Repeat("n", 70)
	longHash := workv1alpha1.OwnerHash("ns", long)
	longName := func(s *rollout.Snapshot) { s.OwnerHash, s.Owner = true, "ns."+long }
	for name, tc := range map[string]struct {
		snapshot        rt.SnapshotOption
		work            []rt.WorkOption
		relabels        bool
		old, hash, note string
	}{
		"off":                               {old: rt.Owner},
		"off, and switched off lately":      {work: pair, old: rt.Owner},
		"off, and only the new label":       {work: append(slices.Clone(pair), noLabel), relabels: true, old: rt.Owner},
		"on":                                {snapshot: hashed, relabels: true, old: rt.Owner, hash: hash, note: key},
		"on, and written":                   {snapshot: hashed, work: pair, old: rt.Owner, hash: hash, note: key},
		"on, and the annotation is missing": {snapshot: hashed, work: pair[:1], relabels: true, old: rt.Owner, hash: hash, note: key},
		"on, and another's hash": {
			snapshot: hashed, work: []rt.WorkOption{rt.Labelled(workv1alpha1.LabelOwnerHash, "x"), pair[1]}, relabels: true, old: rt.Owner, hash: hash, note: key,
		},
		"on, and only the new label": {
			snapshot: hashed, work: append(slices.Clone(pair), noLabel), relabels: true, old: rt.Owner, hash: hash, note: key,
		},
		"a long name": {
			snapshot: longName, relabels: true, work: []rt.WorkOption{noLabel}, hash: longHash, note: "ns/" + long,
		},
		"a long name, and written": {
			snapshot: longName, hash: longHash, note: "ns/" + long, work: []rt.WorkOption{
				noLabel, rt.Labelled(workv1alpha1.LabelOwnerHash, longHash), rt.Annotated(workv1alpha1.AnnotationOwner, "ns/"+long),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rt.Snapshot(rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1", "c2"))), rt.Works(done("c1", tc.work...)),
				rt.OwnerLabel(workv1alpha1.LabelOwnerHash, "made up"), rt.OwnerLabel(workv1alpha1.LabelReplicaSet, "made up"))
			s.Works[0].Object.Annotations[workv1alpha1.AnnotationCopiedLabels] = workv1alpha1.LabelReplicaSet + "," + workv1alpha1.LabelOwnerHash
			if tc.snapshot != nil {
				tc.snapshot(s)
			}
			p := rollout.Decide(s)
			relabelled, created := false, false
			for i := range p.Writes {
				w := &p.Writes[i]
				relabelled, created = relabelled || w.Action == rollout.Relabel, created || w.Action == rollout.Create
				m := w.Metadata()
				require.Equal(t, tc.old, m.Labels[workv1alpha1.LabelReplicaSet])
				require.Equal(t, tc.hash, m.Labels[workv1alpha1.LabelOwnerHash])
				require.Equal(t, tc.note, m.Annotations[workv1alpha1.AnnotationOwner])
				require.NotContains(t, m.DroppedLabels, workv1alpha1.LabelOwnerHash)
			}
			require.True(t, created)
			require.Equal(t, tc.relabels, relabelled)
		})
	}
}
