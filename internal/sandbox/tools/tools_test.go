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

// fakeRepository contains the module of the tools, with a program that builds quickly.
func fakeRepository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write := func(path, content string) {
		path = filepath.Join(root, moduleDir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("go.mod", "module example.com/fake\ngo 1.24\nrequire k8s.io/kubernetes v1.0.0\nreplace k8s.io/kubernetes => ./kubernetes\n")
	write("kubernetes/go.mod", "module k8s.io/kubernetes\ngo 1.24\n")
	write("main.go", "package main\nfunc main() {}\n")
	return root
}

func TestEnsure(t *testing.T) {
	root := fakeRepository(t)
	// Developers set GOFLAGS for the root module. It must not change the tools' modules.
	t.Setenv("GOFLAGS", "-mod=mod -modfile=/not/there/go.mod")

	var first bytes.Buffer
	built, err := Ensure(t.Context(), &first, root)
	require.NoError(t, err)
	require.Contains(t, first.String(), "controlplane v1.0.0 built in ")
	require.Regexp(t, `_output/tools/controlplane-v1\.0\.0-\w+-\w+-\w+/kube-apiserver$`, built.KubeAPIServer)
	for _, path := range built.all() {
		require.FileExists(t, path)
	}
	entries, err := os.ReadDir(cacheDir(root))
	require.NoError(t, err)
	require.Len(t, entries, 2, "the tools and the lock; no temporary file is left")

	var second bytes.Buffer
	again, err := Ensure(t.Context(), &second, root)
	require.NoError(t, err)
	require.Equal(t, built, again)
	require.Empty(t, second.String(), "nothing to build, no output")
}

// If the module's files change, the tools are built again.
func TestEnsureBuildsAgain(t *testing.T) {
	root := fakeRepository(t)
	before, err := Ensure(t.Context(), &bytes.Buffer{}, root)
	require.NoError(t, err)
	main := filepath.Join(root, moduleDir, "main.go")
	require.NoError(t, os.WriteFile(main, []byte("package main\nfunc main() { println() }\n"), 0o644))
	after, err := Ensure(t.Context(), &bytes.Buffer{}, root)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	require.FileExists(t, after.Kubectl)
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
		builders += bytes.Count(outs[i].Bytes(), []byte("controlplane v1.0.0 built"))
	}
	require.Equal(t, 1, builders)
}

func TestEnsureSaysWhatFailed(t *testing.T) {
	root := fakeRepository(t)
	file := filepath.Join(root, moduleDir, "main.go")
	require.NoError(t, os.WriteFile(file, []byte("package main\nfunc main() { nonsense }\n"), 0o644))
	var out bytes.Buffer
	_, err := Ensure(t.Context(), &out, root)
	require.ErrorContains(t, err, "building the control planes")
	require.ErrorContains(t, err, "nonsense")
	require.Contains(t, out.String(), "controlplane v1.0.0 failed after")
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
	require.FileExists(t, filepath.Join(root, moduleDir, "go.mod"))

	t.Chdir(t.TempDir())
	_, err = FindRoot()
	require.ErrorContains(t, err, "change to one")
}
