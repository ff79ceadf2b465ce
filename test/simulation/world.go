package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	// Namespace is the namespace of the ManifestWorkReplicaSet.
	Namespace = "default"
	// Name is the name of the ManifestWorkReplicaSet.
	Name = "web"
	// settleTime is the time that a success must last for the process. It is longer than a false report from an agent
	// lasts.
	settleTime = 3 * time.Second
)

// World is a hub with its clusters, and with everything that can happen to them.
type World struct {
	API   *API
	Clock *clocktesting.FakeClock
	Hub   *Process
	// Network carries the works; nil if works go through the API server.
	Network *Network
	// Story is the list of steps, one per line.
	Story []string
	// Check is called after each write by the hub; nil for no check.
	Check func(write string)
	// Between is called after each write and each pass of the hub; nil for nothing.
	Between func()
	// Fault is set on each process of the hub.
	Fault func(write string) Fault
	// Refusals are the answers from the API server to writes of the works of a cluster, for as long as they are in the map: a quota, a policy,
	// or a webhook that is down.
	Refusals map[string]Fault
	// Irreparable are the hashes of revisions that a user deleted: only that of the template in the spec is created again.
	Irreparable sets.Set[string]
	// unrecorded are the hashes of revisions that were rolled out while no ControllerRevision could be made, or that were pruned while the hub
	// could not know the works that have them.
	unrecorded sets.Set[string]
	// Away is true if another hub runs instead of this one.
	Away bool
	// GeneratesNames is true if the other hub is one of OCM 1.3, which lets the API server generate the end of a new work's name.
	GeneratesNames bool
	// Drops gives each version an object of its own, which every other version drops, and sets pruneStrategy WhenAvailable.
	Drops bool
	// BrokenKept prevents kept objects from being applied beside those of a newer version.
	BrokenKept bool
	// serving holds the version that serves on each cluster.
	serving map[string]*clusterObjects
	// brokenHandover is the first breach of P10.
	brokenHandover error
	// Lag limits how many of the waiting events the hub's caches may see; nil shows them all.
	Lag func(waiting int) int

	began    time.Time
	agents   map[types.UID]*agent
	outcomes map[string]Outcome
	gates    gates
	// HubAhead is how far the clock of the hub's machine is ahead of the API server's.
	HubAhead time.Duration
	// AgentsAhead is how far the clock of each cluster's agent is ahead of the hub's.
	AgentsAhead map[string]time.Duration
	again       time.Time
	due         bool
	events      []string
	lastErr     string
	// started holds the time of the last write of each work.
	started map[string]string
	// currentSince holds when each revision became the current one: a ledger that the hub had may count again.
	currentSince map[string]sets.Set[time.Time]
	// becameCurrent is the hash of the revision that became the current one with the last write; empty for none.
	becameCurrent string
	// made holds the order in which the revisions were created, by name.
	made map[string]int
	// agentsSaw and agentsDue let the agents skip a check if nothing has changed.
	agentsSaw int64
	agentsDue time.Time
	// abortedTime is the value in the status that the hub last wrote.
	abortedTime *metav1.Time
	// approvals are what users approved.
	approvals approvals
	// aborts are the times of all aborts that were persisted, or that a user asked for.
	aborts sets.Set[string]
	// reported are the times of all aborts that ReportAbort reported.
	reported map[time.Time]bool
	// facts are the clusters that were overdue at a pass of the hub.
	facts map[string]fact
	// emptied holds the placements whose decisions are being written, with the clusters that they selected before.
	emptied map[string]emptied
	// groupings holds the last decision groups of each placement.
	groupings map[string][][]DecisionGroup
	// placing is the process at the beginning of the writes of a placement that have not ended; nil if there is none.
	placing *Process
	// informed is the last process that has made a pass.
	informed *Process
	// wasOverdue are the clusters that were overdue, and have not succeeded since.
	wasOverdue map[string]overdueAt
	// wellAt is the time at which the agent of each cluster last reported a success.
	wellAt map[string]time.Time
	// refusedSince holds the time since which the API server has rejected the writes of a cluster's work.
	refusedSince map[string]time.Time
	// refusedIn is the last rollout in which it rejected one.
	refusedIn map[string]string
	// causes holds the change cause that each revision must have, by name.
	causes map[string]cause
	// objects are the objects of the managed clusters. kept are the UIDs of those that a deletion was to preserve.
	objects objects
	kept    map[string]int
	// adversaries are the dishonest agents.
	adversaries adversaries
	// violation is a write that a pause did not hold back; nil for none.
	violation error
	clocks    clocks
	// restored is true if the status was restored since the last pass.
	restored bool
}

// NewWorld returns an empty world, with a hub that has nothing to do.
func NewWorld() *World {
	w := &World{
		Clock:    clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)),
		agents:   map[types.UID]*agent{},
		serving:  map[string]*clusterObjects{},
		outcomes: map[string]Outcome{},
		started:  map[string]string{},

		currentSince: map[string]sets.Set[time.Time]{},
		made:         map[string]int{},
		causes:       map[string]cause{},
		refusedSince: map[string]time.Time{}, refusedIn: map[string]string{},
		reported:   map[time.Time]bool{},
		facts:      map[string]fact{},
		emptied:    map[string]emptied{},
		groupings:  map[string][][]DecisionGroup{},
		wasOverdue: map[string]overdueAt{},
		wellAt:     map[string]time.Time{},
		kept:       map[string]int{},
		Refusals:   map[string]Fault{},
		clocks:     clocks{stamps: map[string]string{}, written: map[string]time.Time{}},
	}
	w.began, w.Irreparable, w.unrecorded, w.aborts = w.Clock.Now(), sets.New[string](), sets.New[string](), sets.New[string]()
	w.adversaries = adversaries{clusters: sets.New[string](), ever: sets.New[string](), hold: sets.New[string](), recorded: sets.New[string]()}
	w.API = NewAPI(w.Clock.Now)
	w.Restart()
	return w
}

// Restart replaces the hub's process with a new one that has no memory.
func (w *World) Restart() {
	w.Hub = NewProcess(w.API, w.Clock, machineClock{w}, settleTime, recorder{w}, w.Network)
	w.Hub.Fault = func(what string) Fault {
		fault := w.refusal(what)
		if fault == NoFault && w.Fault != nil {
			fault = w.Fault(what)
		}
		if fault != NoFault {
			w.Tell("fault: %s %s", what, fault)
		}
		w.noteRefusal(what, fault)
		return fault
	}
	w.Hub.Wrote = func(what string) {
		w.Tell("hub: %s", w.describe(what))
		w.noteStamp(what)
		w.noteAcceptance(what)
		w.noteRecords()
		w.noteCopy(what)
		w.noteCause(what)
		w.noteCurrent()
		if err := w.checkPaused(what); err != nil && w.violation == nil {
			w.violation = err
		}
		if w.Check != nil {
			w.Check(what)
		}
		w.strikeNow()
		w.between()
	}
	w.Hub.Reads = w.strikeNow
	w.due, w.again = true, time.Time{}
}

func (w *World) between() {
	if w.Between != nil {
		w.Between()
	}
}

// strikeNow lets adversaries act in the middle of a pass.
func (w *World) strikeNow() {
	if w.adversaries.strike != nil {
		w.adversaries.strike()
	}
}

// Suspend suspends the hub's machine: no request fails, and the process continues where it was.
func (w *World) Suspend(during time.Duration) {
	w.Tell("the hub's machine is suspended for %s", during)
	w.Clock.Step(during)
	// In a simulation, the clock itself never shows this. A heartbeat notices it.
	w.Hub.connection.Restart()
}

// describe adds the content of a work to the text of a write.
func (w *World) describe(what string) string {
	verb, rest, _ := strings.Cut(what, " work ")
	namespace, name, ok := strings.Cut(rest, "/")
	if !ok || verb == "delete" {
		return what
	}
	work := w.work(namespace, name)
	if work == nil {
		return what
	}
	if w.releases(work) {
		return fmt.Sprintf("%s (%s, released)", what, Version(work))
	}
	return fmt.Sprintf("%s (%s)", what, strings.Join(append([]string{Version(work)}, keptObjects(work)...), " + "))
}

// releases reports whether a write of a work lets its objects stay when the work is deleted. It starts nothing.
func (w *World) releases(work *workv1.ManifestWork) bool {
	_, preserves := w.Hub.preserves()
	return preserves && orphans(work)
}

// Tell adds a line to the story.
func (w *World) Tell(format string, args ...any) {
	w.Story = append(w.Story, fmt.Sprintf("%7s  %s", w.Clock.Since(w.began), fmt.Sprintf(format, args...)))
}

// recorder adds events to the story.
type recorder struct{ w *World }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	r.w.events = append(r.w.events, reason)
	r.w.Tell("event: %s: %s", reason, fmt.Sprintf(note, args...))
}

// Object returns the ManifestWorkReplicaSet from the API server; nil if it is gone.
func (w *World) Object() *workv1alpha1.ManifestWorkReplicaSet {
	object, err := w.API.Get(ReplicaSets, Namespace, Name)
	if err != nil {
		return nil
	}
	return as[workv1alpha1.ManifestWorkReplicaSet](w.API, readable(object))
}

// readable returns an object without the values that the Go types can't hold; see Spoil.
func readable(object *unstructured.Unstructured) *unstructured.Unstructured {
	refs, _, _ := unstructured.NestedSlice(object.Object, "spec", "placementRefs")
	for _, ref := range refs {
		if value, _, _ := unstructured.NestedFieldNoCopy(ref.(map[string]any), minSuccessTime...); value == unreadable {
			unstructured.RemoveNestedField(ref.(map[string]any), minSuccessTime...)
			object = object.DeepCopy()
			_ = unstructured.SetNestedSlice(object.Object, refs, "spec", "placementRefs")
		}
	}
	return object
}

// Spoil writes a duration that the Go types can't hold into the first placementRef, as upstream's CRD allows. The next Edit removes it.
func (w *World) Spoil() {
	patch := jsonOf([]map[string]any{{"op": "add", "path": "/spec/placementRefs/0/" + strings.Join(minSuccessTime, "/"), "value": unreadable}})
	if _, err := w.API.Patch(ReplicaSets, Namespace, Name, patch, false); err != nil {
		panic(err)
	}
	w.Tell("user: writes minSuccessTime: %s", unreadable)
}

const unreadable = "5 minutes"

var minSuccessTime = []string{"rolloutStrategy", "progressive", "minSuccessTime"}

// Works returns all works as the API server has them or, over a broker, as the hub last wrote them.
func (w *World) Works() []*workv1.ManifestWork { return w.worksIn("") }

// worksIn returns the ManifestWorks of a cluster, and those of all clusters if the name is empty or they travel over a broker.
func (w *World) worksIn(cluster string) []*workv1.ManifestWork {
	if w.Network != nil {
		return w.Network.works()
	}
	var works []*workv1.ManifestWork
	for _, object := range w.API.List(Works, cluster, nil) {
		works = append(works, as[workv1.ManifestWork](w.API, object))
	}
	return works
}

// Revisions returns all ControllerRevisions, by number. Of those with number 0, the one that was created last is the first.
func (w *World) Revisions() []*appsv1.ControllerRevision {
	var revisions []*appsv1.ControllerRevision
	for _, object := range w.API.List(Revisions, "", nil) {
		revisions = append(revisions, as[appsv1.ControllerRevision](w.API, object))
	}
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return revisions
}

// patch writes as a user other than the hub. It returns the object's resourceVersion.
func (w *World) patch(kind Kind, namespace, name string, patch map[string]any, status bool) int64 {
	w.API.Manager = "kubectl-patch"
	defer func() { w.API.Manager = "" }()
	patched, err := w.API.Patch(kind, namespace, name, jsonOf(patch), status)
	if err != nil {
		panic(fmt.Sprintf("%s %s/%s: %v", kind, namespace, name, err))
	}
	return versionOf(patched)
}

// versionOf returns an object's resourceVersion, which is a counter over all objects here.
func versionOf(object metav1.Object) int64 {
	version, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s/%s: %v", object.GetNamespace(), object.GetName(), err))
	}
	return version
}

// DeleteRevision deletes a revision, as a user would.
func (w *World) DeleteRevision(name string) {
	object, err := w.API.Get(Revisions, Namespace, name)
	if err != nil {
		return
	}
	w.Irreparable.Insert(object.GetLabels()[workv1alpha1.LabelControllerHash])
	_ = w.API.Delete(Revisions, Namespace, name, nil)
	w.Tell("user: deletes revision %s", name)
}
