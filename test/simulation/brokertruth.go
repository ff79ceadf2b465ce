package simulation

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// works are what the hub wrote to each cluster, with what its agent has to say of it, heard or not, and what agents have that the hub has
// forgotten.
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

// work finds a work as the hub wrote it; nil where there is none.
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

// question is what was true when the hub asked an agent for a work.
type question struct {
	at time.Time
	// well says that the cluster had succeeded before it was asked; reachable that the agent could hear that, and answer.
	well, reachable bool
}

// asking notes that the hub asks for a work. What it returns is called when the hub has read the answer.
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

// isWell reports whether a cluster has succeeded with what the hub wrote, permanently.
func (w *World) isWell(work *workv1.ManifestWork) bool {
	return w.succeeded(work) && w.outcome(work.Namespace, Version(work)) != Flaps
}

// enough is a deadline that leaves an agent enough time for its reports, also where what it is sent is lost once.
const enough = 30 * time.Second

// alone reports whether nothing but messages that were lost, late or doubled keeps a cluster from having succeeded: its agent was connected all
// the time, and succeeds.
func (n *Network) alone(work *workv1.ManifestWork, deadline time.Duration) bool {
	at, known := n.world.writtenAt(work)
	outcome := n.world.outcome(work.Namespace, Version(work))
	a := n.agent(work.Namespace)
	return known && (outcome == Succeeds || outcome == Lies) && deadline >= enough && a.connected && n.hub.connected &&
		a.unsettled.Before(at) && n.hub.away.Before(at)
}

// failed reports whether a work is past a deadline, and for another reason than the network's alone: what its agent said before the hub
// asked is not silence, nor is what was lost on the way.
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

// checkDelivered checks that each agent has what the hub wrote to its cluster and nothing else, unless it is silent.
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

// delivered reports whether an agent has a work as the hub wrote it, or need not have it: silent ones don't say what they have, and what a restarted
// hub deletes it may not know the content of.
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
