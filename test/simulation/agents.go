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

// Outcome is what an agent makes of a version.
type Outcome string

// The outcomes.
const (
	// Succeeds reports progress, then success.
	Succeeds Outcome = "succeeds"
	// Lies reports the old outcome under the new generation first, as real agents do, then as Succeeds.
	Lies Outcome = "lies, then succeeds"
	// LiesThenHangs reports the old outcome under the new generation first, and then that it never gets there.
	LiesThenHangs Outcome = "lies, then hangs"
	// Hangs reports progress for ever.
	Hangs Outcome = "hangs"
	// Degrades reports one manifest of several as degraded.
	Degrades Outcome = "degrades"
	// Completes reports progress, then that it ran to completion: from then on it takes no new spec of the work.
	Completes Outcome = "runs to completion"
	// Flaps gets there for a moment, and is sick again, by turns: a crash loop. In the end it stays sick.
	Flaps Outcome = "flaps"
	// Clings can't give up what it owns, and succeeds otherwise: a policy on the cluster denies it.
	Clings Outcome = "clings to what it owns"
	// Silent reports nothing: the cluster is cut off.
	Silent Outcome = "silent"
)

// finalizer keeps a work until its agent let it go.
const finalizer = workv1.ManifestWorkFinalizer

// reportDelay is the time between two reports of an agent.
const reportDelay = time.Second

// A crash loop is well for less time than a success takes to settle, sick for less than any deadline, and over after so many reports.
const (
	flapWell  = 2 * time.Second
	flapSick  = 6 * time.Second
	flapStage = 50
)

// agent is what the agent of a work did so far.
type agent struct {
	generation int64
	stage      int
	due        time.Time
	outcome    Outcome
	// said is when it reported last.
	said time.Time
	// reports are what it said so far, in the order of the works' resourceVersions.
	reports []agentReport
	// reached is when the hub wrote what it was successful with last.
	reached string
	// idle says that it does nothing before another spec comes.
	idle bool
}

// agentReport is what an agent said in truth, and the resourceVersion of the work that says so.
type agentReport struct {
	version    int64
	generation int64
	success    bool
	at         time.Time
}

// Version reads which version a work holds.
func Version(work *workv1.ManifestWork) string { return testwork.Version(&work.Spec) }

// Template is the template of a version.
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

// runAgents lets every agent that is due report once, and returns when the next one is due, zero for never.
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

// agentOf returns what an agent knows of a work. It begins again where the work, or what becomes of it, is another one.
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

// runReports reports a work as far as it is due, and returns when the next report is.
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
	w.apply(work, outcome, status)
	w.reportObjects(work, status, lies)
	version, sent := w.saveStatus(work, status)
	if !sent {
		return time.Time{} // It tries again when it is connected.
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

// saveStatus reports a status to the API server, or over a broker. It returns by what the report is known, and whether it was taken.
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

// lied reports whether an agent has still to take back what it said of a work. It does before it falls silent: an agent that is cut off within
// the second between the two can't be told from one that succeeded (R10 waits for --success-settle, and for no longer).
func (a *agent) lied(work *workv1.ManifestWork) bool {
	lies := a.outcome == Lies || a.outcome == LiesThenHangs
	return lies && a.stage == 1 && a.generation == work.Generation && work.DeletionTimestamp.IsZero()
}

// report fills in what an agent reports at a stage, and reports whether more is to come, and whether it is a true success.
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
		if status.Conditions[i].Type != gateType { // Not the agent's.
			status.Conditions[i].ObservedGeneration = generation
		}
	}
	return true
}

// specGeneration is the generation that the last write of a work's spec made: its deletion made another one, but over a broker.
func (w *World) specGeneration(work *workv1.ManifestWork) int64 {
	if work.DeletionTimestamp.IsZero() || w.Network != nil {
		return work.Generation
	}
	return work.Generation - 1
}

// succeeded reports whether a work, as it was at its resourceVersion, has the report of its agent that what it holds succeeds. A
// hub whose cache is behind can know no more.
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

// reached reports whether a work was successful since the hub wrote it last, whatever came after.
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

// Report says what agents make of a version from now on. An empty cluster or version stands for all.
func (w *World) Report(cluster, version string, outcome Outcome) {
	w.outcomes[cluster+"/"+version] = outcome
	w.agentsSaw = 0
	if w.Network != nil {
		w.Network.reconsider(cluster)
	}
}
