package tools

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Tools holds the paths of the programs. All paths are links to one binary, which runs the program with the name of the link.
type Tools struct {
	Etcd            string
	KubeAPIServer   string
	KubeControllers string
	Kubectl         string
}

const (
	// moduleDir is the directory of the module that pins the programs, under the root.
	moduleDir = "hack/tools/controlplane"
	// versionModule is a requirement of that module. Its version is the version of the Kubernetes programs.
	versionModule = "k8s.io/kubernetes"
	// binaryName is the name of the binary.
	binaryName = "controlplane"
)

// Ensure returns the tools of the repository at root. It builds them if they are not in the cache, and reports the build to out. An empty
// root means the repository that holds the working directory.
func Ensure(ctx context.Context, out io.Writer, root string) (Tools, error) {
	if root == "" {
		found, err := FindRoot()
		if err != nil {
			return Tools{}, err
		}
		root = found
	}
	b, err := binaryOf(ctx, root)
	if err != nil {
		return Tools{}, err
	}
	if built, err := b.isBuilt(); built || err != nil {
		return b.tools(), err
	}
	unlock, err := lock(ctx, filepath.Join(cacheDir(root), ".sandbox.lock"), out)
	if err != nil {
		return Tools{}, err
	}
	defer unlock()
	// Another process may have built it while this one waited.
	if built, err := b.isBuilt(); built || err != nil {
		return b.tools(), err
	}
	fmt.Fprintf(out, "Building etcd and Kubernetes %s from Go modules into %s.\nOnly the first build takes long: about three minutes on two cores.\n",
		b.version, cacheDir(root))
	return b.tools(), withProgress(out, b.name, func() error { return b.build(ctx, root) })
}

// binary is the binary of the programs.
type binary struct {
	// name identifies the versions in the binary, and version is the version of Kubernetes.
	name, version string
	// dir is the directory of the binary and its links.
	dir string
}

// binaryOf returns the binary for the pinned versions. Its name changes with the module's files, so that an older build is never mistaken
// for the current build.
func binaryOf(ctx context.Context, root string) (*binary, error) {
	required, err := requirements(ctx, filepath.Join(root, moduleDir), "go.mod")
	if err != nil {
		return nil, err
	}
	version, found := required[versionModule]
	if !found {
		return nil, fmt.Errorf("%s/go.mod does not require %s: add it, its version is that of the control planes", moduleDir, versionModule)
	}
	files, module := sha256.New(), filepath.Join(root, moduleDir)
	sources, err := filepath.Glob(filepath.Join(module, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("listing what the control planes are built from: %w", err)
	}
	for _, path := range append(sources, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")) {
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading what the control planes are built from: %w", err)
		}
		_, _ = files.Write(data)
	}
	dir := fmt.Sprintf("%s-%s-%.6x-%s-%s", binaryName, version, files.Sum(nil), runtime.GOOS, runtime.GOARCH)
	return &binary{name: "controlplane " + version, version: version, dir: filepath.Join(cacheDir(root), dir)}, nil
}

func (b *binary) tools() Tools {
	return Tools{
		Etcd:            filepath.Join(b.dir, "etcd"),
		KubeAPIServer:   filepath.Join(b.dir, "kube-apiserver"),
		KubeControllers: filepath.Join(b.dir, "kube-controllers"),
		Kubectl:         filepath.Join(b.dir, "kubectl"),
	}
}

func (t *Tools) all() []string {
	return []string{t.Etcd, t.KubeAPIServer, t.KubeControllers, t.Kubectl}
}

func (b *binary) isBuilt() (bool, error) {
	_, err := os.Stat(b.dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// build builds the binary and its links in a temporary directory, and then renames that directory, so that an interrupted build leaves
// nothing that looks like a tool.
func (b *binary) build(ctx context.Context, root string) error {
	temp, err := os.MkdirTemp(cacheDir(root), ".build-")
	if err != nil {
		return fmt.Errorf("creating the cache of the control planes: %w", err)
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, filepath.Base(b.dir))
	// -mod and -modfile override a developer's GOFLAGS, which are for the root module. Without its version, a Kubernetes server reports
	// v0.0.0, which confuses kubectl. The tools are not debugged, so they have no symbols.
	ldflags := "-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=" + b.version
	if _, err := runGo(ctx, filepath.Join(root, moduleDir), "build", "-mod=readonly", "-modfile=", ldflags,
		"-o", filepath.Join(dir, binaryName), "."); err != nil {
		return fmt.Errorf("building the control planes: %w", err)
	}
	links := b.tools()
	for _, link := range links.all() {
		if err := os.Symlink(binaryName, filepath.Join(dir, filepath.Base(link))); err != nil {
			return fmt.Errorf("naming a program of the control planes: %w", err)
		}
	}
	if err := os.Rename(dir, b.dir); err != nil {
		return fmt.Errorf("moving the control planes into the cache: %w", err)
	}
	return nil
}

func cacheDir(root string) string { return filepath.Join(root, "_output", "tools") }
