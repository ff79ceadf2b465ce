package orphan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
)

// change changes a work.
type change func(*workv1.ManifestWork)

// cm returns the metadata that an agent reports for the n-th ConfigMap.
func cm(n int32) workv1.ManifestResourceMeta {
	return workv1.ManifestResourceMeta{
		Ordinal: n, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "default", Name: fmt.Sprint("demo-", n),
	}
}

// work returns a work of generation 5 with two ConfigMaps, applied and available.
func work(changes ...change) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "c1", Name: "web", Generation: 5, Finalizers: []string{workv1.ManifestWorkFinalizer},
	}}
	for n := range int32(2) {
		manifest := workv1.Manifest{}
		manifest.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo-%d","namespace":"default"}}`, n)
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, manifest)
		w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{ResourceMeta: cm(n)})
	}
	reports(5)(w)
	for _, change := range changes {
		change(w)
	}
	return w
}

func with(changes ...change) change {
	return func(w *workv1.ManifestWork) {
		for _, change := range changes {
			change(w)
		}
	}
}

func set(conditions *[]metav1.Condition, conditionType string, status metav1.ConditionStatus, reason, message string, generation int64) {
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}

// reports makes the agent report that it applied a generation, and found all objects.
func reports(generation int64) change {
	return func(w *workv1.ManifestWork) {
		set(&w.Status.Conditions, workv1.WorkApplied, metav1.ConditionTrue, "Applied", "", generation)
		set(&w.Status.Conditions, workv1.WorkAvailable, metav1.ConditionTrue, "ResourcesAvailable", "", generation)
		for i := range w.Status.ResourceStatus.Manifests {
			m := &w.Status.ResourceStatus.Manifests[i]
			set(&m.Conditions, workv1.ManifestApplied, metav1.ConditionTrue, "Applied", "", generation)
			set(&m.Conditions, workv1.ManifestAvailable, metav1.ConditionTrue, "ResourceAvailable", "", 0)
		}
	}
}

// manifest changes the agent's report about a manifest.
func manifest(n int, conditionType string, status metav1.ConditionStatus, reason, message string, generation int64) change {
	return func(w *workv1.ManifestWork) {
		set(&w.Status.ResourceStatus.Manifests[n].Conditions, conditionType, status, reason, message, generation)
	}
}

func refused(n int, generation int64) change {
	return manifest(n, workv1.ManifestApplied, metav1.ConditionFalse, "AppliedManifestFailed", "Failed to apply manifest: denied", generation)
}

func absent(n int) change {
	return manifest(n, workv1.ManifestAvailable, metav1.ConditionFalse, reasonMissing, "Resource is not available", 0)
}

func unknownKind(n int) change {
	return with(refused(n, 5), func(w *workv1.ManifestWork) { w.Status.ResourceStatus.Manifests[n].ResourceMeta.Resource = "" })
}

func complete(n int) change {
	return manifest(n, workv1.ManifestComplete, metav1.ConditionTrue, "ConditionRuleEvaluated", "", 5)
}

func workComplete(w *workv1.ManifestWork) {
	set(&w.Status.Conditions, workv1.WorkComplete, metav1.ConditionTrue, "ConditionRulesAggregated", "", 5)
}

func orphan(w *workv1.ManifestWork) {
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
}

// entry adds a configuration of the n-th ConfigMap.
func entry(n int32, strategy workv1.UpdateStrategyType, rules ...workv1.ConditionRule) change {
	return func(w *workv1.ManifestWork) {
		m := cm(n)
		option := workv1.ManifestConfigOption{ResourceIdentifier: identify(&m), ConditionRules: rules}
		if strategy != "" {
			option.UpdateStrategy = &workv1.UpdateStrategy{Type: strategy}
		}
		w.Spec.ManifestConfigs = append(w.Spec.ManifestConfigs, option)
	}
}

// never is the rule that keeps an object from completing.
var never = workv1.ConditionRule{Type: workv1.CelConditionExpressionsType, Condition: workv1.ManifestComplete, CelExpressions: []string{"false"}}

var completion = workv1.ConditionRule{Type: workv1.WellKnownConditionsType, Condition: workv1.WorkComplete}

// written changes a work to the release that the hub writes.
var written = with(orphan, entry(0, workv1.UpdateStrategyTypeCreateOnly), entry(1, workv1.UpdateStrategyTypeCreateOnly))

func unheld(w *workv1.ManifestWork) { w.Finalizers = nil }

func silent(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} }

// deleted marks a work as deleted, as an API server does.
func deleted(w *workv1.ManifestWork) {
	w.DeletionTimestamp = ptr.To(metav1.Now())
	w.Generation++
}

// R20, branch by branch.
func TestNext(t *testing.T) {
	for name, test := range map[string]struct {
		work *workv1.ManifestWork
		want Action
		held string
	}{
		"it was being deleted":                                {work(deleted), TooLate, ""},
		"it was released, and is being deleted":               {work(written, deleted), Leaving, ""},
		"it was written as released and deleted at once":      {work(written, reports(4), deleted), TooLate, ""},
		"one object was not released when it was deleted":     {work(written, refused(1, 5), deleted), TooLate, ""},
		"it is being deleted, and nothing was applied":        {work(unheld, silent, deleted), Leaving, ""},
		"nothing was applied":                                 {work(unheld, silent), Delete, ""},
		"somebody took the finalizer off":                     {work(unheld), Release, ""},
		"somebody took the finalizer off, and it is released": {work(unheld, written, reports(4)), Wait, ""},
		"it has no manifests":                                 {&workv1.ManifestWork{}, Delete, ""},
		"applied":                                             {work(), Release, ""},
		"the agent has not reported yet":                      {work(silent), Release, ""},
		"the template orphans everything":                     {work(orphan), Delete, ""},
		"the template orphans everything, and one is refused": {work(orphan, refused(0, 5)), Release, "ConfigMap default/demo-0: Failed to apply manifest: denied"},
		"complete":                                                      {work(workComplete, entry(0, "", completion)), DropCompletion, ""},
		"one manifest is complete":                                      {work(complete(0), entry(0, "", completion)), DropCompletion, ""},
		"complete, and the rules are gone":                              {work(workComplete, entry(0, "CreateOnly"), entry(1, "CreateOnly")), Wait, ""},
		"complete, the rules are gone, and one object is":               {work(workComplete, entry(0, "CreateOnly"), entry(1, "CreateOnly"), complete(1), absent(1)), DropCompletion, ""},
		"complete, and no object is left":                               {work(workComplete, entry(0, "", completion), complete(0), absent(0), absent(1)), DropCompletion, ""},
		"complete, no object is left, and the agent has seen that":      {work(workComplete, entry(0, "ReadOnly"), entry(1, "ReadOnly", never), complete(0), absent(0), absent(1)), Delete, ""},
		"complete, no object is left, and it has not":                   {work(workComplete, entry(0, "ReadOnly"), entry(1, "ReadOnly", never), complete(0), absent(0), absent(1), available(4)), Wait, ""},
		"complete, no object is left, and it is being deleted":          {work(workComplete, entry(0, "ReadOnly"), entry(1, "ReadOnly", never), complete(0), absent(0), absent(1), deleted), Leaving, ""},
		"complete, and its objects go with it":                          {work(workComplete, entry(0, "CreateOnly"), entry(1, "CreateOnly"), complete(0), absent(0), absent(1), deleted), TooLate, ""},
		"one manifest is complete, and its object is gone":              {work(complete(0), absent(0), entry(0, "", completion)), Release, ""},
		"one manifest is complete, its object gone, and it is released": {work(complete(0), absent(0), orphan, entry(0, "ReadOnly"), entry(1, "CreateOnly", never)), Delete, ""},
		"not complete any more":                                         {work(entry(0, "CreateOnly"), entry(1, "CreateOnly")), Release, ""},
		"one manifest is complete although it is released":              {work(written, complete(0)), DropCompletion, ""},
		"released, and not applied":                                     {work(written, reports(4)), Wait, ""},
		"released, and applied":                                         {work(written), Delete, ""},
		"released, and one is refused":                                  {work(written, refused(1, 5)), Wait, "ConfigMap default/demo-1: Failed to apply manifest: denied"},
		"released, and one is missing":                                  {work(written, refused(1, 5), absent(1)), Delete, ""},
		"released, and one was missing before":                          {work(written, refused(1, 5), absent(1), available(4)), Wait, "ConfigMap default/demo-1: Failed to apply manifest: denied"},
		"released, and the agent says nothing of one":                   {work(written, forget(1)), Wait, "manifest 1: the agent does not report it"},
		"released, and a manifest is older":                             {work(written, manifest(0, workv1.ManifestApplied, metav1.ConditionTrue, "Applied", "", 4)), Wait, "ConfigMap default/demo-0: the agent has not applied it"},
		"released, and its kind is unknown":                             {work(orphan, entry(0, "CreateOnly"), unknownKind(1)), Delete, ""},
		"released, and its kind was known then":                         {work(written, unknownKind(1)), Wait, "ConfigMap default/demo-1: Failed to apply manifest: denied"},
		"read only, and there":                                          {work(entry(0, "ReadOnly")), Release, ""},
		"read only and released, and there":                             {work(orphan, entry(0, "ReadOnly"), entry(1, "CreateOnly")), Release, "ConfigMap default/demo-0: it is read only, and the agent does not report whether it exists"},
		"read only and released, and missing":                           {work(orphan, entry(0, "ReadOnly"), entry(1, "CreateOnly"), absent(0)), Delete, ""},
		"read only and released, and the agent does not say if there":   {work(orphan, entry(0, "ReadOnly"), entry(1, "CreateOnly"), unavailable(0)), Wait, "ConfigMap default/demo-0: it is read only, and the agent does not report whether it exists"},
	} {
		t.Run(name, func(t *testing.T) {
			step := Next(test.work)
			require.Equal(t, test.want, step.Action)
			var held []string
			for _, m := range step.Unreleased {
				held = append(held, m.Name+": "+m.Message)
			}
			require.Equal(t, test.held, strings.Join(held, "; "))
			require.Equal(t, step.Spec != nil, step.Action == Release || step.Action == DropCompletion)
		})
	}
}

// available sets the generation at which the agent checked the objects.
func available(generation int64) change {
	return func(w *workv1.ManifestWork) {
		set(&w.Status.Conditions, workv1.WorkAvailable, metav1.ConditionFalse, "ResourcesNotAvailable", "", generation)
	}
}

func unavailable(n int) change {
	return manifest(n, workv1.ManifestAvailable, metav1.ConditionUnknown, "FetchingResourceFailed", "", 0)
}

func forget(n int) change {
	return func(w *workv1.ManifestWork) {
		w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests[:n], w.Status.ResourceStatus.Manifests[n+1:]...)
	}
}

// A release has an entry for each object, and keeps the other settings (F4, F5).
func TestReleasedSpec(t *testing.T) {
	feedback := workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "*", Name: "*"},
		FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.WellKnownStatusType}},
		ConditionRules:     []workv1.ConditionRule{completion},
	}
	before := work(entry(1, workv1.UpdateStrategyTypeServerSideApply, completion), func(w *workv1.ManifestWork) {
		w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{Type: workv1.ExecutorSubjectTypeServiceAccount}}
		w.Spec.DeleteOption = &workv1.DeleteOption{
			PropagationPolicy:       workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
			SelectivelyOrphan:       &workv1.SelectivelyOrphan{},
			TTLSecondsAfterFinished: ptr.To[int64](60),
		}
		w.Spec.ManifestConfigs = append(w.Spec.ManifestConfigs, feedback)
	})
	untouched := before.DeepCopy()
	spec := Next(before).Spec
	require.Equal(t, untouched, before, "the work may be shared with a cache")

	want := untouched.Spec.DeepCopy()
	want.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	feedback.ConditionRules = nil
	want.ManifestConfigs = append(work(entry(0, "CreateOnly"), entry(1, "CreateOnly")).Spec.ManifestConfigs, feedback)
	require.Equal(t, want, spec)
}

// To remove a completion, the hub uses a different deleteOption than for the release, because an agent does not apply the same spec twice
// (F6).
func TestUncompletedSpec(t *testing.T) {
	for name, test := range map[string]struct {
		before, after *workv1.DeleteOption
	}{
		"none": {nil, nil},
		"foreground with a TTL": {
			&workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground, TTLSecondsAfterFinished: ptr.To[int64](1)},
			&workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground},
		},
		"orphan": {&workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			// A Job that ran to completion and was deleted is not recreated.
			before := work(workComplete, entry(0, "", completion), absent(1), func(w *workv1.ManifestWork) { w.Spec.DeleteOption = test.before })
			step := Next(before)
			require.Equal(t, DropCompletion, step.Action)
			require.Equal(t, test.after, step.Spec.DeleteOption)
			require.Equal(t, work(entry(0, "CreateOnly"), entry(1, "ReadOnly")).Spec.ManifestConfigs, step.Spec.ManifestConfigs)
			after := before.DeepCopy()
			after.Spec, after.Generation = *step.Spec, 6
			require.Equal(t, Wait, Next(after).Action)
			meta.RemoveStatusCondition(&after.Status.Conditions, workv1.WorkComplete)
			last := Next(after)
			require.Equal(t, Release, last.Action)
			require.NotEqual(t, step.Spec.DeleteOption, last.Spec.DeleteOption)
			require.Equal(t, step.Spec.ManifestConfigs, last.Spec.ManifestConfigs, "what is gone stays read only")
		})
	}
}

// An agent does not remove the completion of a deleted object, and applies nothing while all objects that can complete are complete. So
// another object is kept from completing until the last write.
func TestUncompletedSpecOfAnObjectThatIsGone(t *testing.T) {
	w := work(workComplete, entry(0, "", completion), complete(0), absent(0))
	for _, action := range []Action{DropCompletion, Release} {
		step := Next(w)
		require.Equal(t, action, step.Action)
		require.Equal(t, work(entry(0, "ReadOnly"), entry(1, "CreateOnly", never)).Spec.ManifestConfigs, step.Spec.ManifestConfigs)
		w.Spec = *step.Spec
		w.Generation++
		require.Equal(t, Wait, Next(w).Action)
		set(&w.Status.Conditions, workv1.WorkComplete, metav1.ConditionFalse, "ConditionRulesAggregated", "", w.Generation)
	}
}

// An agent's reports about objects that are not in the manifests add no entries, so the number of entries does not grow.
func TestReportsOfOtherObjects(t *testing.T) {
	w := work()
	for round := range 20 {
		w.Status.ResourceStatus.Manifests[0].ResourceMeta.Name = fmt.Sprint("other-", round)
		w.Status.ResourceStatus.Manifests[1].ResourceMeta.Resource = fmt.Sprint("configmaps", round)
		w.Spec = *released(w)
		require.LessOrEqual(t, len(w.Spec.ManifestConfigs), 3)
		require.NotContains(t, fmt.Sprint(w.Spec.ManifestConfigs), "other-")
	}
}

// A default of the API server does not count as a difference: a release is written once.
func TestDefaultsAreNoDifference(t *testing.T) {
	w := work(reports(4))
	w.Spec = *Next(w).Spec
	for i := range w.Spec.ManifestConfigs {
		w.Spec.ManifestConfigs[i].FeedbackScrapeType = workv1.FeedbackPollType
	}
	require.Equal(t, Wait, Next(w).Action)
}

// AwaitsAgent is true only for a release that the agent has not applied.
func TestAwaitsAgent(t *testing.T) {
	for name, test := range map[string]struct {
		work *workv1.ManifestWork
		want bool
	}{
		"released, not applied":                  {work(written, reports(4)), true},
		"released, nothing reported":             {work(written, silent), true},
		"released, applied":                      {work(written), false},
		"released, without finalizer":            {work(written, silent, unheld), false},
		"released, complete":                     {work(written, reports(4), workComplete), false},
		"released, being deleted":                {work(written, reports(4), deleted), false},
		"not released":                           {work(reports(4)), false},
		"orphaned by the template, not yet seen": {work(orphan, silent), true},
	} {
		require.Equal(t, test.want, AwaitsAgent(test.work), name)
	}
}

func TestFinal(t *testing.T) {
	for action, want := range map[Action]bool{
		DropCompletion: false, Release: false, Delete: false, Wait: false, Leaving: true, TooLate: true,
	} {
		step := Step{Action: action}
		require.Equal(t, want, step.Final(), action)
	}
}
