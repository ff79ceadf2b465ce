package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// TestOutcome: a rollout is complete, stalled, or neither.
func TestOutcome(t *testing.T) {
	deadline := rt.Deadline("5m")
	two := rt.Clusters("c1", "c2")
	completed := rt.Work("c2", rt.AtRevision("bbb"), rt.Generation(2), rt.IsComplete(0, rt.Observed(1)))
	for name, tc := range map[string]struct {
		refs              []placement.Ref
		works             []work.Work
		complete, stalled bool
	}{
		"all succeeded":            {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), done("c2")}, complete: true},
		"one in flight":            {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), inFlight("c2")}},
		"one is created now":       {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1")}},
		"one soaks":                {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), done("c2", rt.JustSeenSucceeding())}},
		"one at the older":         {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), old("c2")}},
		"no cluster":               {refs: []placement.Ref{rt.Ref("p1")}},
		"decisions are missing":    {refs: []placement.Ref{rt.Ref("p1", two, rt.Expecting(3))}, works: []work.Work{done("c1"), done("c2")}},
		"too many decisions":       {refs: []placement.Ref{rt.Ref("p1", two, rt.Expecting(1))}, works: []work.Work{done("c1"), done("c2")}},
		"a Placement is missing":   {refs: []placement.Ref{rt.Ref("p1", two), rt.Ref("p2", rt.Missing())}, works: []work.Work{done("c1"), done("c2")}},
		"no decision is there yet": {refs: []placement.Ref{rt.Ref("p1", two), rt.Ref("p2", rt.Undecided())}, works: []work.Work{done("c1"), done("c2"), old("c3", rt.OfPlacement("p2"))}},
		"an empty selection":       {refs: []placement.Ref{rt.Ref("p1", two), rt.Ref("p2")}, works: []work.Work{done("c1"), done("c2"), old("c3", rt.OfPlacement("p2"))}},
		"its works are going":      {refs: []placement.Ref{rt.Ref("p1", two), rt.Ref("p2")}, works: []work.Work{done("c1"), done("c2"), old("c3", rt.OfPlacement("p2"), rt.Deleting())}, complete: true},
		"an empty ref beside":      {refs: []placement.Ref{rt.Ref("p1", two), rt.Ref("p2")}, works: []work.Work{done("c1"), done("c2")}, complete: true},
		"a ref can't be read":      {refs: []placement.Ref{rt.Ref("p1", two, rt.Deadline("soon"))}, works: []work.Work{done("c1"), old("c2")}},
		"overlapping refs":         {refs: []placement.Ref{rt.Ref("p1", two), rt.Ref("p2", two)}, works: []work.Work{done("c1"), done("c2")}, complete: true},
		"an unselected work fails": {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), done("c2"), broken("c3", rt.Unselected(10*minute))}, complete: true},
		"stored otherwise":         {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), done("c2", rt.StoredOtherwise("bbb"))}, complete: true},
		"one is being deleted":     {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{done("c1"), old("c2", rt.Deleting())}},

		"one failed, the rest waits":         {refs: []placement.Ref{rt.Ref("p1", deadline, two)}, works: []work.Work{failed("c1"), old("c2")}, stalled: true},
		"one failed, the rest succeeded":     {refs: []placement.Ref{rt.Ref("p1", deadline, two)}, works: []work.Work{failed("c1"), done("c2")}, stalled: true},
		"a tolerated failure at the end":     {refs: []placement.Ref{rt.Ref("p1", deadline, rt.MaxFailures(1), two)}, works: []work.Work{failed("c1"), done("c2")}, complete: true},
		"every cluster failed":               {refs: []placement.Ref{rt.Ref("p1", deadline, rt.MaxFailures(2), two)}, works: []work.Work{failed("c1"), failed("c2")}, stalled: true},
		"one in a mandatory group failed":    {refs: []placement.Ref{rt.Ref("p1", rt.Progressive(2), deadline, rt.MaxFailures(1), rt.Mandatory("a"), rt.Group("a", "c1"), rt.Group("b", "c2"))}, works: []work.Work{failed("c1"), done("c2")}, stalled: true},
		"one failed, one in flight":          {refs: []placement.Ref{rt.Ref("p1", deadline, two)}, works: []work.Work{failed("c1"), inFlight("c2")}},
		"one failed, one soaks":              {refs: []placement.Ref{rt.Ref("p1", deadline, two)}, works: []work.Work{failed("c1"), done("c2", rt.JustSeenSucceeding())}},
		"one failed, another is started":     {refs: []placement.Ref{rt.Ref("p1", deadline, rt.MaxFailures(1), two)}, works: []work.Work{failed("c1"), old("c2")}},
		"one failed, the other ref goes on":  {refs: []placement.Ref{rt.Ref("p1", deadline, rt.Clusters("c1")), rt.Ref("p2", rt.Clusters("c2"))}, works: []work.Work{failed("c1")}},
		"degraded before its deadline":       {refs: []placement.Ref{rt.Ref("p1", deadline, two)}, works: []work.Work{broken("c1"), done("c2")}},
		"degraded without a deadline":        {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{broken("c1"), old("c2")}, stalled: true},
		"degraded, and no deadline readable": {refs: []placement.Ref{rt.Ref("p1", rt.Deadline("soon"), two)}, works: []work.Work{broken("c1"), old("c2")}, stalled: true},
		"in flight without a deadline":       {refs: []placement.Ref{rt.Ref("p1", two)}, works: []work.Work{broken("c1"), inFlight("c2")}},
		"one takes no new revision":          {refs: []placement.Ref{rt.Ref("p1", deadline, two)}, works: []work.Work{done("c1"), completed}, stalled: true},
		"one ran to completion, and is stored differently": {
			refs:  []placement.Ref{rt.Ref("p1", deadline, two)},
			works: []work.Work{done("c1"), done("c2", rt.Edited(), rt.IsComplete(3*minute))}, complete: true,
		},
		"one ran to completion, and was edited after that": {
			refs:  []placement.Ref{rt.Ref("p1", deadline, two)},
			works: []work.Work{done("c1"), rt.Work("c2", rt.AtRevision("bbb"), rt.Edited(), rt.Generation(2), rt.IsComplete(0, rt.Observed(1)))}, stalled: true,
		},
		"a deselected one still has a slot": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Progressive(1), deadline, rt.MaxFailures(1), two)},
			works: []work.Work{failed("c1"), inFlight("c3", rt.Deleting())},
		},
		"a dropped one can still fail it": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), two)},
			works: []work.Work{done("c1"), done("c2"), inFlight("c3", rt.Deleting())},
		},
		"a dropped one is degraded": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), two)},
			works: []work.Work{done("c1"), done("c2"), broken("c3", rt.Unselected(10*minute))},
		},
		"a dropped one would be tolerated": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), rt.MaxFailures(1), two)},
			works: []work.Work{done("c1"), done("c2"), inFlight("c3", rt.Deleting())}, complete: true,
		},
		"dropped ones that never succeeded are one too many": { // The rollout is aborted.
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.MaxFailures(1), two)},
			works: []work.Work{done("c1"), done("c2"), failed("c3", rt.Deleting()), failed("c4", rt.Deleting())},
		},
		"a dropped one, and no abort is asked for": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("20m"), two)},
			works: []work.Work{done("c1"), done("c2"), inFlight("c3", rt.Deleting())}, complete: true,
		},
		"a dropped one, and no deadline ever comes": {
			refs:  []placement.Ref{rt.Ref("p1", rt.AbortAll(), two)},
			works: []work.Work{done("c1"), done("c2"), inFlight("c3", rt.Deleting())}, complete: true,
		},
		"a dropped one that had succeeded": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), two)},
			works: []work.Work{done("c1"), done("c2"), done("c3", rt.Deleting())}, complete: true,
		},
		"a dropped one of the older revision": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("20m"), rt.AbortAll(), two)},
			works: []work.Work{done("c1"), done("c2"), old("c3", rt.Deleting())}, complete: true,
		},
		"too many failures of the selected clusters, while others leave": {
			refs:  []placement.Ref{rt.Ref("p1", rt.Deadline("5m"), rt.MaxFailures("40%"), two), rt.Ref("p2", deadline, rt.Group("", "c5"))},
			works: []work.Work{failed("c1"), failed("c2"), failed("c3"), done("c4"), done("c5", rt.OfPlacement("p2"))}, stalled: true,
		},
		"labels alone don't make it go on": {
			refs:  []placement.Ref{rt.Ref("p1", deadline, two)},
			works: []work.Work{failed("c1", rt.OfPlacement("p0")), done("c2")}, stalled: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(rt.Now(10*minute), rt.Refs(tc.refs...), rt.Works(tc.works...))
			if p.Complete != tc.complete || p.Stalled != tc.stalled {
				t.Errorf("complete %v, stalled %v; want %v, %v; %v", p.Complete, p.Stalled, tc.complete, tc.stalled, p.Phases())
			}
		})
	}
}

// TestRelapse: a relapse after the rollout was complete is neither a new rollout nor an abort.
func TestRelapse(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Rolling("bbb", "bbb"), rt.Works(failed("c1"), done("c2")),
		rt.Refs(rt.Ref("p1", rt.Deadline("5m"), rt.AbortAll(), rt.Clusters("c1", "c2"))))
	if p.Abort != nil || p.Complete || !p.Stalled || len(texts(p)) > 0 {
		t.Errorf("abort %v, complete %v, stalled %v, %v", p.Abort, p.Complete, p.Stalled, texts(p))
	}
}

// TestRemove: which works are deleted, and when.
func TestRemove(t *testing.T) {
	one := rt.Ref("p1", rt.Clusters("c1"))
	const unselected = "Delete c2/web: no placement selects the cluster"
	for name, tc := range map[string]struct {
		refs    []placement.Ref
		works   []work.Work
		aborted bool
		want    []string
		recheck string
	}{
		"unselected for 5s":             {refs: []placement.Ref{one}, works: []work.Work{done("c1"), done("c2", rt.Unselected(10*minute-5*second))}, want: []string{unselected}, recheck: "0s"},
		"whatever revision it bears":    {refs: []placement.Ref{one}, works: []work.Work{done("c1"), rt.Work("c2", rt.Unselected(0))}, want: []string{unselected}, recheck: "0s"},
		"unselected for 4s":             {refs: []placement.Ref{one}, works: []work.Work{done("c1"), done("c2", rt.Unselected(10*minute-4*second))}, recheck: "1s"},
		"unselected just now":           {refs: []placement.Ref{one}, works: []work.Work{done("c1"), done("c2")}, recheck: "5s"},
		"decisions don't match, 14s":    {refs: []placement.Ref{rt.Ref("p1", rt.Clusters("c1"), rt.Expecting(2))}, works: []work.Work{done("c1"), done("c2", rt.Unselected(10*minute-14*second))}, recheck: "1s"},
		"decisions don't match, 15s":    {refs: []placement.Ref{rt.Ref("p1", rt.Clusters("c1"), rt.Expecting(2))}, works: []work.Work{done("c1"), done("c2", rt.Unselected(10*minute-15*second))}, want: []string{unselected}, recheck: "0s"},
		"another ref's don't match":     {refs: []placement.Ref{one, rt.Ref("p2", rt.Clusters("d1"), rt.Expecting(2))}, works: []work.Work{done("c1"), done("d1", rt.OfPlacement("p2")), done("c2", rt.Unselected(10*minute-6*second))}, recheck: "9s"},
		"a Placement without decisions": {refs: []placement.Ref{one, rt.Ref("p2", rt.Undecided())}, works: []work.Work{done("c1"), done("c2", rt.Unselected(0))}, recheck: "0s"},
		"a Placement is missing":        {refs: []placement.Ref{one, rt.Ref("p2", rt.Missing())}, works: []work.Work{done("c1"), done("c2", rt.Unselected(0))}, recheck: "0s"},
		"it is being deleted already":   {refs: []placement.Ref{one}, works: []work.Work{done("c1"), done("c2", rt.Unselected(0), rt.Deleting())}, recheck: "0s"},
		"while aborted":                 {refs: []placement.Ref{one}, works: []work.Work{old("c1"), done("c2", rt.Unselected(0))}, aborted: true, want: []string{unselected}, recheck: "0s"},
		"while aborted, not yet": {refs: []placement.Ref{one}, works: []work.Work{old("c1"), done("c2", rt.Unselected(10*minute-second))}, aborted: true,
			want: []string{"Update c2 to aaa: aborted"}, recheck: "4s"},
		"nothing is selected any more": {refs: []placement.Ref{rt.Ref("p1")}, works: []work.Work{done("c2", rt.Unselected(0))}, want: []string{unselected}, recheck: "0s"},
		"a second work: the one with another name": {refs: []placement.Ref{one}, works: []work.Work{done("c1", rt.Named("another"), rt.CreatedAt(-hour)), done("c1")},
			want: []string{"Delete c1/another: the cluster has another work of this owner"}, recheck: "0s"},
		"a second work: the younger": {refs: []placement.Ref{one}, works: []work.Work{done("c1", rt.Named("a")), done("c1", rt.Named("b"), rt.CreatedAt(-hour))},
			want: []string{"Delete c1/a: the cluster has another work of this owner"}, recheck: "0s"},
		"a second work: the later name": {refs: []placement.Ref{one}, works: []work.Work{done("c1", rt.Named("b")), done("c1", rt.Named("a"))},
			want: []string{"Delete c1/b: the cluster has another work of this owner"}, recheck: "0s"},
		"a second work: the one that goes already": {refs: []placement.Ref{one}, works: []work.Work{done("c1", rt.Deleting()), done("c1", rt.Named("a"))}, recheck: "0s"},
		"a third work": {refs: []placement.Ref{one}, works: []work.Work{done("c1", rt.Named("b")), done("c1", rt.Named("a")), done("c1")},
			want: []string{"Delete c1/a: the cluster has another work of this owner", "Delete c1/b: the cluster has another work of this owner"}, recheck: "0s"},
		"a second work, while a Placement is missing": {refs: []placement.Ref{one, rt.Ref("p2", rt.Missing())}, works: []work.Work{done("c1"), done("c1", rt.Named("a"))}, recheck: "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			options := []rt.SnapshotOption{rt.Now(10 * minute), rt.Refs(tc.refs...), rt.Works(tc.works...)}
			if tc.aborted {
				options = append(options, rt.Aborted())
			}
			p := decide(options...)
			require.Equal(t, tc.want, texts(p))
			if p.Recheck.String() != tc.recheck {
				t.Errorf("again after %s, want %s", p.Recheck, tc.recheck)
			}
		})
	}
}

// TestLabels: works have the labels of their owner, and a change to these labels is a metadata write.
func TestLabels(t *testing.T) {
	ref := rt.Refs(rt.Ref("p1", rt.Progressive(1), rt.Clusters("c1")))
	team := rt.OwnerLabel("team", "blue")
	relabel := []string{"Relabel c1: its labels changed"}
	argo := rt.OwnerLabel("argocd.argoproj.io/instance", "web")
	keep := []string{"Relabel c1: nothing keeps GitOps tools from deleting it"}
	for name, tc := range map[string]struct {
		options []rt.SnapshotOption
		work    []rt.WorkOption
		want    []string
		dropped []string
	}{
		"none":                       {},
		"new on the owner":           {options: []rt.SnapshotOption{team}, want: relabel},
		"copied":                     {options: []rt.SnapshotOption{team}, work: []rt.WorkOption{rt.Labelled("team", "blue"), rt.Copied("team")}},
		"copied, and not noted":      {options: []rt.SnapshotOption{team}, work: []rt.WorkOption{rt.Labelled("team", "blue")}, want: relabel},
		"another value":              {options: []rt.SnapshotOption{team}, work: []rt.WorkOption{rt.Labelled("team", "red"), rt.Copied("team")}, want: relabel},
		"gone from the owner":        {work: []rt.WorkOption{rt.Labelled("team", "blue"), rt.Copied("team")}, want: relabel, dropped: []string{"team"}},
		"gone from both":             {work: []rt.WorkOption{rt.Copied("team")}, want: relabel},
		"someone else's stays":       {work: []rt.WorkOption{rt.Labelled("cost-center", "7")}},
		"our own are never dropped":  {work: []rt.WorkOption{rt.Copied(workv1alpha1.LabelControllerHash)}, want: relabel},
		"the owner's don't win over": {options: []rt.SnapshotOption{rt.OwnerLabel(workv1alpha1.LabelPlacement, "p9"), rt.OwnerLabel(workv1alpha1.LabelControllerHash, "zzz")}, want: relabel},
		"another placement":          {work: []rt.WorkOption{rt.OfPlacement("p0")}, want: []string{"Relabel c1: its cluster belongs to p1 now"}},
		"a work that goes":           {options: []rt.SnapshotOption{team}, work: []rt.WorkOption{rt.Deleting()}},
		"a work that is written":     {options: []rt.SnapshotOption{team}, work: []rt.WorkOption{rt.Edited()}, want: []string{"Update c1 to bbb: restored: the content differs from what was written"}},
		"while aborted":              {options: []rt.SnapshotOption{team, rt.Aborted(), rt.Rolling("bbb", "ccc")}, want: relabel},

		"a GitOps tool's is not copied": {options: []rt.SnapshotOption{argo, rt.OwnerLabel("kustomize.toolkit.fluxcd.io/name", "web")}},
		"a GitOps tool's was copied": {
			options: []rt.SnapshotOption{argo},
			work:    []rt.WorkOption{rt.Labelled("argocd.argoproj.io/instance", "web"), rt.Copied("argocd.argoproj.io/instance")},
			want:    relabel, dropped: []string{"argocd.argoproj.io/instance"},
		},
		"a GitOps tool's was copied by OCM's hub": {
			options: []rt.SnapshotOption{argo},
			work:    []rt.WorkOption{rt.Labelled("argocd.argoproj.io/instance", "web")},
			want:    relabel, dropped: []string{"argocd.argoproj.io/instance"},
		},
		"a GitOps tool's of another application stays": {
			options: []rt.SnapshotOption{argo}, work: []rt.WorkOption{rt.Labelled("argocd.argoproj.io/instance", "fleet")},
		},
		"one that tools read, and others too, is copied": {options: []rt.SnapshotOption{rt.OwnerLabel("app.kubernetes.io/instance", "web")}, want: relabel},
		"pruning is not forbidden":                       {work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/sync-options", "")}, want: keep},
		"it counts as extraneous":                        {work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/compare-options", "")}, want: keep},
		"another option instead":                         {work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/sync-options", "Delete=false")}, want: keep},
		"another option beside it":                       {work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/sync-options", "Delete=false, Prune=false")}},
		"pruning is not forbidden, of a work that goes":  {work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/sync-options", ""), rt.Deleting()}},
		"pruning is not forbidden, while aborted": {
			options: []rt.SnapshotOption{rt.Aborted(), rt.Rolling("bbb", "ccc")}, work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/sync-options", "")}, want: keep,
		},
		"pruning is not forbidden, of a work that is written": {
			work: []rt.WorkOption{rt.Annotated("argocd.argoproj.io/sync-options", ""), rt.Edited()}, want: []string{"Update c1 to bbb: restored: the content differs from what was written"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := done("c1", tc.work...)
			s := rt.Snapshot(append([]rt.SnapshotOption{rt.Now(10 * minute), ref, rt.Works(w)}, tc.options...)...)
			p := rollout.Decide(s)
			require.Equal(t, tc.want, texts(p))
			write := rollout.Write{Owner: work.NewOwnerMetadata(s.Owner, s.Labels, s.Heard != nil), Placement: "p1", Work: &s.Works[0]}
			metadata := write.Metadata()
			require.Equal(t, tc.dropped, metadata.DroppedLabels)
			labels := metadata.Labels
			if _, set := labels[workv1alpha1.LabelControllerHash]; set || labels[workv1alpha1.LabelPlacement] != "p1" || labels[workv1alpha1.LabelReplicaSet] != rt.Owner {
				t.Errorf("%v", labels)
			}
		})
	}
}

// TestWorkAnnotations: options that others set stay.
func TestWorkAnnotations(t *testing.T) {
	const sync, compare = "argocd.argoproj.io/sync-options", "argocd.argoproj.io/compare-options"
	for existing, want := range map[string]string{
		"": "Prune=false", " ": "Prune=false", "Prune=false": "Prune=false", "Delete=false": "Delete=false,Prune=false",
		"Delete=false , Prune=false": "Delete=false , Prune=false", "Prune=confirm": "Prune=confirm,Prune=false",
	} {
		got := work.Annotations(map[string]string{sync: existing})
		require.Equal(t, map[string]string{sync: want, compare: "IgnoreExtraneous"}, got, "%q", existing)
	}
}

func TestCopiedLabels(t *testing.T) {
	s := rt.Snapshot(rt.OwnerLabel("b", "2"), rt.OwnerLabel("a", "1"), rt.OwnerLabel("argocd.argoproj.io/instance", "3"))
	write := rollout.Write{Owner: work.NewOwnerMetadata(s.Owner, s.Labels, s.Heard != nil), Action: rollout.Create, Revision: rt.Revision("bbb")}
	if got := write.Metadata().Annotations[workv1alpha1.AnnotationCopiedLabels]; got != "a,b" {
		t.Errorf("got %q", got)
	}
}

// TestAdopt: works of an older hub whose spec already matches this revision only get the hash, regardless of the strategy.
func TestAdopt(t *testing.T) {
	unlabelled := func(cluster, content string, more ...rt.WorkOption) work.Work {
		return rt.Work(cluster, append([]rt.WorkOption{rt.Holds(content), rt.Succeeded(0)}, more...)...)
	}
	p := decide(rt.Now(10*minute), rt.Rolling("", "bbb"), rt.Refs(rt.Ref("p1", rt.Progressive(2), rt.Clusters("c1", "c2", "c3", "c4", "c5"))),
		rt.Works(unlabelled("c1", "bbb"), unlabelled("c2", "bbb"), unlabelled("c3", "bbb"), unlabelled("c4", "aaa"),
			unlabelled("c5", "bbb", rt.Deleting()), unlabelled("c6", "bbb")))
	const why = "its spec already matches this revision"
	want := []string{"Adopt c1 to bbb: " + why, "Adopt c2 to bbb: " + why, "Adopt c3 to bbb: " + why}
	require.Equal(t, want, texts(p))
	if p.Complete || p.Stalled {
		t.Errorf("complete %v, stalled %v", p.Complete, p.Stalled)
	}
	if w := p.Writes[0]; w.Group != "0/" || w.Placement != "p1" {
		t.Errorf("%+v", w)
	}
}

// TestAccepted: a work that the API server stores with changes is reported, and counts as written.
func TestAccepted(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Refs(rt.Ref("p1", rt.Clusters("c1", "c2"))),
		rt.Works(done("c1"), done("c2", rt.StoredOtherwise("bbb"))))
	if len(p.Accepted) != 1 || p.Accepted[0].Cluster() != "c2" || p.Confirmed != 2 {
		t.Errorf("accepted %v, confirmed %d", p.Accepted, p.Confirmed)
	}
}

// TestAdoptOlder: works of an older hub whose spec is an older revision get the hash of that revision, except those whose turn has come.
func TestAdoptOlder(t *testing.T) {
	p := decide(rt.Now(10*minute), rt.Rolling("", "bbb"), rt.Older("aaa", "zzz"),
		rt.Refs(rt.Ref("p1", rt.Progressive(2), rt.Clusters("c1", "c2", "c3", "c4", "c5"))),
		rt.Works(rt.Work("c1", rt.Holds("aaa")), rt.Work("c2", rt.Holds("aaa")), rt.Work("c3", rt.Holds("zzz")),
			rt.Work("c4", rt.Edited()), rt.Work("c5", rt.Holds("aaa"), rt.Deleting())))
	const why = "its spec already matches this revision"
	want := []string{"Update c1 to bbb: its turn in p1", "Adopt c2 to aaa: " + why, "Adopt c3 to zzz: " + why}
	require.Equal(t, want, texts(p))
}
