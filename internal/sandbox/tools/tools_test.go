package tools

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeRepository has the modules of the tools, with programs that build in no time.
func fakeRepository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write := func(path, content string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	const program = "package main\nfunc main() {}\n"
	for dir, modules := range map[string]map[string]string{
		"hack/tools/controlplane": {"go.etcd.io/etcd/server/v3": "v3.0.0", "k8s.io/kubernetes": "v1.0.0"},
		"hack/tools/kwok":         {"sigs.k8s.io/kwok": "v0.1.0"},
	} {
		mod := "module example.com/fake\ngo 1.24\n"
		for module, version := range modules {
			mod += "require " + module + " " + version + "\nreplace " + module + " => ./" + module + "\n"
			write(filepath.Join(dir, module, "go.mod"), "module "+module+"\ngo 1.24\n")
		}
		write(filepath.Join(dir, "go.mod"), mod)
	}
	write("hack/tools/controlplane/etcd/main.go", program)
	write("hack/tools/controlplane/k8s.io/kubernetes/cmd/kube-apiserver/main.go", program)
	write("hack/tools/controlplane/k8s.io/kubernetes/cmd/kube-controller-manager/main.go", program)
	write("hack/tools/controlplane/k8s.io/kubernetes/cmd/kubectl/main.go", program)
	write("hack/tools/kwok/sigs.k8s.io/kwok/cmd/kwok/main.go", program)
	return root
}

func TestEnsure(t *testing.T) {
	root := fakeRepository(t)
	// Developers have it for the root module; the tools' modules must stay as they are.
	t.Setenv("GOFLAGS", "-mod=mod -modfile=/not/there/go.mod")

	var first bytes.Buffer
	built, err := Ensure(t.Context(), &first, root)
	require.NoError(t, err)
	require.Contains(t, first.String(), "[4/4] kwok v0.1.0 built in ")
	require.Regexp(t, `_output/tools/kube-apiserver-v1\.0\.0-\w+-\w+/kube-apiserver$`, built.KubeAPIServer)
	for _, path := range []string{built.Etcd, built.KubeAPIServer, built.KubeControllerManager, built.Kwok} {
		require.FileExists(t, path)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, entries, 1, "no temporary file is left")
	}

	var second bytes.Buffer
	again, err := Ensure(t.Context(), &second, root)
	require.NoError(t, err)
	require.Equal(t, built, again)
	require.Empty(t, second.String(), "nothing to build, nothing to say")
}

func TestEnsureKubectl(t *testing.T) {
	root := fakeRepository(t)
	var out bytes.Buffer
	path, err := EnsureKubectl(t.Context(), &out, root)
	require.NoError(t, err)
	require.FileExists(t, path)
	require.Contains(t, out.String(), "[1/1] kubectl v1.0.0 built in ", "it needs no other tool")
}

func TestEnsureInParallelBuildsOnce(t *testing.T) {
	root := fakeRepository(t)
	outs := make([]bytes.Buffer, 4)
	var all sync.WaitGroup
	for i := range outs {
		all.Go(func() {
			_, err := Ensure(t.Context(), &outs[i], root)
			require.NoError(t, err)
		})
	}
	all.Wait()
	builders := 0
	for i := range outs {
		builders += bytes.Count(outs[i].Bytes(), []byte("etcd v3.0.0 built"))
	}
	require.Equal(t, 1, builders)
}

func TestEnsureSaysWhatFailed(t *testing.T) {
	root := fakeRepository(t)
	file := filepath.Join(root, "hack/tools/kwok/sigs.k8s.io/kwok/cmd/kwok/main.go")
	require.NoError(t, os.WriteFile(file, []byte("package main\nfunc main() { nonsense }\n"), 0o644))
	var out bytes.Buffer
	_, err := Ensure(t.Context(), &out, root)
	require.ErrorContains(t, err, "building kwok")
	require.ErrorContains(t, err, "nonsense")
	require.Contains(t, out.String(), "kwok v0.1.0 failed after")
}

func TestEnsureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Ensure(ctx, &bytes.Buffer{}, fakeRepository(t))
	require.ErrorIs(t, err, context.Canceled)
}

func TestFindRoot(t *testing.T) {
	root, err := FindRoot()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "hack", "tools", "kwok", "go.mod"))

	t.Chdir(t.TempDir())
	_, err = FindRoot()
	require.ErrorContains(t, err, "change to one")
}
