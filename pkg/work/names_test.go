package work_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

func owner(name string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: rt.OwnerNamespace, Name: name, UID: "0b0c5e2e-3b5b-4a57-9a35-d2c5f2a6a2b7"}
}

// TestNames: a work has three possible names, and each process computes the same names.
func TestNames(t *testing.T) {
	got := strings.Join(work.Names(owner("web")), " ")
	if want := "web web-55489cf447 web-0b0c5e2e-3b5b-4a57-9a35-d2c5f2a6a2b7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestIsName: IsName accepts the names of this hub and those of OCM's hub.
func TestIsName(t *testing.T) {
	long := strings.Repeat("x", 60)
	for name, tc := range map[string]struct {
		owner, work string
		want        bool
	}{
		"the owner's":                      {"web", "web", true},
		"the alternative":                  {"web", "web-55489cf447", true},
		"with the UID":                     {"web", "web-0b0c5e2e-3b5b-4a57-9a35-d2c5f2a6a2b7", true},
		"generated":                        {"web", "webx4k2z", true},
		"generated, too long to be whole":  {long, long[:58] + "bcdfg", true},
		"generated from another":           {"web", "web2x4k2z", false},
		"too short":                        {"web", "webx4k2", false},
		"a vowel is in no generated name":  {"web", "webx4a2z", false},
		"a dash is in none":                {"web", "web-x4k2", false},
		"another's":                        {"web", "anything", false},
		"the alternative of another owner": {"web", "web-99999cf447", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := work.IsName(owner(tc.owner), tc.work); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestLostOwner: the owner of a work that lost its owner label is known from its name, hash and applied-at annotation together.
func TestLostOwner(t *testing.T) {
	stripped := func(options ...rt.WorkOption) work.Work {
		w := rt.Work("c1", append([]rt.WorkOption{rt.AtRevision("aaa")}, options...)...)
		delete(w.Object.Labels, workv1alpha1.LabelReplicaSet)
		return w
	}
	for name, tc := range map[string]struct {
		work work.Work
		want bool
	}{
		"all three":             {stripped(), true},
		"the alternative name":  {stripped(rt.Named("web-55489cf447")), true},
		"a generated name":      {stripped(rt.Named("webx4k2z")), true},
		"another name":          {stripped(rt.Named("other")), false},
		"never written":         {stripped(rt.NeverWritten()), false},
		"no hash":               {stripped(rt.AtRevision("")), false},
		"a hash of no revision": {stripped(rt.AtRevision("zzz")), false},
		"of another owner":      {rt.Work("c1", rt.AtRevision("aaa"), rt.Labelled(workv1alpha1.LabelReplicaSet, "default.other")), false},
	} {
		t.Run(name, func(t *testing.T) {
			isRevision := func(hash string) bool { return hash == "aaa" || hash == "bbb" }
			if got := work.LostOwner(owner("web"), tc.work.Object, isRevision); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
