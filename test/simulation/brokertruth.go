package simulation

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// works returns the works that the hub wrote to each cluster, with the true status of the agent, whether or not the hub has received it.
// They include works of agents that the hub has forgotten.
func (n *Network) works() []*workv1.ManifestWork {
	list, err := n.world.Hub.driver.Works().WorkV1().ManifestWorks(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	written := map[string]*workv1.ManifestWork{}
	for i := range list.Items {
		work := &list.Items[i]
		work.Status = workv1.ManifestWorkStatus{}
		written[key(work.Namespace, work.Name)] = work
	}
	var works []*workv1.ManifestWork
	for _, cluster := range n.clusters() {
		for _, has := range n.agents[cluster].works() {
			if work := written[key(has.Namespace, has.Name)]; work != nil {
				work.Status = *has.Status.DeepCopy()
			} else {
				works = append(works, has.DeepCopy())
			}
		}
	}
	for i := range list.Items {
		works = append(works, &list.Items[i])
	}
	return works
}

// work returns a work as the hub wrote it; nil if there is none.
func (w *World) work(namespace, name string) *workv1.ManifestWork {
	if w.Network == nil {
		object, err := w.API.Get(Works, namespace, name)
		if err != nil {
			return nil
		}
		return as[workv1.ManifestWork](w.API, object)
	}
	for _, work := range w.Works() {
		if work.Namespace == namespace && work.Name == name {
			return work
		}
	}
	return nil
}

// question is the state at the time when the hub requested a work from an agent.
type question struct {
	at time.Time
	// well is true if the cluster had succeeded before that. reachable is true if the agent could receive the request and answer it.
	well, reachable bool
}

// asking notes that the hub requests a work. The returned function is called when the hub has read the answer.
func (n *Network) asking(cluster, name string) (answered func()) {
	a := n.agent(cluster)
	reachable := func() bool { return a.connected && n.hub.connected }
	work := n.world.work(cluster, name)
	asked := question{well: work != nil && n.world.isWell(work), reachable: reachable()}
	return func() {
		asked.at, asked.reachable = n.now(), asked.reachable && reachable()
		n.asked[cluster] = asked
	}
}

// isWell reports whether a cluster has permanently succeeded with the content that the hub wrote.
func (w *World) isWell(work *workv1.ManifestWork) bool {
	return w.succeeded(work) && w.outcome(work.Namespace, Version(work)) != Flaps
}

// enough is a deadline that leaves an agent enough time for its reports, even if a message to it is lost once.
const enough = 30 * time.Second

// alone reports whether only lost, late or duplicate messages keep a cluster from having succeeded: its agent was always connected, and
// succeeds.
func (n *Network) alone(work *workv1.ManifestWork, deadline time.Duration) bool {
	at, known := n.world.writtenAt(work)
	outcome := n.world.outcome(work.Namespace, Version(work))
	a := n.agent(work.Namespace)
	return known && (outcome == Succeeds || outcome == Lies) && deadline >= enough && a.connected && n.hub.connected &&
		a.unsettled.Before(at) && n.hub.away.Before(at)
}

// failed reports whether a work has exceeded its deadline for a reason other than the network. Reports that the agent sent before the hub
// asked, and lost messages, do not count as silence.
func (n *Network) failed(object *workv1alpha1.ManifestWorkReplicaSet, work *workv1.ManifestWork) bool {
	deadline, past := n.world.pastDeadline(object, work)
	if !past {
		return false
	}
	if n.world.isWell(work) {
		if n.world.outcome(work.Namespace, Version(work)) == Silent && !n.world.showsSuccess(work) {
			return true // The network lost the report of its success, and the agent has fallen silent since.
		}
		asked, ok := n.asked[work.Namespace]
		return ok && n.world.Clock.Since(asked.at) < time.Minute && (!asked.well || !asked.reachable)
	}
	return !n.alone(work, deadline)
}

// checkDelivered checks that each agent has exactly the works that the hub wrote to its cluster, unless it is silent.
func (w *World) checkDelivered() error {
	if w.Network == nil {
		return nil
	}
	for _, work := range w.Works() {
		stored, found, err := w.Network.agent(work.Namespace).store.Get(context.Background(), work.Namespace, work.Name)
		if err != nil {
			return err
		}
		if !found {
			stored = nil
		}
		if !w.delivered(work, stored) {
			return fmt.Errorf("quiet: the agent of %s does not have what the hub wrote last, %s of generation %d, but %v",
				work.Namespace, Version(work), work.Generation, stored)
		}
	}
	return nil
}

// delivered reports whether an agent has a work as the hub wrote it, or need not have it: a silent agent does not report its works, and a
// restarted hub may not know the content of a work that it deletes.
func (w *World) delivered(work, stored *workv1.ManifestWork) bool {
	switch {
	case w.outcome(work.Namespace, Version(work)) == Silent, stored != nil && w.outcome(work.Namespace, Version(stored)) == Silent:
		return true
	case stored == nil:
		return !work.DeletionTimestamp.IsZero()
	case !work.DeletionTimestamp.IsZero() && !stored.DeletionTimestamp.IsZero():
		return true
	}
	return stored.Generation == work.Generation && Version(stored) == Version(work)
}
