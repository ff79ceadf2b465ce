// Package rollout decides: from one snapshot of a ManifestWorkReplicaSet, its revisions, the clusters
// that its Placements select and its ManifestWorks, which works to write and to delete, whether to
// abort, whether the rollout is complete or stalled, and when to look again.
//
// It is pure: no client, no lister, no logger, and time is an argument. One call of Decide reads as:
//
//	own      every selected cluster belongs to the first placementRef that selects it   (R8)
//	assess   each work's conditions are one state, and a time since when                (R10)
//	judge    clusters past their deadline, and refs with too many of them, have failed  (R11)
//	then     abort                    where a failed ref says so                        (R12)
//	         or roll back             where an abort is being carried out               (R12)
//	         or roll out              to the clusters whose turn it is                  (R10)
//	         and delete               the works of clusters that no ref selects         (R8)
//	hold     a pause holds all of these back, and nothing else                          (R22)
//	report   complete, stalled, or what is awaited                                      (R13, R14)
package rollout
