// Package rollouttest builds the input of the decisions of package rollout, so that a test reads like a story:
//
//	Snapshot(Now(90*time.Second), Rolling("aaa", "bbb"),
//		Refs(Ref("p1", Progressive(1), Deadline("1m"), Clusters("c1", "c2"))),
//		Works(Work("c1", AtRevision("bbb"), WrittenAt(0), InFlight(5*time.Second)), Work("c2", AtRevision("aaa"))))
//
// Times are durations since Epoch. Settings that a test omits have defaults that change nothing.
package rollouttest
