package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// breakRevision replaces a revision with one whose data can't be read.
func (s *teller) breakRevision(number int) *appsv1.ControllerRevision {
	broken := s.Revisions()[number-1]
	s.must(s.API.Delete(Revisions, Namespace, broken.Name, nil))
	broken.UID, broken.ResourceVersion = "", ""
	broken.Data.Raw = []byte(`{"spec":{"manifestWorkTemplate":"broken"}}`)
	_, err := s.API.Create(Revisions, from(broken))
	s.must(err)
	s.Tell("user: breaks revision %s", broken.Name)
	return broken
}

// warned checks that an event was made whose text names all parts.
func (s *teller) warned(reason string, parts ...string) {
	s.t.Helper()
	require.True(s.t, slices.ContainsFunc(s.Story, func(line string) bool {
		if !strings.Contains(line, "event: "+reason+": ") {
			return false
		}
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	}), s.story())
}

// R2: if the revision of the template in the spec can't be read, the hub names it before it creates another one.
func TestBrokenUpdateRevisionIsNamed(t *testing.T) {
	s := rolledOut(t)
	broken := s.breakRevision(1)
	s.quiet()
	s.warned(workv1alpha1.EventRevisionIgnored, "ControllerRevision default/"+broken.Name, "another name")
	require.EqualValues(t, 1, *s.Object().Status.CollisionCount)
	s.everywhere("v1")
	for _, work := range s.Works() {
		require.EqualValues(t, 1, work.Generation)
	}
}

// R7, R12: if the stable revision can't be read, the hub names it and the remedy before the revision is needed.
func TestBrokenCurrentRevisionIsNamed(t *testing.T) {
	const remedy = "put a good template into the spec"
	s := &teller{World: NewWorld(), t: t}
	s.stable(progressive("p1", 1, "30s", 0, true), "c1", "c2")
	s.hangs("v2", "c1")
	s.settle(time.Second)
	broken := s.breakRevision(1)
	s.settle(10 * time.Second)
	s.says(workv1alpha1.ConditionManifestworkApplied, "ControllerRevision default/"+broken.Name, remedy)
	s.warned(workv1alpha1.EventRevisionIgnored, "ControllerRevision default/"+broken.Name, remedy)
	s.quiet()
	s.says(workv1alpha1.ConditionProgressing, "failureStrategy AbortAll has no effect: ", "ControllerRevision default/"+broken.Name, remedy)
	require.Nil(t, s.Object().Status.AbortedTime)
	s.Report("c1", "v2", Succeeds)
	s.quiet()
	s.says(workv1alpha1.ConditionManifestworkApplied, "2 clusters up to date")
}

// takeName creates an object of another owner with the name that the revision of a version would have.
func (s *teller) takeName(version string, collisionCount *int32) {
	template := Template(version)
	other := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: revision.Name(Name, revision.ComputeHash(&template, collisionCount)),
	}}
	_, err := s.API.Create(Revisions, from(other))
	s.must(err)
}

// R2: if another object has taken the name of the revision on the works, the template gets a revision with another name, and the hub does
// not try the taken name again and again.
func TestNameOfTheRevisionOnWorksIsTaken(t *testing.T) {
	s := rolledOut(t)
	s.must(s.API.Delete(Revisions, Namespace, s.Revisions()[0].Name, nil))
	s.takeName("v1", nil)
	s.restarts()
	s.quiet()
	s.warned(workv1alpha1.EventRevisionIgnored, "ControllerRevision default/web-", "does not belong to this object", "another name")
	s.everywhere("v1")
	require.Len(t, s.Revisions(), 2)
	for _, work := range s.Works() {
		require.EqualValues(t, 1, work.Generation, "nothing changed on the clusters")
	}
}

// R2, R42: a collision does not end the rollout if an older CRD drops the ledger, which counts the collisions.
func TestCollisionUnderAnOlderCRD(t *testing.T) {
	s := &teller{World: NewWorld(), t: t}
	s.API.OlderCRD = true
	s.Place("p1", []string{"c1", "c2"})
	s.takeName("v1", nil)
	s.takeName("v1", ptr.To[int32](1))
	s.Create("v1", all("p1", "30s", true))
	s.settle(time.Minute)
	require.Len(t, s.Works(), 2, s.story())
	s.warned(workv1alpha1.EventRevisionIgnored, "ControllerRevision default/web-", "another name")
	s.restarts()
	s.takeName("v2", nil)
	s.Update("v2")
	s.settle(time.Minute)
	s.everywhere("v2")
	require.Len(t, s.Revisions(), 5)
	s.Tell("admin: applies the newer CRD")
	s.API.OlderCRD = false
	s.quiet()
	s.everywhere("v2")
}
