package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/internal/tooltest"
)

// workflow holds the parts of a file in .github/workflows that these tests read.
type workflow struct {
	Name string `json:"name"`
	// On is the key "on". YAML 1.1 reads it as a boolean, but GitHub does not.
	On          any               `json:"true"`
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Uses        string `json:"uses"`
		Needs       string `json:"needs"`
		Environment string `json:"environment"`
		RunsOn      string `json:"runs-on"`
		Strategy    struct {
			Matrix map[string][]string `json:"matrix"`
		} `json:"strategy"`
		Permissions    map[string]string `json:"permissions"`
		TimeoutMinutes int               `json:"timeout-minutes"`
		Steps          []struct {
			Uses string         `json:"uses"`
			Run  string         `json:"run"`
			With map[string]any `json:"with"`
		} `json:"steps"`
	} `json:"jobs"`
}

// pinned matches an action at a commit, because a tag can be moved to other code.
var pinned = regexp.MustCompile(`^[\w-]+/[\w/-]+@[0-9a-f]{40}$`)

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.y*ml"))
	require.NoError(t, err)
	all := map[string]workflow{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		// Strict decoding comes first: a duplicate key is an error, even in a part that the type does not have.
		var whole map[string]any
		require.NoError(t, yaml.UnmarshalStrict(content, &whole), path)
		var w workflow
		require.NoError(t, yaml.Unmarshal(content, &w), path)
		require.NotEmpty(t, w.Name, path)
		all[filepath.Base(path)] = w
	}
	return all
}

// The workflows run the same commands as users: targets of the Makefile, with the Go version in go.mod.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	made, fuzzed := map[string]string{}, map[string]string{}
	for file, w := range workflows(t) {
		require.NotNil(t, w.On, file)
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions, "%s: it needs no write permission", file)
		for name, job := range w.Jobs {
			if file+": "+name != "release.yaml: publish" {
				require.Empty(t, job.Permissions, "%s: %s needs no write permission", file, name)
			}
			if job.Uses != "" {
				require.FileExists(t, filepath.Join(root, job.Uses))
				continue
			}
			require.NotEmpty(t, job.RunsOn, "%s: %s", file, name)
			require.NotZero(t, job.TimeoutMinutes, "%s: %s may run forever", file, name)
			goVersion := false
			for _, step := range job.Steps {
				if step.Uses != "" {
					require.Regexp(t, pinned, step.Uses, file)
				}
				if strings.HasPrefix(step.Uses, "actions/setup-go@") {
					goVersion = true
					require.Equal(t, "go.mod", step.With["go-version-file"], file)
				}
				if target, isMake := strings.CutPrefix(step.Run, "make "); isMake {
					target = strings.Fields(target)[0]
					require.Contains(t, string(makefile), "\n"+target+":", "%s: there is no such target", file)
					if target == "fuzz" {
						fuzzed[file] = step.Run
						continue
					}
					made[target] = file
				}
			}
			require.True(t, goVersion, "%s: %s needs Go", file, name)
		}
	}
	require.Equal(t, map[string]string{
		"verify": "ci.yaml", "test": "ci.yaml", "test-slow": "ci.yaml", "race": "ci.yaml", "race-integration": "ci.yaml", "demo": "ci.yaml",
		"test-rare": "nightly.yaml", "stories": "nightly.yaml", "soak": "nightly.yaml",
		"test-ocm": "ocm.yaml", "patch-ocm": "patch-ocm.yaml", "vulncheck": "vulnerabilities.yaml",
		"release-tools": "release.yaml", "publish": "release.yaml",
	}, made)
	require.Equal(t, map[string]string{"ci.yaml": "make fuzz FUZZTIME=1m", "nightly.yaml": "make fuzz FUZZTIME=4m"}, fuzzed)
	require.Contains(t, workflows(t)["vulnerabilities.yaml"].On, "pull_request")
	require.Contains(t, workflows(t)["nightly.yaml"].On, "schedule")
}

// A tag is published after CI, in an environment for which the repository settings can require an approval. Only that job has the
// identity that signs, and the permissions to publish.
func TestReleaseNeedsCIAndAnEnvironment(t *testing.T) {
	all := workflows(t)
	release := all["release.yaml"]
	require.Equal(t, map[string]any{"push": map[string]any{"tags": []any{"v*"}}}, release.On)
	require.Len(t, release.Jobs, 2)
	require.Equal(t, "./.github/workflows/ci.yaml", release.Jobs["ci"].Uses)
	require.Contains(t, all["ci.yaml"].On, "workflow_call")
	publish := release.Jobs["publish"]
	require.Equal(t, "ci", publish.Needs)
	require.Equal(t, "release", publish.Environment)
	require.Equal(t, map[string]string{
		"contents": "write", "packages": "write", "id-token": "write", "attestations": "write",
	}, publish.Permissions)
	var made, attested []string
	for _, step := range publish.Steps {
		if target, isMake := strings.CutPrefix(step.Run, "make "); isMake {
			made = append(made, target)
		}
		if strings.HasPrefix(step.Uses, "actions/attest-build-provenance@") {
			for _, subject := range []string{"subject-name", "subject-checksums", "subject-path"} {
				if value, ok := step.With[subject].(string); ok {
					attested = append(attested, value)
				}
			}
		}
		if strings.HasPrefix(step.Uses, "actions/setup-go@") {
			require.Equal(t, false, step.With["cache"], "a cache that other workflows write could change the release")
		}
	}
	// The Makefile sets the names of the image and the repository, even in a fork.
	require.Equal(t, []string{"release-tools", `publish VERSION="$GITHUB_REF_NAME"`}, made)
	// checksums.txt has the checksums of all files except mwrs.yaml.
	require.Equal(t, []string{"${{ steps.image.outputs.name }}", "_output/release/checksums.txt", "_output/release/mwrs.yaml"}, attested)
	// The release is a draft until everything is attested (.goreleaser.yaml).
	require.Equal(t, `gh release edit "$GITHUB_REF_NAME" --draft=false`, publish.Steps[len(publish.Steps)-1].Run)
}

// actionlint checks the expressions, the events and the inputs of GitHub's workflows. CI builds it.
func TestActionlint(t *testing.T) {
	actionlint := tooltest.Path(t, root, "actionlint", "actionlint")
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.y*ml"))
	require.NoError(t, err)
	lint := exec.CommandContext(t.Context(), actionlint, append([]string{"-shellcheck=", "-pyflakes="}, files...)...)
	output, err := lint.CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// Updates are proposed for every Go module, and for the actions of the workflows.
func TestDependencyUpdates(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, ".github/dependabot.yml"))
	require.NoError(t, err)
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	require.NoError(t, yaml.Unmarshal(content, &config))
	modules := []string{"/"}
	tools, err := filepath.Glob(filepath.Join(root, "hack/tools/*/go.mod"))
	require.NoError(t, err)
	for _, module := range tools {
		modules = append(modules, "/hack/tools/"+filepath.Base(filepath.Dir(module)))
	}
	require.Len(t, config.Updates, 2)
	require.Equal(t, "gomod", config.Updates[0].Ecosystem)
	require.Equal(t, modules, config.Updates[0].Directories)
	require.Equal(t, "github-actions", config.Updates[1].Ecosystem)
}

// No deployed image has a tag that may name another image tomorrow.
func TestNothingDeployedIsLatest(t *testing.T) {
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		require.NotRegexp(t, `(?m)(newTag: *"?latest|image: *\S+:latest|PullSpec: *\S+:latest)`, string(content), path)
		return err
	}))
}

// The tests cover exactly the releases of OCM in the table of upgrade.md.
func TestEachReleaseOfOCMIsTried(t *testing.T) {
	page, err := os.ReadFile("upgrade.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n## Which OCM\n")
	require.True(t, found)
	var promised []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+\.\d+\.\d+) \|`).FindAllStringSubmatch(table, -1) {
		promised = append(promised, "v"+row[1])
	}
	job := workflows(t)["ocm.yaml"].Jobs["release"]
	require.Equal(t, promised, job.Strategy.Matrix["ocm"])
	var checkedOut string
	for _, step := range job.Steps {
		if step.With["repository"] == "open-cluster-management-io/ocm" {
			require.Equal(t, "${{ matrix.ocm }}", step.With["ref"])
			checkedOut = step.With["path"].(string)
		}
	}
	require.Equal(t, "make test-ocm OCM="+checkedOut, job.Steps[len(job.Steps)-1].Run)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	for _, release := range promised {
		require.Contains(t, string(readme), strings.TrimPrefix(release, "v"), "the first page says on which OCM this runs")
	}
}
