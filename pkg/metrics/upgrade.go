package metrics

import (
	"errors"

	k8smetrics "k8s.io/component-base/metrics"
)

// UpgradeState is what this process knows about the version of the hub that ran before it.
type UpgradeState string

// The states. ManifestWorkReplicaSets are reconciled in all states except the first two.
const (
	// UpgradeWorking means that snapshots are being taken or restored.
	UpgradeWorking UpgradeState = "Working"
	// UpgradeRefused means that a newer version ran last, and that no snapshots of this version exist.
	UpgradeRefused UpgradeState = "Refused"
	// UpgradeRecorded means that this version is recorded as the one that ran last.
	UpgradeRecorded UpgradeState = "Recorded"
	// UpgradeUnavailable means that this process can't record its version, so the next version does not take snapshots.
	UpgradeUnavailable UpgradeState = "Unavailable"
	// UpgradeDevelopment means that this is a development build, or that this process does not know its namespace.
	UpgradeDevelopment UpgradeState = "Development"
)

// SnapshotResult is the result of taking or restoring the snapshot of a ManifestWorkReplicaSet.
type SnapshotResult string

// The results.
const (
	// SnapshotTaken means that the snapshot was written.
	SnapshotTaken SnapshotResult = "taken"
	// SnapshotRestored means that the snapshot was compared with the object, and lost state was restored.
	SnapshotRestored SnapshotResult = "restored"
	// SnapshotIgnored means that the snapshot was not restored, because it belongs to another template or object.
	SnapshotIgnored SnapshotResult = "ignored"
	// SnapshotRejected means that the API server rejected the write, or that the write failed for minutes. The snapshot
	// is skipped.
	SnapshotRejected SnapshotResult = "rejected"
)

var (
	upgradeStates   = []UpgradeState{UpgradeWorking, UpgradeRefused, UpgradeRecorded, UpgradeUnavailable, UpgradeDevelopment}
	snapshotResults = []SnapshotResult{SnapshotTaken, SnapshotRestored, SnapshotIgnored, SnapshotRejected}
)

// upgrade holds the metrics of upgrade snapshots.
type upgrade struct {
	state     *k8smetrics.GaugeVec
	snapshots *k8smetrics.CounterVec
}

func newUpgrade() *upgrade {
	return &upgrade{
		state: k8smetrics.NewGaugeVec(gauge("upgrade_state",
			"1 for the state of upgrade snapshots, while this process leads: Working (snapshots are being taken or "+
				"restored), Refused (a newer version ran, without snapshots of this one), Recorded, Unavailable or Development."),
			[]string{"state"}),
		snapshots: k8smetrics.NewCounterVec(counter("upgrade_snapshots_total",
			"Snapshots of ManifestWorkReplicaSets when the version of the hub changes, by result: taken, restored, "+
				"ignored or rejected."), []string{"result"}),
	}
}

func (u *upgrade) register(registry Registry) error {
	err := errors.Join(registry.Register(u.state), registry.Register(u.snapshots))
	for _, state := range upgradeStates {
		u.state.WithLabelValues(string(state)).Set(0)
	}
	begin(u.snapshots, snapshotResults)
	return err
}

// Upgrade records what this process knows about the version that ran before it.
func (m *Metrics) Upgrade(now UpgradeState) {
	for _, state := range upgradeStates {
		m.upgrade.state.WithLabelValues(string(state)).Set(number(state == now))
	}
}

// Snapshot counts the result for the snapshot of a ManifestWorkReplicaSet.
func (m *Metrics) Snapshot(result SnapshotResult) {
	m.upgrade.snapshots.WithLabelValues(string(result)).Inc()
}
