// Package work describes one ManifestWork and one revision for the other packages: the revision of a work, its state as the agent reports
// it, the names that it may have, and the labels and annotations that it gets.
//
// It is pure: no client, no lister, no logger, and time is an argument.
//
//	Which revision does a work have, and since when?   work.go, revision.go
//	In which state is it, and since when?              assess.go: the order of R10; judged.go: in a handover
//	Which condition keeps it from succeeding?          gate.go
//	Which names may it have?                           names.go
//	Which labels and annotations does it get?          metadata.go
package work
