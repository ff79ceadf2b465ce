package release

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"
)

// root is the path to the root of the repository.
const root = "../.."

// The names in the release that the test builds, as a fork would.
const (
	repository = "https://github.com/Someone/fork"
	imageName  = "ghcr.io/someone/fork/work"
)

// archives are the plugin's platforms and the end of their archives' names.
var archives = map[string]string{
	"linux_amd64": ".tar.gz", "linux_arm64": ".tar.gz", "darwin_amd64": ".tar.gz", "darwin_arm64": ".tar.gz", "windows_amd64": ".zip",
}

// snapshot is a release that was built for the test.
type snapshot struct {
	dir, version, commit string
	// digest is the digest of the image's index.
	digest string
	image  layout
	// binaries are the paths of the hub's binaries from the image, by architecture.
	binaries map[string]string
}

// TestSnapshot reads a snapshot of this commit, part by part.
func TestSnapshot(t *testing.T) {
	s := &snapshot{dir: filepath.Join(t.TempDir(), "release"), commit: run(t, root, nil, "git", "rev-parse", "HEAD")}
	s.version = "v0.0.0-snapshot.g" + s.commit[:12]
	s.make(t, root, nil, "snapshot")

	for _, part := range []struct {
		name string
		read func(*testing.T)
	}{
		{"it has all files, and their checksums are right", s.hasItsFiles},
		{"the image fits OCM's operator, for both architectures", s.imageFitsTheOperator},
		{"the SBOMs name the modules of the binaries", s.namesItsModules},
		{"the binaries, the labels and the plugin have the same version", s.versionsAgree},
		{"each archive has the plugin of its platform, and the license", s.archivesHoldThePlugin},
		{"the Krew manifest names the archives", s.krewFindsTheArchives},
		{"the notes come from the changelog", s.notesAreTheChangelogs},
		{"install.yaml applies, and the hub of the image runs with it", s.installs},
		{"the image and the files are signed, and a changed one is refused", s.isSigned},
		{"another checkout gives the same image and archives", s.isReproducible},
	} {
		if !t.Run(part.name, part.read) {
			return
		}
	}
}

// make runs a target of the Makefile in a checkout, as a fork's workflow does, for the directory that the test reads.
func (s *snapshot) make(t *testing.T, checkout string, environment []string, arguments ...string) string {
	t.Helper()
	environment = append([]string{"GITHUB_REPOSITORY=Someone/fork", "VERSION=", "OUT=" + s.dir}, environment...)
	return run(t, checkout, environment, "make", append([]string{"--no-print-directory", "--silent"}, arguments...)...)
}

// run runs a program with additional variables, and returns its output without the last line break.
func run(t *testing.T, dir string, environment []string, name string, arguments ...string) string {
	t.Helper()
	printed, problem, err := try(t, dir, environment, name, arguments...)
	require.NoError(t, err, "%s %s:\n%s\n%s", name, strings.Join(arguments, " "), printed, problem)
	return printed
}

// try is like run, for a program that may fail; problem is its standard error.
func try(t *testing.T, dir string, environment []string, name string, arguments ...string) (printed, problem string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	var out, diagnostics strings.Builder
	command.Stdout, command.Stderr = &out, &diagnostics
	err = command.Run()
	return strings.TrimSuffix(out.String(), "\n"), diagnostics.String(), err
}

func (s *snapshot) path(name string) string { return filepath.Join(s.dir, name) }

func (s *snapshot) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(s.path(name))
	require.NoError(t, err)
	return content
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

func (s *snapshot) hasItsFiles(t *testing.T) {
	wanted := []string{"beside-ocm.yaml", "checksums.txt", "hub.yaml", "image", "image.txt", "install.yaml", "mwrs.yaml", "release-notes.md"}
	for _, p := range []string{"linux_amd64", "linux_arm64"} {
		wanted = append(wanted, "work_"+s.version+"_"+p+".cdx.json")
	}
	for p, extension := range archives {
		base := "kubectl-mwrs_" + s.version + "_" + p
		wanted = append(wanted, base+extension, base+".cdx.json")
	}
	entries, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	require.ElementsMatch(t, wanted, found)

	var listed []string
	lines := bufio.NewScanner(strings.NewReader(string(s.read(t, "checksums.txt"))))
	for lines.Scan() {
		checksum, name, isPair := strings.Cut(lines.Text(), "  ")
		require.True(t, isPair, lines.Text())
		require.Equal(t, sum(s.read(t, name)), checksum, name)
		listed = append(listed, name)
	}
	// goreleaser writes the Krew manifest, which has the checksums of the archives, after checksums.txt. The notes are not code.
	require.ElementsMatch(t, append(listed, "checksums.txt", "image", "mwrs.yaml", "release-notes.md"), found)
	name, digest, hasDigest := strings.Cut(strings.TrimSpace(string(s.read(t, "image.txt"))), "@")
	require.True(t, hasDigest)
	require.Equal(t, imageName+":"+s.version, name)
	s.digest = digest
}

// versionsAgree: the image, the hub and the plugin report the same version.
func (s *snapshot) versionsAgree(t *testing.T) {
	hub := s.versionOf(t, s.binaries[architecture(t)])
	require.Equal(t, s.version, hub.GitVersion)
	require.Equal(t, s.commit, hub.GitCommit)
	require.Equal(t, "linux/"+architecture(t), hub.Platform)
	for _, image := range s.image.images {
		require.Equal(t, hub.GitVersion, image.Config.Labels["org.opencontainers.image.version"])
		require.Equal(t, hub.GitCommit, image.Config.Labels["org.opencontainers.image.revision"])
	}
	require.Contains(t, run(t, s.dir, nil, s.binaries[architecture(t)], "--version"), s.version)

	plugin := s.versionOf(t, s.plugin(t))
	require.Equal(t, hub, plugin)
}

func (s *snapshot) versionOf(t *testing.T, binary string) (info apimachineryversion.Info) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(run(t, s.dir, nil, binary, "version", "-o", "json")), &info))
	return info
}

func (s *snapshot) notesAreTheChangelogs(t *testing.T) {
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	require.NoError(t, err)
	_, unreleased, found := strings.Cut(string(changelog), "\n## Unreleased\n")
	require.True(t, found)
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	notes := string(s.read(t, "release-notes.md"))
	require.True(t, strings.HasPrefix(notes, strings.TrimSpace(unreleased)+"\n"), notes)
	require.Contains(t, notes, imageName+":"+s.version+"@"+s.digest)
}

func (s *snapshot) krewFindsTheArchives(t *testing.T) {
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description, Caveats string

			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	require.NoError(t, yaml.UnmarshalStrict(s.read(t, "mwrs.yaml"), &manifest))
	require.Equal(t, "krew.googlecontainertools.github.com/v1alpha2 Plugin mwrs",
		manifest.APIVersion+" "+manifest.Kind+" "+manifest.Metadata.Name)
	require.Equal(t, s.version, manifest.Spec.Version)
	require.LessOrEqual(t, len(manifest.Spec.ShortDescription), 50, "the limit of Krew's index")
	require.NotEmpty(t, manifest.Spec.Description)
	require.Equal(t, repository, manifest.Spec.Homepage)
	var found []string
	for _, p := range manifest.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "_" + p.Selector.MatchLabels["arch"]
		found = append(found, platform)
		name := "kubectl-mwrs_" + s.version + "_" + platform + archives[platform]
		require.Equal(t, manifest.Spec.Homepage+"/releases/download/"+s.version+"/"+name, p.URI)
		require.Equal(t, sum(s.read(t, name)), p.SHA256)
		inside := s.unpack(t, platform)
		require.Contains(t, inside, p.Bin)
	}
	wanted := make([]string, 0, len(archives))
	for platform := range archives {
		wanted = append(wanted, platform)
	}
	require.ElementsMatch(t, wanted, found)
}
