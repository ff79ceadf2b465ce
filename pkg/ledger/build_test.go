package ledger

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

const uid = "uid-of-web"

var epoch = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return epoch.Add(time.Duration(minute) * time.Minute) }

// named returns the revision with a hash.
func named(hash string) Named { return Named{Hash: hash, Digest: revision.Digest("d-" + hash)} }

// numbered returns a ledger with a number, in which the rollout of b is in progress and a is the stable revision.
func numbered(seq int64, changes ...func(*Ledger)) *Ledger {
	l := &Ledger{Format: Format, Owner: uid, Seq: seq, Current: named("a")}
	l.Begin(named("b"), New, at(0), false)
	for _, change := range changes {
		change(l)
	}
	return l
}

func text(l *Ledger) string {
	encoded, err := l.Encode()
	if err != nil {
		panic(err)
	}
	return encoded
}

// full returns a ledger of the maximum size.
func full(message string) *Ledger {
	l := numbered(1<<40, func(l *Ledger) {
		l.Abort = &revision.Abort{At: at(1), By: strings.Repeat("u", 256), Said: strings.Repeat("r", 256)}
	})
	l.Halted, l.Counted = map[string]time.Time{}, map[string]int{}
	for i := range 20 {
		l.Former = append(l.Former, Named{Hash: fmt.Sprintf("%010d", i), Digest: revision.Digest(fmt.Sprintf("%064d", i))})
	}
	for i := range 64 {
		placement := fmt.Sprintf("%0253d", i)
		l.Halted[placement], l.Counted[placement] = at(i), i
	}
	for i := range MaxApprovals {
		l.Approve(&revision.Approval{Group: fmt.Sprintf("%063d", i), By: strings.Repeat("u", 256), At: at(i)})
	}
	for i := range workv1alpha1.MaxFailures {
		l.Troubles = append(l.Troubles, Trouble{
			Cluster: fmt.Sprintf("%063d", i), State: Failed, Placement: fmt.Sprintf("%0253d", i), Since: at(i),
			Reason: workv1alpha1.FailureTerminationTimedOut, Message: message,
		})
	}
	return l
}

// copied returns a revision with a number and a copy of a ledger; without a copy if the text is empty.
func copied(hash string, number int64, ledger string, changes ...func(*revision.Record)) revision.Revision {
	rev := revision.Revision{Hash: hash, Digest: named(hash).Digest, Object: &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "web-" + hash, Annotations: map[string]string{}}, Revision: number,
	}}
	if ledger != "" {
		rev.Object.Annotations[workv1alpha1.AnnotationLedger] = ledger
	}
	for _, change := range changes {
		change(&rev.Record)
	}
	return rev
}

func wasComplete(r *revision.Record) { r.Ended = at(0) }
