package rollout_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// judge holds a plan against P3, P4 and R8. It returns what is wrong.
func (w *world) judge(p *rollout.Plan) error {
	for _, d := range p.Deletes {
		if err := w.judgeDelete(d); err != nil {
			return err
		}
	}
	w.noteServed()
	if p.Abort != nil && (len(p.Writes) > 0 || len(p.Deletes) > 0) {
		return fmt.Errorf("an abort writes before it is persisted")
	}
	for _, write := range p.Writes {
		if err := w.judgeKept(write); err != nil {
			return err
		}
		if work := w.works[write.Cluster]; work != nil && work.deleting {
			return fmt.Errorf("R8: %s, and that work is being deleted", write)
		}
		if write.Revision != nil && write.Revision.Hash != w.desired() && !w.mayStandIn(p, &write) {
			return fmt.Errorf("%s, and the desired revision is %s", write, w.desired())
		}
	}
	if err := w.judgeComplete(p); err != nil || w.aborted {
		return err
	}
	for _, ref := range w.refs {
		if err := w.judgeStarts(ref, p); err != nil {
			return fmt.Errorf("%s: %w", ref.Name, err)
		}
	}
	return nil
}

// mayStandIn reports whether a write gives the current revision to a cluster without a work while its turn does not come (R8).
func (w *world) mayStandIn(p *rollout.Plan, write *rollout.Write) bool {
	at := slices.IndexFunc(p.Refs, func(ref rollout.RefOutcome) bool { return ref.Name == write.Placement })
	return write.StandIn && write.Revision.Hash == w.current && w.works[write.Cluster] == nil && (p.Stalled || p.Refs[at].Halted)
}

func (w *world) desired() string {
	if w.aborted {
		return w.current
	}
	return w.update
}

func (w *world) judgeDelete(d rollout.Delete) error {
	work := w.works[d.Work.Cluster()]
	for _, ref := range w.refs {
		if ref.missing {
			return fmt.Errorf("R8: %s, and Placement %s is missing", d, ref.Name)
		}
	}
	if w.owners()[work.cluster] != nil || work.unselected.IsZero() || w.now.Before(work.unselected.Add(5*second)) {
		return fmt.Errorf("R8: %s, and it is selected or was a moment ago", d)
	}
	return nil
}

// judgeComplete is P3.
func (w *world) judgeComplete(p *rollout.Plan) error {
	if !p.Complete {
		return nil
	}
	owners := w.owners()
	if w.aborted || len(owners) == 0 {
		return fmt.Errorf("P3: complete while aborted, or without a cluster")
	}
	for cluster, ref := range owners {
		s := subject{cluster: cluster, work: w.works[cluster]}
		if work := s.work; !w.hasFailed(s, ref) &&
			(work == nil || work.deleting && work.object.Labels[workv1alpha1.LabelPlacement] != ref.Name || !w.isSettled(work, ref)) {
			return fmt.Errorf("P3: complete, and %s has not settled", cluster)
		}
	}
	for _, ref := range w.refs {
		all := w.subjects(ref)
		failed := slices.ContainsFunc(all, func(s subject) bool { return !s.gone && w.hasFailed(s, ref) })
		if err := w.judgeFailures(ref, all); failed && err != nil {
			return fmt.Errorf("P3: complete, %w", err)
		}
		if ref.missing || ref.hidden > 0 {
			return fmt.Errorf("P3: complete, and not all decisions of %s are known", ref.Name)
		}
	}
	return nil
}

// judgeStarts is P4, at the moment when clusters of a ref are started.
func (w *world) judgeStarts(ref *worldRef, p *rollout.Plan) error {
	all := w.subjects(ref)
	started := map[string]bool{}
	for _, write := range p.Writes {
		if write.StandIn {
			continue
		} else if write.Trim && write.Placement == ref.Name && !w.returns() {
			started[""] = true // What stops new ones stops this, too.
		} else if w.failed[write.Cluster] || w.returns() && w.left(w.works[write.Cluster]) {
			continue // It had the revision, or leaves the one that the template has left.
		} else if !write.Trim && write.Placement == ref.Name && (write.Action == rollout.Create || write.Action == rollout.Update) {
			started[write.Cluster] = true
		}
	}
	if len(started) == 0 {
		return nil
	}
	if err := w.judgeFailures(ref, all); err != nil {
		return fmt.Errorf("P4: %v started, %w; %v %v %v", started, err, w.failed, p.Phases(), w.records)
	}
	if delete(started, ""); len(started) == 0 {
		return nil
	}
	switch ref.Strategy.Type {
	case clusterv1alpha1.Progressive:
		return w.judgeBatch(ref, all, started)
	case clusterv1alpha1.ProgressivePerGroup:
		return w.judgeGroups(ref, all, started)
	}
	return nil
}

// isBroken: failed, degraded, or stuck.
func (w *world) isBroken(s subject, ref *worldRef) bool {
	if w.hasFailed(s, ref) {
		return true
	}
	return s.work != nil && !w.leaving(s, ref) && !w.spent(s, ref) && s.work.at(w.update) && (s.work.report == degraded || w.isFailed(s.work, ref))
}

// judgeFailures says when the failed and degraded clusters are more than the strategy tolerates.
func (w *world) judgeFailures(ref *worldRef, all []subject) error {
	broken, size := map[string]int{}, map[string]int{}
	total := 0
	for _, s := range all {
		size[s.group]++
		if w.isBroken(s, ref) {
			broken[s.group]++
			total++
		}
	}
	allowed := config(ref).MaxFailures
	for group, n := range broken {
		if isMandatory(ref, group) {
			return fmt.Errorf("and %d failed in the mandatory group %s", n, group)
		}
		if ref.Strategy.Type == clusterv1alpha1.ProgressivePerGroup && n > sizeOf(allowed, size[group]) {
			return fmt.Errorf("and %d failed in group %s", n, group)
		}
	}
	if ref.Strategy.Type != clusterv1alpha1.ProgressivePerGroup && total > sizeOf(allowed, len(all)) {
		return fmt.Errorf("and %d failed", total)
	}
	return nil
}

// judgeBatch is the batch of Progressive: a mandatory group at a time, then maxConcurrency of the rest.
func (w *world) judgeBatch(ref *worldRef, all []subject, started map[string]bool) error {
	var rest []subject
	mandatoryStarts := false
	for _, s := range all {
		if isMandatory(ref, s.group) {
			mandatoryStarts = mandatoryStarts || started[s.cluster]
		} else {
			rest = append(rest, s)
		}
	}
	if mandatoryStarts {
		return w.judgeGroups(ref, all, started)
	}
	inFlight := 0
	for _, s := range rest {
		// What still goes away for another ref has its slot there (R8).
		keeps := w.leaving(s, ref) && s.work.object.Labels[workv1alpha1.LabelPlacement] == ref.Name && !w.hasFailed(s, ref)
		if started[s.cluster] || keeps || (w.underWay(s) && !w.leaving(s, ref) && !w.spent(s, ref)) {
			inFlight++
		}
	}
	batch := sizeOf(ref.Strategy.Progressive.MaxConcurrency, len(rest))
	if batch <= 0 || batch > len(rest) {
		batch = len(rest)
	}
	if inFlight > batch {
		return fmt.Errorf("P4: %d in flight, the batch is %d", inFlight, batch)
	}
	for _, s := range all {
		if isMandatory(ref, s.group) && (s.work == nil || !s.work.settled) {
			return fmt.Errorf("P4: the rest was started, and %s of the mandatory group %s has not settled", s.cluster, s.group)
		}
	}
	return nil
}

// judgeGroups is the batch where decision groups come one after the other, the mandatory ones first.
func (w *world) judgeGroups(ref *worldRef, all []subject, started map[string]bool) error {
	group := ""
	for _, s := range all {
		if started[s.cluster] {
			if group != "" && group != s.group {
				return fmt.Errorf("P4: groups %s and %s started together", group, s.group)
			}
			group = s.group
		}
	}
	before := func(key string) bool {
		if a, b := isMandatory(ref, key), isMandatory(ref, group); a != b {
			return a
		}
		return index(key) < index(group)
	}
	for _, s := range all {
		over := s.work != nil && (s.work.settled || w.spent(s, ref)) || w.hasFailed(s, ref)
		if w.leaving(s, ref) {
			over = w.hasFailed(s, ref)
		}
		if s.group == group || !before(s.group) || over {
			continue
		}
		return fmt.Errorf("P4: group %s was started before %s of group %s had its outcome", group, s.cluster, s.group)
	}
	return nil
}

func index(key string) int {
	number, _, _ := strings.Cut(key, "/")
	n, _ := strconv.Atoi(number)
	return n
}
