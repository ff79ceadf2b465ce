package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/docs"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// The path to the repository, and the page whose commands are run.
const (
	root     = "../.."
	tutorial = "docs/tutorial.md"
)

// patience is the time limit of a block of commands. It elapses only if something is wrong, or the machine is busy.
const patience = 5 * time.Minute

// reader follows the tutorial in a clone, with a shell.
type reader struct {
	t *testing.T
	// bin is the directory that has the reader's bin/, dir is the directory of the sandbox, and home is for the files that the reader writes.
	bin, dir, home string
}

// newReader returns a reader who ran `make build`.
func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, bin: built(t), home: t.TempDir()}
	dir, err := os.MkdirTemp("", "day") // The path of a socket is short.
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// The links of a temporary directory are resolved, as the sandbox does with its own.
	r.dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return r
}

// TestTutorial runs each command of the tutorial in order, and compares the output with the page.
func TestTutorial(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	s := startSandbox(t, r, "--clusters=3")
	s.waitFor(`^The logs are in |^On a cluster: `)
	s.isReady()
	r.calm()
	content, err := os.ReadFile(filepath.Join(root, tutorial))
	require.NoError(t, err)
	blocks, err := docs.Blocks(tutorial, string(content))
	require.NoError(t, err)
	checks := r.checks()
	for i := range blocks {
		block := &blocks[i]
		if !block.IsRunOnSandbox() {
			continue
		}
		t.Log(block.Where())
		check, named := checks[block.Name()]
		after := func() {}
		if named {
			delete(checks, block.Name())
			after = check()
		}
		printed := r.play(block)
		after()
		if i+1 < len(blocks) && blocks[i+1].Language == "text" {
			r.finds(&blocks[i+1], printed)
		}
	}
	require.Empty(t, checks, "checks for a block that does not exist")
	s.end(syscall.SIGINT, 0)
}

// calm gives the working versions more time than the page does, so that they are not aborted on a busy machine.
func (r *reader) calm() {
	r.t.Helper()
	r.must(`sed -i 's/progressDeadline: 15s/progressDeadline: 2m/' "$SAMPLES"/web-v1.yaml "$SAMPLES"/web-v3-canary.yaml
		kubectl apply -f "$SAMPLES"/web-v1.yaml`)
}

// checks returns the checks for the blocks with a name. Each function is called before its block, and the function that it returns is
// called after the block.
func (r *reader) checks() map[string]func() (after func()) {
	return map[string]func() func(){
		"canary": func() func() {
			return func() {
				await.Eventually(r.t, patience, "the canary is a decision group", func() error {
					_, err := r.shell("kubectl get placementdecisions -o yaml | grep 'decision-group-name: canary'")
					return err
				})
			}
		},
		"swap": func() func() {
			const works = `kubectl get manifestworks -A -o jsonpath='{range .items[*]}{.metadata.namespace}={.metadata.generation} {end}'`
			before := r.must(works)
			return func() {
				require.Equal(r.t, before, r.must(works), "no workload changes during upgrades and downgrades")
			}
		},
		"report": func() func() {
			return func() {
				page, err := os.ReadFile(filepath.Join(r.home, "report.html"))
				require.NoError(r.t, err)
				require.Contains(r.t, string(page), "the rollout of revision 2 was aborted")
			}
		},
	}
}

// play runs a block as a reader does, and returns its output.
func (r *reader) play(block *docs.Block) string {
	r.t.Helper()
	printed, err := r.shell(block.Text)
	code := "exit 0"
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = strings.Replace(exit.Error(), "exit status", "exit", 1)
	}
	wanted := "exit 0"
	if strings.HasPrefix(block.Name(), "exit ") {
		wanted = block.Name()
	}
	require.Equal(r.t, wanted, code, "%s printed: %s", block.Where(), printed)
	return printed
}

// must runs commands that must succeed, and returns their output.
func (r *reader) must(commands string) string {
	r.t.Helper()
	output, err := r.shell(commands)
	require.NoError(r.t, err, output)
	return output
}

// shell runs commands in a new shell of the reader. They stop at the first that fails.
func (r *reader) shell(commands string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	commands = "eval \"$(bin/sandbox env)\"\n" + commands
	commands = strings.NewReplacer("bin/", r.bin+"/", "report.html", filepath.Join(r.home, "report.html")).Replace(commands)
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = root, append(os.Environ(), "TMPDIR="+r.dir, "KUBECACHEDIR="+filepath.Join(r.home, "cache"))
	output, err := command.CombinedOutput()
	return string(output), err
}

// The parts of the output that differ between runs: ages and hashes.
var (
	ages   = regexp.MustCompile(`\b\d+(ms|s|m|h|d)(\d+(s|m|h))?\b`)
	hashes = regexp.MustCompile(`\b[0-9a-f]{9,10}\b`)
	blanks = regexp.MustCompile(`\s+`)
)

// finds requires that each line of a block is printed. "…" stands for any text.
func (r *reader) finds(block *docs.Block, printed string) {
	r.t.Helper()
	for line := range strings.Lines(block.Text) {
		var parts []string
		for part := range strings.SplitSeq(alike(line), "…") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		wanted := regexp.MustCompile("(?m)^" + strings.Join(parts, ".*") + "$")
		found := false
		for other := range strings.Lines(printed) {
			found = found || wanted.MatchString(alike(other))
		}
		require.True(r.t, found, "%s shows the line %q, and this was printed: %s", block.Where(), line, printed)
	}
}

// alike replaces the parts of a line that differ between runs.
func alike(line string) string {
	line = hashes.ReplaceAllString(ages.ReplaceAllString(line, "AGE"), "HASH")
	return blanks.ReplaceAllString(strings.TrimSpace(line), " ")
}
