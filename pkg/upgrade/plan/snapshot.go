package plan

import "fmt"

// Snapshot returns the changes of an object's annotations that leave a snapshot of the version that ran last, and those of versions that
// are kept; empty if nothing changes. A snapshot is the ledger of the object. An older snapshot of that version is replaced: if it differs,
// that version ran again since. An object without a readable ledger keeps the snapshot that it has.
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
