package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	for name, wanted := range map[string]string{
		"v1.2.3":         "v1.2.3",
		"1.2.3":          "v1.2.3",
		"v1.2.3+dirty":   "v1.2.3",
		"v1.3.0-rc.1":    "v1.3.0-rc.1",
		"v1.3.0-rc.1+a.": "",
		"v1.2.4-0.20261122140000-0123456789ab+dirty": "v1.2.4-0.20261122140000-0123456789ab",
		"v0.0.1":                             "v0.0.1",
		"":                                   "",
		"v1":                                 "",
		"main":                               "",
		"v0.0.0":                             "",
		"v0.0.0-unknown":                     "",
		"v0.0.0-20261122140000-0123456789ab": "",
		"(devel)":                            "",
		// No annotation can have this name.
		"v1.2.3-" + string(make([]byte, 0, 80)) + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": "",
		"v1.2.3-a-": "",
	} {
		v, released := ParseVersion(name)
		require.Equal(t, wanted != "", released, name)
		if released {
			require.Equal(t, wanted, v.String(), name)
		}
	}
}

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		build, recorded, snapshots string
		action                     Action
		keep                       string
		why                        string
	}{
		"a development build":             {"v0.0.0-unknown", "v1.2.0", "v1.1.0", Proceed, "", "is a development build"},
		"nothing is recorded":             {"v1.2.0", "", "v1.1.0", Adopt, "", "no version is recorded"},
		"the same":                        {"v1.2.0", "v1.2.0", "v1.1.0", Proceed, "v1.1.0", "version v1.2.0 ran last"},
		"the same version, another build": {"v1.2.0+again", "v1.2.0", "", Proceed, "", "version v1.2.0 ran last"},
		"newer":                           {"v1.2.0", "v1.1.0", "", TakeSnapshots, "v1.1.0", "version v1.1.0 ran last, and this hub is the newer v1.2.0"},
		"newer than its candidate":        {"v1.2.0", "v1.2.0-rc.1", "", TakeSnapshots, "v1.2.0-rc.1", ""},
		"newer, and three are kept":       {"v1.5.0", "v1.4.0", "v1.3.0, v1.2.0,v1.1.0", TakeSnapshots, "v1.4.0,v1.3.0,v1.2.0", ""},
		"newer, and one is listed twice":  {"v1.5.0", "v1.4.0", "v1.4.0,junk,v1.9.0", TakeSnapshots, "v1.4.0", ""},
		"older":                           {"v1.1.0", "v1.2.0", "v1.1.0,v1.0.0", RestoreSnapshots, "v1.0.0", "version v1.2.0 ran last, and this hub is older (v1.1.0)"},
		"older by two":                    {"v1.0.0", "v1.2.0", "v1.1.0,v1.0.0", RestoreSnapshots, "", ""},
		"older, and not listed": {"v1.0.0", "v1.2.0", "v1.1.0", Refuse, "v1.1.0", "this hub is v1.0.0, version v1.2.0 ran last, and there are no snapshots of v1.0.0 to restore " +
			"(there are snapshots of v1.1.0): ManifestWorkReplicaSets are not reconciled; run the version that ran last, or delete the ConfigMap " +
			"work-hub-current-version in this hub's namespace to continue with the existing state"},
		"older, and no version is listed":       {"v1.0.0", "v1.2.0", "", Refuse, "", "no version has snapshots"},
		"the recorded version is not a release": {"v1.0.0", "latest", "", Refuse, "", `the recorded version, "latest", can't be read`},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded map[string]string
			if test.recorded != "" {
				recorded = map[string]string{KeyVersion: test.recorded, KeySnapshots: test.snapshots}
			}
			d := Decide(test.build, recorded)
			require.Equal(t, test.action, d.Action)
			require.Equal(t, test.keep, join(d.Keep, ","))
			require.Contains(t, d.Why, test.why)
		})
	}
}

// Recording a version after an upgrade makes a downgrade possible, and recording one after the downgrade makes an upgrade possible.
func TestDecideUpAndDown(t *testing.T) {
	var recorded map[string]string
	for _, step := range []struct {
		build  string
		action Action
		keep   string
	}{
		{"v1.0.0", Adopt, ""},
		{"v1.1.0", TakeSnapshots, "v1.0.0"},
		{"v1.1.0", Proceed, "v1.0.0"},
		{"v1.2.0", TakeSnapshots, "v1.1.0,v1.0.0"},
		{"v1.3.0", TakeSnapshots, "v1.2.0,v1.1.0,v1.0.0"},
		{"v1.4.0", TakeSnapshots, "v1.3.0,v1.2.0,v1.1.0"},
		{"v1.0.0", Refuse, "v1.3.0,v1.2.0,v1.1.0"},
		{"v1.2.0", RestoreSnapshots, "v1.1.0"},
		{"v1.2.0", Proceed, "v1.1.0"},
		{"v1.4.0", TakeSnapshots, "v1.2.0,v1.1.0"},
		{"v1.2.0", RestoreSnapshots, "v1.1.0"},
	} {
		d := Decide(step.build, recorded)
		require.Equal(t, step.action, d.Action, step.build)
		require.Equal(t, step.keep, join(d.Keep, ","), step.build)
		if d.Action != Refuse {
			recorded = d.Record()
		}
	}
}
