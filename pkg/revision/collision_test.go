package revision

import "testing"

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
