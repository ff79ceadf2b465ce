package release

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionIsQuoted: the name of a tag is one argument.
func TestVersionIsQuoted(t *testing.T) {
	for _, target := range []string{"build", "image", "snapshot", "publish"} {
		for _, version := range []string{"v1.2.3;echo${IFS}injected;", "v1.2.3';echo injected;'", "v1.2.3`echo injected`"} {
			printed := run(t, root, nil, "make", "--no-print-directory", "-n", target, "IMAGE=i", "VERSION="+version)
			arguments := run(t, root, nil, "bash", "-c", "go() { :; }; install() { :; }; hack/release.sh() { :; }; hack/image.sh() { :; }\n"+printed)
			require.Empty(t, arguments, "%s\n%s", target, printed)
		}
	}
}

// TestVersionsOfReleases: a version names a release, an image and a directory.
func TestVersionsOfReleases(t *testing.T) {
	for _, version := range []string{"1.2.3", "v1.2", "v1.2.3+build", "latest", "v1.2.3/x"} {
		_, problem, err := try(t, root, []string{"REPOSITORY=a/b"}, "hack/image.sh", "registry.invalid/work", version)
		require.Error(t, err, version)
		require.Contains(t, problem, "use v<major>.<minor>.<patch>")
	}
	for _, image := range []string{"work", "registry.invalid/work:v1", "Registry.invalid/work", "--push"} {
		_, problem, err := try(t, root, []string{"REPOSITORY=a/b"}, "hack/image.sh", image, "v1.2.3")
		require.Error(t, err, image)
		require.Contains(t, problem, "use <registry>/<name>, without a tag")
	}
}

// TestReleaseNeedsNotes: a release without changes in CHANGELOG.md is not built.
func TestReleaseNeedsNotes(t *testing.T) {
	_, problem, err := try(t, root, nil, "make", "snapshot", "VERSION=v999.0.0")
	require.Error(t, err)
	require.Contains(t, problem, `CHANGELOG.md has no changes under the heading "## v999.0.0"`)
}
