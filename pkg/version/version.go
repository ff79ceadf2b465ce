// Package version says which build of the hub this is.
package version

import (
	"runtime"
	"runtime/debug"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// module is the path of the module that this package is in.
const module = "github.com/open-cluster-management-io/work-rollback"

// unknown is the version of a build that has none.
const unknown = "v0.0.0-unknown"

// gitVersion is the version that the linker wrote into the binary: `make build VERSION=v1.2.3`. It wins over what the Go tool stamped.
var gitVersion string

// Get returns the version of the binary: the linker's, or that of the module as the Go tool stamped it, and the commit when it was built
// in a checkout.
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

// versionOf returns the version of this module: what the linker wrote, or what the build has it at. In OCM's own binary this module is a
// dependency; where another directory takes its place there, its version is not known.
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
