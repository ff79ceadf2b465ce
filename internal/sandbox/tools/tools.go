package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Tools holds the paths of the binaries.
type Tools struct {
	Etcd                  string
	KubeAPIServer         string
	KubeControllerManager string
	Kwok                  string
	// Kubectl is set by EnsureKubectl only.
	Kubectl string
}

// tool is one binary: a package of a Go module, and the module that gives its version.
type tool struct {
	name string
	// dir is the directory of the go.mod that pins it, under the root.
	dir string
	// pkg is what go build is given there.
	pkg string
	// module is the requirement in that go.mod whose version is the tool's.
	module string
	path   func(*Tools) *string
}

var all = []tool{
	{
		name: "etcd", dir: "hack/tools/controlplane", pkg: "./etcd", module: "go.etcd.io/etcd/server/v3",
		path: func(t *Tools) *string { return &t.Etcd },
	},
	{
		name: "kube-apiserver", dir: "hack/tools/controlplane", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", module: "k8s.io/kubernetes",
		path: func(t *Tools) *string { return &t.KubeAPIServer },
	},
	{
		name: "kube-controller-manager", dir: "hack/tools/controlplane", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", module: "k8s.io/kubernetes",
		path: func(t *Tools) *string { return &t.KubeControllerManager },
	},
	{
		name: "kwok", dir: "hack/tools/kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", module: "sigs.k8s.io/kwok",
		path: func(t *Tools) *string { return &t.Kwok },
	},
}

// kubectl is what a person has. The tests of the documentation run its commands.
var kubectl = []tool{{
	name: "kubectl", dir: "hack/tools/controlplane", pkg: "k8s.io/kubernetes/cmd/kubectl", module: "k8s.io/kubernetes",
	path: func(t *Tools) *string { return &t.Kubectl },
}}

// Ensure returns the tools of the repository at root, and builds those that are not in its cache. An
// empty root means the repository that holds the working directory. It reports to out what it builds.
func Ensure(ctx context.Context, out io.Writer, root string) (Tools, error) {
	return ensure(ctx, out, root, all)
}

// EnsureKubectl returns the path of kubectl, and builds it as Ensure does. A sandbox does without it.
func EnsureKubectl(ctx context.Context, out io.Writer, root string) (string, error) {
	found, err := ensure(ctx, out, root, kubectl)
	return found.Kubectl, err
}

func ensure(ctx context.Context, out io.Writer, root string, wanted []tool) (Tools, error) {
	if root == "" {
		found, err := FindRoot()
		if err != nil {
			return Tools{}, err
		}
		root = found
	}
	result, missing, err := lookUp(ctx, root, wanted)
	if err != nil || len(missing) == 0 {
		return result, err
	}

	unlock, err := lock(ctx, filepath.Join(cacheDir(root), ".sandbox.lock"), out)
	if err != nil {
		return Tools{}, err
	}
	defer unlock()
	// Another process may have built them while this one waited.
	if result, missing, err = lookUp(ctx, root, wanted); err != nil {
		return Tools{}, err
	}
	return result, buildAll(ctx, out, root, missing)
}

// binary is a tool at the place where it belongs.
type binary struct {
	tool
	version string
	file    string
}

// lookUp returns where the tools belong, and which of them are not there.
func lookUp(ctx context.Context, root string, wanted []tool) (Tools, []binary, error) {
	var result Tools
	var missing []binary
	versions := map[string]map[string]string{}
	for _, t := range wanted {
		if versions[t.dir] == nil {
			required, err := requirements(ctx, filepath.Join(root, t.dir), "go.mod")
			if err != nil {
				return Tools{}, nil, err
			}
			versions[t.dir] = required
		}
		version, ok := versions[t.dir][t.module]
		if !ok {
			return Tools{}, nil, fmt.Errorf("%s/go.mod does not require %s: add it, its version is that of %s", t.dir, t.module, t.name)
		}
		dir := fmt.Sprintf("%s-%s-%s-%s", t.name, version, runtime.GOOS, runtime.GOARCH)
		file := filepath.Join(cacheDir(root), dir, t.name)
		*t.path(&result) = file
		switch _, err := os.Stat(file); {
		case errors.Is(err, os.ErrNotExist):
			missing = append(missing, binary{tool: t, version: version, file: file})
		case err != nil:
			return Tools{}, nil, fmt.Errorf("looking for %s: %w", t.name, err)
		}
	}
	return result, missing, nil
}

func buildAll(ctx context.Context, out io.Writer, root string, missing []binary) error {
	if len(missing) == 0 {
		return nil
	}
	begin := time.Now()
	fmt.Fprintf(out, "Building %s from Go modules into %s.\nOnly the first build takes long: all of them about ten minutes on two cores.\n",
		count(len(missing), "program"), cacheDir(root))
	for i, b := range missing {
		title := fmt.Sprintf("[%d/%d] %s %s", i+1, len(missing), b.name, b.version)
		if err := withProgress(out, title, func() error { return build(ctx, root, b) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "Built in %v.\n", time.Since(begin).Round(time.Second))
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func cacheDir(root string) string { return filepath.Join(root, "_output", "tools") }
