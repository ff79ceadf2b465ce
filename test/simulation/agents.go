package simulation

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/test/internal/testwork"
)

// Outcome is the result of a version on a cluster.
type Outcome string

// The outcomes.
const (
	// Succeeds reports progress, then success.
	Succeeds Outcome = "succeeds"
	// Lies repeats the old outcome under the new generation first, as real agents do, and then behaves like Succeeds.
	Lies Outcome = "lies, then succeeds"
	// LiesThenHangs repeats the old outcome under the new generation first, and then never succeeds.
	LiesThenHangs Outcome = "lies, then hangs"
	// Hangs reports progress forever.
	Hangs Outcome = "hangs"
	// Degrades reports one manifest of several as degraded.
	Degrades Outcome = "degrades"
	// Completes reports progress, and then that the work ran to completion: after that, it accepts no new spec of the work.
	Completes Outcome = "runs to completion"
	// Flaps alternates between short successes and failures, as in a crash loop. In the end it stays failed.
	Flaps Outcome = "flaps"
	// Clings can't release the objects that it owns, because a policy on the cluster denies it. Otherwise it succeeds.
	Clings Outcome = "clings to what it owns"
	// Silent reports nothing: the cluster is cut off.
	Silent Outcome = "silent"
)

// finalizer keeps a work until its agent has released it.
const finalizer = workv1.ManifestWorkFinalizer

// reportDelay is the time between two reports from an agent.
const reportDelay = time.Second

// A crash loop succeeds for less time than a success takes to settle, fails for less time than any deadline, and ends after this number of
// reports.
const (
	flapWell  = 2 * time.Second
	flapSick  = 6 * time.Second
	flapStage = 50
)

// agent is the history of the agent of a work.
type agent struct {
	generation int64
	stage      int
	due        time.Time
	outcome    Outcome
	// said is the time of its last report.
	said time.Time
	// reports are its reports so far, in the order of the works' resourceVersions.
	reports []agentReport
	// reached is the time of the write with which it last succeeded.
	reached string
	// idle is true if it does nothing until the spec changes.
	idle bool
}

// agentReport is a true report from an agent, with the resourceVersion of the work that contains it.
type agentReport struct {
	version    int64
	generation int64
	success    bool
	at         time.Time
}

// Version returns the version that a work holds.
func Version(work *workv1.ManifestWork) string { return testwork.Version(&work.Spec) }

// Template returns the template of a version.
func Template(version string) workv1.ManifestWorkSpec {
	template := workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: make([]workv1.Manifest, 1)}}
	template.Workload.Manifests[0].Raw = fmt.Appendf(nil, `{"apiVersion":"v1","data":{"version":%q},"kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"}}`, version)
	template.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: "demo"},
		ConditionRules: []workv1.ConditionRule{
			{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkProgressing, CelExpressions: []string{"false"}},
		},
	}}
	return template
}

// runAgents lets every agent that is due report once, and returns the time at which the next one is due; zero if none
// is.
func (w *World) runAgents() time.Time {
	var next time.Time
	for _, object := range w.API.List(Works, "", nil) {
		work := as[workv1.ManifestWork](w.API, object)
		due := w.runAgent(work)
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

func (w *World) runAgent(work *workv1.ManifestWork) time.Time {
	outcome := w.outcome(work.Namespace, Version(work))
	if a := w.agents[work.UID]; outcome == Silent && a != nil && a.lied(work) {
		outcome = a.outcome
	}
	if outcome == Silent || w.adversaries.hold.Has(work.Namespace) && !work.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	if !work.DeletionTimestamp.IsZero() {
		w.cleanUp(work)
		w.forgetObjects(work)
		w.patch(Works, work.Namespace, work.Name, map[string]any{"metadata": map[string]any{"finalizers": nil}}, false)
		return time.Time{}
	}
	if len(work.Finalizers) == 0 {
		w.patch(Works, work.Namespace, work.Name, map[string]any{"metadata": map[string]any{"finalizers": []string{finalizer}}}, false)
	}
	if meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkComplete) {
		w.forgetCompletion(work, outcome)
		return time.Time{}
	}
	return w.runReports(work, outcome)
}

// agentOf returns the history of an agent with a work. It starts again if the work, or its outcome, is different.
func (w *World) agentOf(work *workv1.ManifestWork, outcome Outcome) *agent {
	a := w.agents[work.UID]
	if a == nil {
		a = &agent{}
		w.agents[work.UID] = a
	}
	if a.generation != work.Generation || a.outcome != outcome {
		*a = agent{generation: work.Generation, outcome: outcome, due: w.Clock.Now().Add(reportDelay), reports: a.reports, reached: a.reached}
	}
	return a
}

// runReports sends the reports about a work that are due, and returns the time at which the next report is due.
func (w *World) runReports(work *workv1.ManifestWork, outcome Outcome) time.Time {
	if outcome == Completes && !hasRules(work) {
		outcome = Succeeds
	}
	a := w.agentOf(work, outcome)
	if a.due.IsZero() || a.due.After(w.Clock.Now()) {
		return a.due
	}
	if a.idle {
		return time.Time{}
	}
	status := work.Status.DeepCopy()
	lies := outcome.liesAt(a.stage) && repeats(status, work.Generation)
	more, success := report(status, work.Generation, outcome, a.stage, w.Clock.Now().Add(w.AgentsAhead[work.Namespace]))
	if !lies {
		w.apply(work, outcome, status)
	}
	w.reportObjects(work, status, lies)
	version, sent := w.saveStatus(work, status)
	if !sent {
		return time.Time{} // It retries when it is connected.
	}
	a.stage, a.said = a.stage+1, w.Clock.Now()
	w.applyObjects(work, lies, success)
	if success {
		a.reached = work.Annotations[workv1alpha1.AnnotationAppliedAt]
	}
	a.due = time.Time{}
	if more {
		a.due = w.Clock.Now().Add(pause(outcome, success))
	}
	a.reports = append(a.reports, agentReport{version, work.Generation, success, w.Clock.Now()})
	return a.due
}

// saveStatus sends a status to the API server, or over a broker. It returns the version of the report, and whether the report was accepted.
func (w *World) saveStatus(work *workv1.ManifestWork, status *workv1.ManifestWorkStatus) (version int64, sent bool) {
	if w.Network != nil {
		return w.Network.report(work, status)
	}
	return w.patch(Works, work.Namespace, work.Name, map[string]any{"status": status}, true), true
}

// pause is the time until an agent's next report.
func pause(outcome Outcome, success bool) time.Duration {
	switch {
	case outcome != Flaps:
		return reportDelay
	case success:
		return flapWell
	}
	return flapSick
}

// lied reports whether an agent has yet to correct a false report about a work. An agent corrects its report before it falls silent: if it
// were cut off in the second between the two, the hub could not distinguish it from one that succeeded (R10 waits only for
// --success-settle).
func (a *agent) lied(work *workv1.ManifestWork) bool {
	lies := a.outcome == Lies || a.outcome == LiesThenHangs
	return lies && a.stage == 1 && a.generation == work.Generation && work.DeletionTimestamp.IsZero()
}

// report fills in the status that an agent reports at a stage. It returns whether more reports follow, and whether this one is a true
// success.
func report(status *workv1.ManifestWorkStatus, generation int64, outcome Outcome, stage int, now time.Time) (more, success bool) {
	set := func(conditions *[]metav1.Condition, conditionType string, value bool) {
		c := metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: "Simulated", ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now)}
		if value {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(conditions, c)
	}
	if outcome == Lies || outcome == LiesThenHangs {
		if stage == 0 && stamp(status, generation) {
			return true, false
		}
		stage--
	}
	if outcome == Flaps {
		well := stage%2 == 1 && stage < flapStage
		set(&status.Conditions, workv1.WorkApplied, true)
		set(&status.Conditions, workv1.WorkAvailable, true)
		set(&status.Conditions, workv1.WorkProgressing, !well)
		return stage < flapStage, well
	}
	stuck := outcome == Hangs || outcome == LiesThenHangs || outcome == Degrades
	set(&status.Conditions, workv1.WorkApplied, true)
	set(&status.Conditions, workv1.WorkAvailable, true)
	set(&status.Conditions, workv1.WorkProgressing, stuck || stage <= 0)
	success = !stuck && stage > 0
	if outcome == Completes {
		set(&status.Conditions, workv1.WorkComplete, success)
	}
	status.ResourceStatus.Manifests = []workv1.ManifestCondition{{}, {}}
	if outcome == Degrades {
		set(&status.ResourceStatus.Manifests[1].Conditions, workv1.ManifestDegraded, true)
	}
	if outcome == Completes {
		set(&status.ResourceStatus.Manifests[0].Conditions, workv1.ManifestComplete, success)
	}
	return !stuck && stage <= 0, success
}

// liesAt reports whether an agent reports the old outcome at a stage, if there is one.
func (o Outcome) liesAt(stage int) bool { return (o == Lies || o == LiesThenHangs) && stage == 0 }

// repeats reports whether there are conditions of an older generation.
func repeats(status *workv1.ManifestWorkStatus, generation int64) bool {
	return len(status.Conditions) > 0 && status.Conditions[0].ObservedGeneration != generation
}

// stamp gives the conditions of an older generation a newer one, and reports whether there were any.
func stamp(status *workv1.ManifestWorkStatus, generation int64) bool {
	if !repeats(status, generation) {
		return false
	}
	for i := range status.Conditions {
		if status.Conditions[i].Type != gateType { // It does not belong to the agent.
			status.Conditions[i].ObservedGeneration = generation
		}
	}
	return true
}

// specGeneration returns the generation of the last write of a work's spec. The deletion increases the generation once more, except over a
// broker.
func (w *World) specGeneration(work *workv1.ManifestWork) int64 {
	if work.DeletionTimestamp.IsZero() || w.Network != nil {
		return work.Generation
	}
	return work.Generation - 1
}

// succeeded reports whether a work, as it was at its resourceVersion, contains the agent's report that its content succeeds. A hub whose
// cache is behind can't know more.
func (w *World) succeeded(work *workv1.ManifestWork) bool {
	a := w.agents[work.UID]
	if a == nil {
		return false
	}
	bears := reportOf(work)
	if w.Network == nil {
		bears = versionOf(work)
	}
	for _, r := range slices.Backward(a.reports) {
		if r.version <= bears {
			return r.success && r.generation == w.specGeneration(work)
		}
	}
	return false
}

// reached reports whether a work has succeeded since the hub last wrote it, even if it failed later.
func (w *World) reached(work *workv1.ManifestWork) bool {
	a := w.agents[work.UID]
	return a != nil && (a.reached == work.Annotations[workv1alpha1.AnnotationAppliedAt] || w.succeeded(work))
}

func (w *World) outcome(cluster, version string) Outcome {
	for _, k := range []string{cluster + "/" + version, cluster + "/", "/" + version} {
		if outcome, ok := w.outcomes[k]; ok {
			return outcome
		}
	}
	return Succeeds
}

// Report sets the outcome of a version on a cluster. An empty cluster or version stands for all.
func (w *World) Report(cluster, version string, outcome Outcome) {
	w.outcomes[cluster+"/"+version] = outcome
	w.agentsSaw = 0
	if w.Network != nil {
		w.Network.reconsider(cluster)
	}
}
