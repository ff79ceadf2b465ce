// Package hack tests the scripts of a release. In these tests, programs that only record their arguments stand in for the tools.
package hack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// recorder stands in for each tool. It writes the output that the scripts read from the tool.
const recorder = `#!/bin/bash
{ printf '%%s' "${0##*/}"; printf ' %%s' "$@"; echo; } >> '%s'
case "${0##*/} $1" in
'ko build') mkdir -p _output/image; echo '  "digest": "sha256:aaa"' > _output/image/index.json ;;
'crane digest') echo sha256:bbb ;;
'goreleaser release') mkdir -p _output/goreleaser/krew; touch _output/goreleaser/{krew/mwrs.yaml,checksums.txt,kubectl-mwrs_x.tar.gz}
    printf '%%s' "$COSIGN_FLAGS" > _output/flags ;;
esac
`

const changelog = "# Changelog\n\n## Unreleased\n\nNew.\n\n## v1.1.0 - 2026-12-01\n\n### Fixed\n\n- One.\n\n- Two.\n\n## v1.1.0-rc.1\n\nThree.\n\n## v1.0.0\n"

// release is a clone of this repository with the scripts alone, at the tag v1.1.0.
type release struct{ dir, bin, record string }

func newRelease(t *testing.T) *release {
	t.Helper()
	temporary := t.TempDir()
	r := &release{
		dir: filepath.Join(temporary, "clone"), bin: filepath.Join(temporary, "bin"), record: filepath.Join(temporary, "record"),
	}
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, "hack/tools"), 0o755))
	require.NoError(t, os.Mkdir(r.bin, 0o755))
	// If a program such as cp read the files, the cache of `go test` would not notice their changes.
	for _, name := range []string{"hack/release.sh", "hack/image.sh", "hack/notes.sh", "Makefile", ".gitignore"} {
		content, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		r.write(t, name, string(content))
	}
	require.NoError(t, os.CopyFS(filepath.Join(r.dir, "hack/base"), os.DirFS("base")))
	r.write(t, "CHANGELOG.md", changelog)
	r.write(t, "hack/tools/build.sh", "#!/bin/sh\necho '"+r.bin+"'\n")
	for _, tool := range []string{"ko", "crane", "syft", "cosign", "goreleaser", "go", "install"} {
		require.NoError(t, os.WriteFile(filepath.Join(r.bin, tool), fmt.Appendf(nil, recorder, r.record), 0o755))
	}
	r.run(t, "git", "init", "--quiet")
	r.run(t, "git", "add", ".")
	r.commit(t)
	r.run(t, "git", "tag", "v1.1.0")
	return r
}

func (r *release) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o755))
}

func (r *release) commit(t *testing.T) {
	t.Helper()
	r.run(t, "git", "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--allow-empty", "--message=x")
}

// run runs a program that does not fail, without the variables that the scripts read.
func (r *release) run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	printed, problem, err := r.try(t, nil, name, arguments...)
	require.NoError(t, err, "%s %q: %s%s", name, arguments, printed, problem)
	return printed
}

// try is like run, with further variables and for a program that may fail; problem is its standard error.
func (r *release) try(t *testing.T, environment []string, name string, arguments ...string) (printed, problem string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = r.dir
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{
			"VERSION", "IMAGE", "REPOSITORY", "OUT", "COSIGN_KEY", "INSECURE", "GITHUB_ACTIONS", "GITHUB_REPOSITORY", "GITHUB_TOKEN",
			"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL",
		}, name)
	})
	command.Env = append(append(command.Env, "PATH="+r.bin+":"+os.Getenv("PATH")), environment...)
	var out, diagnostics strings.Builder
	command.Stdout, command.Stderr = &out, &diagnostics
	err = command.Run()
	return strings.TrimSuffix(out.String(), "\n"), diagnostics.String(), err
}

// calls returns the recorded calls of the tools, each beginning with the name of the tool.
func (r *release) calls(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(r.record)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// callsOf returns the recorded calls that begin with some words.
func (r *release) callsOf(t *testing.T, words string) []string {
	t.Helper()
	return slices.DeleteFunc(r.calls(t), func(call string) bool { return !strings.HasPrefix(call+" ", words+" ") })
}

const ownImage, publicImage = "registry.invalid/work", "ghcr.io/open-cluster-management-io/work-rollback/work"

// TestModesOfARelease: only the first argument determines what is pushed and published, and the image is pushed only once.
func TestModesOfARelease(t *testing.T) {
	for _, tc := range []struct {
		target, image   string
		environment     []string
		pushes, attests int
		goreleaser      string
	}{
		{target: "snapshot", image: publicImage, environment: []string{"GITHUB_TOKEN=x"}, goreleaser: "--snapshot --skip=sign"},
		{target: "push", image: ownImage, environment: []string{"GITHUB_TOKEN=x", "IMAGE=" + ownImage}, pushes: 1, attests: 2, goreleaser: "--snapshot"},
		{
			target: "publish", image: ownImage, environment: []string{"GITHUB_TOKEN=x", "IMAGE=" + ownImage, "VERSION=v1.1.0"},
			pushes: 1, attests: 2, goreleaser: "--release-notes _output/release-notes.md",
		},
		{
			target: "publish", image: publicImage, environment: []string{"GITHUB_TOKEN=x", "GITHUB_ACTIONS=true", "VERSION=v1.1.0"},
			pushes: 1, attests: 2, goreleaser: "--release-notes _output/release-notes.md",
		},
	} {
		t.Run(tc.target+" "+tc.image, func(t *testing.T) {
			r := newRelease(t)
			version := "v0.0.0-snapshot.g" + r.run(t, "git", "rev-parse", "HEAD")[:12]
			if slices.Contains(tc.environment, "VERSION=v1.1.0") {
				version = "v1.1.0"
			}
			printed, problem, err := r.try(t, tc.environment, "make", "--no-print-directory", "--silent", tc.target)
			require.NoError(t, err, problem)
			require.Equal(t, tc.image+":"+version+"@sha256:aaa", printed)
			pushes := r.callsOf(t, "crane push")
			require.Len(t, pushes, tc.pushes)
			for _, push := range pushes {
				require.Equal(t, "crane push _output/image "+tc.image+":"+version, push)
			}
			require.Len(t, r.callsOf(t, "cosign sign"), tc.pushes)
			require.Len(t, r.callsOf(t, "cosign attest"), tc.attests)
			require.Equal(t, []string{"goreleaser release --clean " + tc.goreleaser}, r.callsOf(t, "goreleaser"))
			require.FileExists(t, filepath.Join(r.dir, "_output/release/kubectl-mwrs_x.tar.gz"))
		})
	}
}

// TestNothingIsPushed: a missing requirement of a release is reported before the first tool runs.
func TestNothingIsPushed(t *testing.T) {
	const token, image, version = "GITHUB_TOKEN=x", "IMAGE=" + ownImage, "VERSION=v1.1.0"
	for name, tc := range map[string]struct {
		arguments []string
		prepare   func(t *testing.T, r *release)
		problem   string
	}{
		"no version":                 {arguments: []string{"publish", token, image}, problem: "set VERSION"},
		"no token":                   {arguments: []string{"publish", version, image}, problem: "set GITHUB_TOKEN"},
		"the public image":           {arguments: []string{"publish", token, version}, problem: "only the release workflow pushes " + publicImage},
		"the public image, by name":  {arguments: []string{"publish", token, version, "IMAGE=" + publicImage}, problem: "set IMAGE=<registry>/<name>"},
		"the public image, signed":   {arguments: []string{"push"}, problem: "only the release workflow pushes " + publicImage},
		"the image of a fork":        {arguments: []string{"push", "REPOSITORY=Someone/fork"}, problem: "pushes ghcr.io/someone/fork/work:"},
		"a tag in IMAGE":             {arguments: []string{"push", image + ":v1"}, problem: "without a tag"},
		"a version without notes":    {arguments: []string{"snapshot", "VERSION=v1.0.0"}, problem: `no changes under the heading "## v1.0.0"`},
		"a version without a tag":    {arguments: []string{"publish", token, image, "VERSION=v1.1.0-rc.1"}, problem: "not the tag v1.1.0-rc.1"},
		"the beginning of a version": {arguments: []string{"publish", token, image, "VERSION=v1.1.0-rc"}, problem: "not the tag v1.1.0-rc:"},
		"a later commit": {
			arguments: []string{"publish", token, image, version}, problem: "not the tag v1.1.0",
			prepare: func(t *testing.T, r *release) { t.Helper(); r.commit(t) },
		},
		"a change": {
			arguments: []string{"publish", token, image, version}, problem: "changes that v1.1.0 does not have",
			prepare: func(t *testing.T, r *release) { t.Helper(); r.write(t, "CHANGELOG.md", changelog+"\n") },
		},
		"a new file": {
			arguments: []string{"publish", token, image, version}, problem: "changes that v1.1.0 does not have",
			prepare: func(t *testing.T, r *release) { t.Helper(); r.write(t, "new", "") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			if tc.prepare != nil {
				tc.prepare(t, r)
			}
			printed, problem, err := r.try(t, nil, "make", append([]string{"--no-print-directory", "--silent"}, tc.arguments...)...)
			require.Error(t, err)
			require.Empty(t, printed)
			require.Contains(t, problem, tc.problem)
			require.Empty(t, r.calls(t))
		})
	}
	r := newRelease(t)
	for script, arguments := range map[string][]string{"hack/release.sh": {"pulish"}, "hack/image.sh": {ownImage, "v1.1.0", "--pus"}} {
		_, problem, err := r.try(t, []string{"REPOSITORY=a/b", image}, script, arguments...)
		require.Error(t, err)
		require.Contains(t, problem, "usage: "+script)
	}
	require.Empty(t, r.calls(t))
}

// TestCheckoutCanHaveSeveralTags: a commit can be a release candidate and the release.
func TestCheckoutCanHaveSeveralTags(t *testing.T) {
	r := newRelease(t)
	r.run(t, "git", "tag", "v1.1.0-rc.1")
	for _, version := range []string{"v1.1.0", "v1.1.0-rc.1"} {
		_, problem, err := r.try(t, nil, "make", "--silent", "publish", "IMAGE="+ownImage, "GITHUB_TOKEN=x", "VERSION="+version)
		require.NoError(t, err, problem)
	}
}

// TestKeyIsOneArgument: goreleaser puts COSIGN_FLAGS into the command that bash runs.
func TestKeyIsOneArgument(t *testing.T) {
	r := newRelease(t)
	const key = `my keys/it's $HOME; "echo" injected.key`
	_, problem, err := r.try(t, []string{"COSIGN_KEY=" + key, "IMAGE=" + ownImage}, "make", "--silent", "push")
	require.NoError(t, err, problem)
	flags, err := os.ReadFile(filepath.Join(r.dir, "_output/flags"))
	require.NoError(t, err)
	sign := goreleaser(t).Signs[0]
	require.Equal(t, []string{"bash", "-c"}, []string{sign.Command, sign.Arguments[0]})
	script := os.Expand(sign.Arguments[1], func(name string) string {
		return map[string]string{"COSIGN_FLAGS": string(flags), "artifact": "checksums.txt", "signature": "a.json"}[name]
	})
	require.NoError(t, os.Remove(r.record))
	r.run(t, "bash", "-c", `cosign() { printf '%s\n' "$@" > arguments; }; `+script)
	arguments, err := os.ReadFile(filepath.Join(r.dir, "arguments"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"sign-blob", "--yes", "--key", key, "--use-signing-config=false", "--tlog-upload=false", "--bundle=a.json", "checksums.txt",
	}, strings.Split(strings.TrimSpace(string(arguments)), "\n"))
}

// config holds the parts of .goreleaser.yaml that these tests read.
type config struct {
	Checksum struct {
		IDs []string `json:"ids"`
	} `json:"checksum"`
	Signs []struct {
		ID        string   `json:"id"`
		Command   string   `json:"cmd"`
		Arguments []string `json:"args"`
	} `json:"signs"`
	Release struct {
		Draft                bool `json:"draft"`
		ReplaceExistingDraft bool `json:"replace_existing_draft"`
	} `json:"release"`
}

func goreleaser(t *testing.T) (found config) {
	t.Helper()
	content, err := os.ReadFile("../.goreleaser.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, &found))
	require.Len(t, found.Signs, 1)
	return found
}

// TestReleaseIsADraftFirst: if a step of the workflow fails, the workflow can run again. docs/workflows_test.go has its last step.
func TestReleaseIsADraftFirst(t *testing.T) {
	require.True(t, goreleaser(t).Release.Draft)
	require.True(t, goreleaser(t).Release.ReplaceExistingDraft)
}

// TestSignedChecksumsStay: goreleaser writes checksums.txt again after it signed the file. The signature itself must not get into it.
func TestSignedChecksumsStay(t *testing.T) {
	read := goreleaser(t)
	require.Equal(t, []string{"default"}, read.Checksum.IDs)
	require.Equal(t, "signature", read.Signs[0].ID)
}

// TestDirectoryOfARelease: OUT names the directory of the files. No other files there are deleted.
func TestDirectoryOfARelease(t *testing.T) {
	r := newRelease(t)
	other := t.TempDir()
	for _, out := range []string{filepath.Join(t.TempDir(), "my release"), "_output/relative", t.TempDir()} {
		for range 2 {
			_, problem, err := r.try(t, nil, "make", "--silent", "snapshot", "OUT="+out)
			require.NoError(t, err, problem)
		}
		if !filepath.IsAbs(out) {
			out = filepath.Join(r.dir, out)
		}
		for _, name := range []string{"image.txt", "image/index.json", "checksums.txt", "kubectl-mwrs_x.tar.gz", "mwrs.yaml", "release-notes.md"} {
			require.FileExists(t, filepath.Join(out, name))
		}
		require.NoDirExists(t, filepath.Join(r.dir, "_output/release"))
	}
	require.NoError(t, os.WriteFile(filepath.Join(other, "mine"), nil, 0o600))
	_, problem, err := r.try(t, nil, "make", "--silent", "snapshot", "OUT="+other)
	require.Error(t, err)
	require.Contains(t, problem, "set OUT to another directory")
	require.FileExists(t, filepath.Join(other, "mine"))
}

// TestVersionIsQuoted: the name of a tag is one argument.
func TestVersionIsQuoted(t *testing.T) {
	r := newRelease(t)
	for _, version := range []string{"v1.2.3;echo$${IFS}injected;", "v1.2.3';echo injected;'", "v1.2.3`echo injected`"} {
		for _, target := range []string{"image", "snapshot", "push", "publish"} {
			printed, problem, err := r.try(t, []string{"GITHUB_TOKEN=x"}, "make", "--no-print-directory", "--silent", target, "IMAGE="+ownImage, "VERSION="+version)
			require.Error(t, err)
			require.Empty(t, printed, "%s %s", target, version)
			require.Contains(t, problem, "use v<major>.<minor>.<patch>", "%s %s", target, version)
			require.Empty(t, r.calls(t))
		}
		require.Empty(t, r.run(t, "make", "--no-print-directory", "--silent", "build", "VERSION="+version))
		builds := r.callsOf(t, "go build")
		require.Len(t, builds, 1)
		require.Contains(t, builds[0], "-X github.com/open-cluster-management-io/work-rollback/pkg/version.gitVersion=v1.2.3")
		require.True(t, strings.HasSuffix(builds[0], " -o bin/ ./cmd/work ./cmd/kubectl-mwrs ./cmd/sandbox"), builds[0])
		require.NoError(t, os.Remove(r.record))
	}
}

// TestVersionsOfReleases: a version names a release, an image and a directory.
func TestVersionsOfReleases(t *testing.T) {
	r := newRelease(t)
	check := func(image, version string) (problem string, err error) {
		_, problem, err = r.try(t, []string{"REPOSITORY=a/b"}, "hack/image.sh", image, version, "--check")
		return problem, err
	}
	for _, version := range []string{"v1.2.3", "v0.0.0", "v10.20.30", "v1.2.3-rc.1", "v1.2.3-0a.x-y", "v0.0.0-snapshot.g0123456789ab"} {
		problem, err := check(ownImage, version)
		require.NoError(t, err, "%s: %s", version, problem)
	}
	for _, version := range []string{
		"1.2.3", "v1.2", "v1.2.3.4", "v1.2.3+build", "latest", "v1.2.3/x", "v01.2.3", "v1.02.3", "v1.2.03", "v1.2.3-", "v1.2.3-rc..1", "v1.2.3-rc.",
		"v1.2.3-.rc", "v1.2.3-01", "v1.2.3-rc.01", "v1.2.3-rc_1", "v1.2.3\n", "v1.2.3-rc\nv1.2.3",
	} {
		problem, err := check(ownImage, version)
		require.Error(t, err, version)
		require.Contains(t, problem, "use v<major>.<minor>.<patch>")
	}
	for _, image := range []string{"work", "registry.invalid/work:v1", "Registry.invalid/work", "--push"} {
		problem, err := check(image, "v1.2.3")
		require.Error(t, err, image)
		require.Contains(t, problem, "use <registry>/<name>, without a tag")
	}
}

// TestNotesOfARelease: the notes are the changes under the heading of the version.
func TestNotesOfARelease(t *testing.T) {
	r := newRelease(t)
	notes := func(heading string) (printed, problem string, err error) {
		return r.try(t, nil, "bash", "-c", `hack/notes.sh "$1" < CHANGELOG.md`, "-", heading)
	}
	for heading, wanted := range map[string]string{
		"Unreleased": "New.", "v1.1.0": "### Fixed\n\n- One.\n\n- Two.", "v1.1.0-rc.1": "Three.",
	} {
		printed, problem, err := notes(heading)
		require.NoError(t, err, problem)
		require.Equal(t, wanted, printed)
	}
	for _, heading := range []string{"v1.0.0", "v1.1", "v2.0.0", "v1.1.0-rc"} {
		_, problem, err := notes(heading)
		require.Error(t, err, heading)
		require.Contains(t, problem, `CHANGELOG.md has no changes under the heading "## `+heading+`": add them`)
	}
}
