package image

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const script = "../../hack/image.sh"

// The Deployments of the operator say how the image is run: "/work manager ..." as arguments, and as a user that is not root.
func TestContainerfile(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/Containerfile")
	require.NoError(t, err)
	instructions := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, arguments, _ := strings.Cut(line, " ")
		require.NotContains(t, instructions, name, "one of each is enough")
		instructions[name] = arguments
	}
	require.Equal(t, "scratch", instructions["FROM"])
	require.Equal(t, "work /work", instructions["COPY"])
	require.NotContains(t, instructions, "ENTRYPOINT", "it would come before the arguments that the operator gives")
	user, _, _ := strings.Cut(instructions["USER"], ":")
	uid, err := strconv.Atoi(user)
	require.NoError(t, err, "a kubelet can't tell whether a user is root whom it knows by name only")
	require.Positive(t, uid)
}

func TestBuild(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "record")
	podman := "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + record + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "podman"), []byte(podman), 0o755))
	build := exec.CommandContext(t.Context(), "bash", script, "registry.example.com/work:v1")
	build.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "ENGINE=", "ARCH=", "VERSION=v7.8.9")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	raw, err := os.ReadFile(record)
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	context := filepath.Join(root, "_output", "image", runtime.GOARCH)
	require.Equal(t, []string{
		"build", "--platform", "linux/" + runtime.GOARCH, "--file", filepath.Join(root, "deploy", "Containerfile"),
		"--tag", "registry.example.com/work:v1", context,
	}, strings.Fields(string(raw)))
	isStatic(t, filepath.Join(context, "work"))
	version, err := exec.CommandContext(t.Context(), filepath.Join(context, "work"), "--version").CombinedOutput()
	require.NoError(t, err, string(version))
	require.Contains(t, string(version), "v7.8.9", "the release that it is (R35)")
}

// isStatic: nothing but the binary is in the image, no loader and no library.
func isStatic(t *testing.T, path string) {
	t.Helper()
	binary, err := elf.Open(path)
	require.NoError(t, err)
	defer binary.Close()
	for _, part := range binary.Progs {
		require.NotEqual(t, elf.PT_INTERP, part.Type, "it asks for a loader")
	}
	libraries, err := binary.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
}

func TestWithoutAnEngine(t *testing.T) {
	dir := t.TempDir()
	for _, tool := range []string{"bash", "dirname"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, tool)))
	}
	build := exec.CommandContext(t.Context(), "bash", script, "registry.example.com/work:v1")
	build.Env = []string{"PATH=" + dir}
	output, err := build.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "install podman, docker or buildah")
}

func TestAnEngineThatFails(t *testing.T) {
	build := exec.CommandContext(t.Context(), "bash", script, "registry.example.com/work:v1")
	build.Env = append(os.Environ(), "ENGINE=false")
	output, err := build.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "false could not build registry.example.com/work:v1")
}

// A version that the hub can't read would make it a development build, which takes no snapshots.
func TestVersionOfAnImage(t *testing.T) {
	build := exec.CommandContext(t.Context(), "bash", script, "registry.example.com/work:v1")
	build.Env = append(os.Environ(), "ENGINE=true", "VERSION=v1.3")
	output, err := build.CombinedOutput()
	require.Error(t, err, string(output))
	require.Contains(t, string(output), "VERSION=v1.3 is no semantic version")
}
