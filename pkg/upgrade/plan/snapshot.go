package plan

import "fmt"

// Snapshot returns the changes that leave only these snapshots in an object's annotations: a snapshot of the version
// that ran last, and the snapshots of the versions to keep. The result is empty if nothing changes. A snapshot is the
// ledger of the object. It replaces an older snapshot of the same version; if they differ, that version has run since.
// An object without a readable ledger keeps its snapshot.
func Snapshot(d *Decision, o *Object) (map[string]any, error) {
	reading := o.reading()
	if reading.Later != nil || reading.Ledger.Seq == 0 {
		return d.annotations(o, d.Recorded, ""), nil
	}
	short := reading.Ledger.Short()
	text, err := short.Encode()
	if err != nil {
		return nil, fmt.Errorf("the snapshot of ManifestWorkReplicaSet %s/%s: %w", o.Namespace, o.Name, err)
	}
	return d.annotations(o, d.Recorded, text), nil
}
