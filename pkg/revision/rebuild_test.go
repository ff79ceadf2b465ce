package revision

import "testing"

// TestRebuild finds what a lost revision held in the works that bear its hash (R7).
func TestRebuild(t *testing.T) {
	a, b := template(configMap), template(`{"kind":"Namespace"}`)
	candidate := func(c Candidate) Candidate { c.Digest = digest(t, c.Spec); return c }
	ca, cb := candidate(Candidate{Spec: a}), candidate(Candidate{Spec: b})
	three, far := int32(3), int32(40)
	for name, tc := range map[string]struct {
		hash       string
		candidates []Candidate
		collisions *int32
		known      bool
		want       Candidate
	}{
		"no work":                                 {hash: "abc", known: true},
		"they agree":                              {hash: "abc", candidates: []Candidate{ca, ca}, known: true, want: ca},
		"they agree on a hash nobody knows":       {hash: "abc", candidates: []Candidate{ca, ca}},
		"one is unreadable":                       {hash: ComputeHash(a, nil), candidates: []Candidate{{Spec: b}, ca}, known: true, want: ca},
		"none is readable":                        {hash: "abc", candidates: []Candidate{{Spec: a}, {Spec: a}}, known: true},
		"one was edited":                          {hash: ComputeHash(a, nil), candidates: []Candidate{cb, ca}, known: true, want: ca},
		"one was edited, named after a collision": {hash: ComputeHash(a, &three), candidates: []Candidate{cb, ca}, known: true, want: ca},
		"the collision is far, and known":         {hash: ComputeHash(a, &far), candidates: []Candidate{cb, ca}, collisions: &far, known: true, want: ca},
		"the collision is far":                    {hash: ComputeHash(a, &far), candidates: []Candidate{cb, ca}, known: true},
		"all were edited":                         {hash: "abc", candidates: []Candidate{ca, cb}, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Rebuild(tc.hash, tc.candidates, tc.collisions, tc.known); got != tc.want.Spec {
				t.Errorf("got %v, want %v", got, tc.want.Spec)
			}
		})
	}
}
