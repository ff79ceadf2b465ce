package release

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPublishRefusesAnotherRelease: the build may be compromised, and has no right to publish. What it wrote can neither publish another
// version than that of the tag nor upload a file from outside of the release.
func TestPublishRefusesAnotherRelease(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	sum := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, tc := range map[string]struct {
		version, checksums, problem string
	}{
		"another version":    {"v1.2.4", sum + "  install.yaml\n", "holds v1.2.4, and not v1.2.3"},
		"two versions":       {`v1.2.3"` + "\n" + `"org.opencontainers.image.ref.name": "v1.2.4`, sum + "  install.yaml\n", "and not v1.2.3"},
		"a path":             {"v1.2.3", sum + "  ../../secret\n", "is not a file of the release"},
		"an absolute path":   {"v1.2.3", sum + "  " + secret + "\n", "is not a file of the release"},
		"a flag":             {"v1.2.3", sum + "  --repo=other\n", "is not a file of the release"},
		"a label":            {"v1.2.3", sum + "  install.yaml#label\n", "is not a file of the release"},
		"two names":          {"v1.2.3", sum + "  install.yaml other\n", "is not a file of the release"},
		"a link":             {"v1.2.3", sum + "  link\n", "is not a file of the release"},
		"a missing file":     {"v1.2.3", sum + "  missing.yaml\n", "is not a file of the release"},
		"an unfinished line": {"v1.2.3", sum + "  ../secret", "is not a file of the release"},
		"a directory":        {"v1.2.3", sum + "  image\n", "is not a file of the release"},
		"control characters": {"v1.2.3", sum + "  \x1b[2J\n", `$'\E[2J'`},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "release")
			require.NoError(t, os.MkdirAll(filepath.Join(out, "image"), 0o700))
			for file, content := range map[string]string{
				"checksums.txt": tc.checksums, "install.yaml": "", "../secret": "",
				"image/index.json": `"org.opencontainers.image.ref.name": "` + tc.version + "\"\n",
			} {
				require.NoError(t, os.WriteFile(filepath.Join(out, file), []byte(content), 0o600))
			}
			require.NoError(t, os.Symlink(secret, filepath.Join(out, "link")))
			_, problem, err := try(t, root, nil, "hack/publish.sh", "registry.invalid/work", out, "v1.2.3")
			require.Error(t, err)
			require.Contains(t, problem, tc.problem)
		})
	}
	_, problem, err := try(t, root, nil, "hack/publish.sh", "registry.invalid/work", t.TempDir())
	require.Error(t, err)
	require.Contains(t, problem, "usage")
}

// TestVersionIsQuoted: the name of a tag is one argument.
func TestVersionIsQuoted(t *testing.T) {
	for _, target := range []string{"build", "image", "snapshot", "publish"} {
		for _, version := range []string{"v1.2.3;echo${IFS}injected;", "v1.2.3';echo injected;'", "v1.2.3`echo injected`"} {
			printed := run(t, root, nil, "make", "--no-print-directory", "-n", target, "IMAGE=i", "VERSION="+version)
			arguments := run(t, root, nil, "bash", "-c", "go() { :; }; install() { :; }; hack/publish.sh() { :; }; hack/image.sh() { :; }\n"+printed)
			require.Empty(t, arguments, "%s\n%s", target, printed)
		}
	}
}
