// Command release builds everything that a release of this project publishes, on any machine and without a network:
//
//	go run ./hack/release -out _output/release -version v1.2.3
//
// The same commit gives the same files. docs/releases.md lists them. hack/publish.sh pushes and signs them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	apimachineryversion "k8s.io/apimachinery/pkg/util/version"
)

// source is where this project is published.
const source = "https://github.com/open-cluster-management-io/work-rollback"

// imageName is the name of the published image.
const imageName = "ghcr.io/open-cluster-management-io/work-rollback/work"

// snapshotVersion is the beginning of the version of a commit that is not a release. The hub treats 0.0.0 as a development build (R35).
const snapshotVersion = "v0.0.0-snapshot."

// release holds the inputs and the output of a build.
type release struct {
	// root is the checkout; out is the directory of the published files, which is replaced.
	root, out string
	// version is a semantic version with a v.
	version string
	// commit is the full hash of the commit, and created its time in UTC: the time of every file.
	commit  string
	created time.Time
	// imageOnly leaves out everything except the image.
	imageOnly bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	r := &release{}
	flag.StringVar(&r.out, "out", "_output/release", "directory of the files, which is replaced")
	flag.StringVar(&r.version, "version", "", "version, such as v1.2.3; by default a snapshot of the commit")
	flag.BoolVar(&r.imageOnly, "image-only", false, "build only the container image")
	flag.Parse()
	if err := r.identify(ctx); err != nil {
		return err
	}
	return r.build(ctx)
}

// identify finds the checkout, its commit and the version.
func (r *release) identify(ctx context.Context) (err error) {
	if r.root, err = output(ctx, ".", "git", "rev-parse", "--show-toplevel"); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if r.commit, err = output(ctx, r.root, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = output(ctx, r.root, "git", "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds since 1970", epoch)
	}
	r.created = time.Unix(seconds, 0).UTC()
	if r.version == "" {
		r.version = snapshotVersion + r.commit[:12]
	}
	return validate(r.version)
}

// validate returns an error unless a version can name a release, an image and a directory.
func validate(version string) error {
	parsed, err := apimachineryversion.ParseSemantic(version)
	if err != nil || "v"+parsed.String() != version || parsed.BuildMetadata() != "" {
		return fmt.Errorf("%q is not the version of a release: use v<major>.<minor>.<patch>, or with a pre-release as in v1.2.3-rc.1", version)
	}
	return nil
}

// build builds all files. The slow parts come last.
func (r *release) build(ctx context.Context) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "work-rollback-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if r.imageOnly {
		_, err := r.image(ctx, work)
		return err
	}
	notes, err := r.notes()
	if err != nil {
		return err
	}
	digest, err := r.image(ctx, work)
	if err != nil {
		return err
	}
	if err := r.install(digest); err != nil {
		return err
	}
	if err := r.plugins(ctx, work); err != nil {
		return err
	}
	// The notes and the digest are not signed as files: the digest is the signed image's.
	return errors.Join(r.checksums(), r.write("image-digest.txt", digest+"\n"), r.write("release-notes.md", notes+r.artifacts(digest)))
}

// write writes a file of the release.
func (r *release) write(name, content string) error {
	return os.WriteFile(filepath.Join(r.out, name), []byte(content), 0o644)
}

// notes returns the release notes of the version.
func (r *release) notes() (string, error) {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	heading := r.version
	if strings.HasPrefix(r.version, snapshotVersion) {
		heading = unreleased
	}
	return section(string(changelog), heading)
}

// output runs a program and returns what it prints, without the last line break.
func output(ctx context.Context, dir string, name string, arguments ...string) (string, error) {
	return outputWith(ctx, dir, nil, name, arguments...)
}

// outputWith is output with further variables of the environment.
func outputWith(ctx context.Context, dir string, environment []string, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not in PATH: install it: %w", name, err)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSuffix(string(printed), "\n"), nil
}
