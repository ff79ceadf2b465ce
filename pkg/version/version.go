// Package version says which build of the hub this is.
package version

import (
	"runtime"
	"runtime/debug"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
)

// Get reads the version that the Go tool stamped into the binary: the module's version, and the commit when it was built
// in a checkout.
func Get() apimachineryversion.Info {
	info := apimachineryversion.Info{GitVersion: "v0.0.0-unknown", GoVersion: runtime.Version(), Compiler: runtime.Compiler,
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if build.Main.Version != "" && build.Main.Version != "(devel)" {
		info.GitVersion = build.Main.Version
	}
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
