package integration

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/terminaltest"
)

var buildPlugin = sync.OnceValues(func() (string, error) {
	binary := env.Group.Path("bin", "kubectl-mwrs")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/kubectl-mwrs").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the plugin: %w\n%s", err, out)
	}
	return binary, nil
})

// In a real terminal, `get -w` redraws in place without remains of the previous screen, wraps no table, and leaves the last screen.
func TestWatchInATerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			f := rolledOut(t, 4, progressive(1, "20s", 0))
			nextSecond(t)
			f.agentsReport("c2", "v2", degrades)
			f.because("the image of the second release, with a change-cause that a narrow terminal has no room for")
			f.watchedIn(terminaltest.New(t, width, 40))
		})
	}
}

func (f *fleet) watchedIn(term *terminaltest.Terminal) {
	f.t.Helper()
	binary, err := buildPlugin()
	require.NoError(f.t, err)
	kubeconfig, err := f.w.plane.Kubeconfig(f.t.TempDir() + "/kubeconfig")
	require.NoError(f.t, err)
	term.Types("clear; export KUBECONFIG=" + kubeconfig)
	term.Types(binary + " get web -w -n " + f.namespace)
	term.Shows(f.namespace+"/web   Complete", "and 4 Succeeded")

	f.update("v2")
	screen := term.Shows("RollingOut", "Degraded", "c2")
	require.NotContains(f.t, screen, "and 4 Succeeded", "nothing of the screen before remains")
	f.stalled()
	f.agentsReport("c2", "v2", succeeds)
	f.ok("retry", "web")
	screen = term.Shows("Complete for", "4 of 4 clusters confirmed revision 2", "and 4 Succeeded", "2 update, current")
	f.fits(screen, term.Width)
	for _, gone := range []string{"RollingOut", "Stalled", "Degraded", "ends "} {
		require.NotContains(f.t, screen, gone, "nothing of the screens before remains")
	}

	term.Press("C-c")
	screen = term.Shows("and 4 Succeeded", "kubectl mwrs undo web")
	term.Types("echo exit code $?")
	term.Shows("exit code 0")
	f.t.Log("\n" + screen)
}

// fits requires that each row of the table is on one line of the screen.
func (f *fleet) fits(screen string, width int) {
	f.t.Helper()
	header, rows := -1, strings.Split(screen, "\n")
	for i, row := range rows {
		require.LessOrEqual(f.t, len([]rune(row)), width)
		if strings.HasPrefix(row, "REVISION") {
			header = i
		}
	}
	require.Positive(f.t, header, screen)
	require.Regexp(f.t, "^2 update, current +", rows[header+1])
	require.Regexp(f.t, "^1  +", rows[header+2])
	require.Regexp(f.t, "^p1 ", rows[header+3])
}
