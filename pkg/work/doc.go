// Package work is what the other packages know of one ManifestWork and of one revision: which revision a work has, in which state its agent
// reports it, which names it may have, and which labels and annotations it gets.
//
// It is pure: no client, no lister, no logger, and time is an argument.
//
//	Which revision does a work have, and since when?   work.go, revision.go
//	In which state is it, and since when?              assess.go: the table of R10; judged.go: in a handover
//	Which names may it have?                           names.go
//	Which labels and annotations does it get?          metadata.go
package work
