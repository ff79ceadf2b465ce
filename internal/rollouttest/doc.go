// Package rollouttest builds what the decisions of package rollout are made of, so that a test reads as a story:
//
//	Snapshot(Now(90*time.Second), Rolling("aaa", "bbb"),
//		Refs(Ref("p1", Progressive(1), Deadline("1m"), Clusters("c1", "c2"))),
//		Works(Work("c1", AtRevision("bbb"), WrittenAt(0), InFlight(5*time.Second)), Work("c2", AtRevision("aaa"))))
//
// Times are durations since Epoch. Whatever a test does not say has a default that changes nothing.
package rollouttest
