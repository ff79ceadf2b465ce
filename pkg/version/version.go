// Package version provides the version of this build of the hub.
package version

import (
	"runtime"
	"runtime/debug"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// module is the path of the module that this package is in.
const module = "github.com/open-cluster-management-io/work-rollback"

// unknown is the version of a build without a version.
const unknown = "v0.0.0-unknown"

// gitVersion is the version that the linker wrote into the binary: `make build VERSION=v1.2.3`. It overrides the
// version that the Go tool stamped.
var gitVersion string

// Get returns the version of the binary: from the linker, or else the module version that the Go tool stamped. It
// includes the commit if the binary was built in a checkout.
func Get() apimachineryversion.Info {
	info := apimachineryversion.Info{GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	info.GitVersion = versionOf(gitVersion, build)
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.GitCommit = setting.Value
		case "vcs.time":
			info.BuildDate = setting.Value
		}
	}
	return info
}

// versionOf returns the version of this module: from the linker, or else from the build information. In OCM's own
// binary, this module is a dependency. If a directory replaces it there, its version is unknown.
func versionOf(linked string, build *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	found := &build.Main
	if found.Path != module {
		for _, dependency := range build.Deps {
			if dependency.Path == module && dependency.Replace == nil {
				found = dependency
			}
		}
	}
	if found.Path != module || found.Version == "" || found.Version == "(devel)" {
		return unknown
	}
	return found.Version
}
