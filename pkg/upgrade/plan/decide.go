package plan

import (
	"fmt"
)

// ConfigMap is the name of the ConfigMap in the hub's namespace that holds a Record.
const ConfigMap = "work-hub-current-version"

// The keys of that ConfigMap.
const (
	KeyVersion   = "version"
	KeySnapshots = "snapshots"
)

// KeptSnapshots is the number of versions whose snapshots are kept.
const KeptSnapshots = 3

// Action is the action of a build before it reconciles ManifestWorkReplicaSets.
type Action string

// The actions.
const (
	// Proceed means that there is nothing to do: the same version ran last, or this is a development build.
	Proceed Action = "Proceed"
	// Adopt means that no version is recorded, and that this version must be recorded.
	Adopt Action = "Adopt"
	// TakeSnapshots means that an older version ran last.
	TakeSnapshots Action = "TakeSnapshots"
	// RestoreSnapshots means that a newer version ran last, and that snapshots of this version exist.
	RestoreSnapshots Action = "RestoreSnapshots"
	// Refuse means that a newer version ran last, and that no snapshots of this version exist.
	Refuse Action = "Refuse"
)

// Decision is the action of a build, and the data to record after it.
type Decision struct {
	Action Action
	// Build is this version, and Recorded is the version that ran last. Each is zero if it does not name a release.
	Build, Recorded Version
	// Keep are the versions whose snapshots are kept, the newest first.
	Keep []Version
	// Why explains the decision to a user, with the remedy, if any.
	Why string
}

// Decide compares the version of this build with the data of the ConfigMap; nil if there is none.
func Decide(build string, recorded map[string]string) Decision {
	v, released := ParseVersion(build)
	if !released {
		return Decision{Action: Proceed, Why: fmt.Sprintf("%q is a development build: no version is recorded, restored or refused", build)}
	}
	d := Decision{Action: Adopt, Build: v, Why: "no version is recorded"}
	name := recorded[KeyVersion]
	if name == "" {
		return d
	}
	last, known := ParseVersion(name)
	if !known {
		d.Action, d.Why = Refuse, fmt.Sprintf("this hub is %s, and the recorded version, %q, can't be read: %s", v, name, wayOut)
		return d
	}
	d.Recorded = last
	listed := parseList(recorded[KeySnapshots])
	switch {
	case v.equals(last):
		d.Action, d.Keep, d.Why = Proceed, listed, fmt.Sprintf("version %s ran last", last)
	case last.precedes(v):
		d.Action, d.Why = TakeSnapshots, fmt.Sprintf("version %s ran last, and this hub is the newer %s", last, v)
		d.Keep = kept(append(listed, last), v)
	case contains(listed, v):
		d.Action, d.Why = RestoreSnapshots, fmt.Sprintf("version %s ran last, and this hub is older (%s)", last, v)
		d.Keep = kept(listed, v)
	default:
		d.Action, d.Keep, d.Why = Refuse, listed, refusal(v, last, listed)
	}
	return d
}

// kept returns the versions whose snapshots are kept in addition to the snapshots of a build: the newest versions that
// are older than the build.
func kept(versions []Version, build Version) []Version {
	var older []Version
	for _, v := range versions {
		if v.precedes(build) {
			older = append(older, v)
		}
	}
	older = sorted(older)
	return older[:min(KeptSnapshots, len(older))]
}

const wayOut = "ManifestWorkReplicaSets are not reconciled; run the version that ran last, or delete the ConfigMap " + ConfigMap +
	" in this hub's namespace to continue with the existing state"

func refusal(build, last Version, listed []Version) string {
	there := "no version has snapshots"
	if len(listed) > 0 {
		there = "there are snapshots of " + join(listed, ", ")
	}
	return fmt.Sprintf("this hub is %s, version %s ran last, and there are no snapshots of %s to restore (%s): %s",
		build, last, build, there, wayOut)
}

// Record returns the data of the ConfigMap after the action.
func (d *Decision) Record() map[string]string {
	return map[string]string{KeyVersion: d.Build.String(), KeySnapshots: join(d.Keep, ",")}
}
