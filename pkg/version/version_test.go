package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	ours := func(version string) debug.Module { return debug.Module{Path: module, Version: version} }
	ocm := debug.Module{Path: "open-cluster-management.io/ocm", Version: "v1.3.1"}
	replaced := ours("v0.3.0")
	replaced.Replace = &debug.Module{Path: "../work-rollback"}
	dependency := ours("v0.3.0")
	for name, test := range map[string]struct {
		linked string
		build  debug.BuildInfo
		wanted string
	}{
		"by the linker":             {"v1.2.3", debug.BuildInfo{Main: ours("v0.0.0-1")}, "v1.2.3"},
		"by the Go tool":            {"", debug.BuildInfo{Main: ours("v1.2.3+dirty")}, "v1.2.3+dirty"},
		"of a checkout":             {"", debug.BuildInfo{Main: ours("(devel)")}, unknown},
		"of nothing":                {"", debug.BuildInfo{}, unknown},
		"in OCM's binary":           {"", debug.BuildInfo{Main: ocm, Deps: []*debug.Module{&ocm, &dependency}}, "v0.3.0"},
		"in OCM's, from a checkout": {"", debug.BuildInfo{Main: ocm, Deps: []*debug.Module{&replaced}}, unknown},
		"in another binary":         {"", debug.BuildInfo{Main: ocm}, unknown},
	} {
		require.Equal(t, test.wanted, versionOf(test.linked, &test.build), name)
	}
	require.NotEmpty(t, Get().GitVersion)
	require.NotEmpty(t, Get().GoVersion)
}
