package revision

import (
	"fmt"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
)

// TestHolds: only the recorded content takes a lost revision's place (R7).
func TestHolds(t *testing.T) {
	a, b := template(configMap), template(`{"kind":"Namespace"}`)
	for name, tc := range map[string]struct {
		spec     *workv1.ManifestWorkSpec
		recorded Digest
		want     bool
	}{
		"the content":       {a, digest(t, a), true},
		"another":           {b, digest(t, a), false},
		"nothing recorded":  {a, "", false},
		"unreadable":        {template(`[]`), "", false},
		"unreadable record": {a, "sha256", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Holds(tc.spec, tc.recorded); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestHoldsNoCollision: two contents with one hash are two contents (R7). The hash has 32 bits, so a pair is found in no time.
func TestHoldsNoCollision(t *testing.T) {
	first, second := collidingTemplates(t)
	if ComputeHash(first, nil) != ComputeHash(second, nil) {
		t.Fatal("the hashes differ")
	}
	if Holds(second, digest(t, first)) || Holds(first, digest(t, second)) {
		t.Error("one passes for the other")
	}
}

// TestNames: a hash is that of a template under one of several collision counts.
func TestNames(t *testing.T) {
	a := template(configMap)
	three, far := int32(3), int32(40)
	for name, tc := range map[string]struct {
		hash       string
		collisions *int32
		want       bool
	}{
		"it is":                           {hash: ComputeHash(a, nil), want: true},
		"another":                         {hash: "abc"},
		"after a collision":               {hash: ComputeHash(a, &three), want: true},
		"the collision is far, and known": {hash: ComputeHash(a, &far), collisions: &far, want: true},
		"the collision is far":            {hash: ComputeHash(a, &far)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Names(tc.hash, a, tc.collisions); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// collidingTemplates are two templates with one hash, found by trying.
func collidingTemplates(t *testing.T) (first, second *workv1.ManifestWorkSpec) {
	t.Helper()
	numbered := func(n int) *workv1.ManifestWorkSpec {
		return template(fmt.Sprintf(`{"kind":"ConfigMap","data":{"n":"%d"}}`, n))
	}
	return numbered(colliding[0]), numbered(colliding[1])
}

var colliding = [2]int{56242, 105910}
