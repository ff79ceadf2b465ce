package plugin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/open-cluster-management-io/work-rollback/internal/terminaltest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// asProgram turns the test binary into the plugin.
const asProgram = "KUBECTL_MWRS_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// in returns a terminal whose shell runs the plugin on the hub as $mwrs.
func (h *oneHub) in(t *testing.T, width, height int) *terminaltest.Terminal {
	t.Helper()
	kubeconfig, _ := serve(t, h)
	program, err := os.Executable()
	require.NoError(t, err)
	term := terminaltest.New(t, width, height)
	term.Types(fmt.Sprintf("clear; export KUBECONFIG=%s %s=1 mwrs=%s; echo re''ady", kubeconfig, asProgram, program))
	term.Shows("ready")
	return term
}

// explained returns a hub whose rollout is in a state with a message.
func explained(t *testing.T, state workv1alpha1.State, message string) *oneHub {
	t.Helper()
	h := newOneHub(t)
	h.set.Status.CurrentRevision = h.revisions[0].Labels[workv1alpha1.LabelControllerHash]
	h.set.Status.State = state
	h.set.Status.Ledger = "{}" // The CRD keeps it.
	h.set.Status.Revisions = nil
	for _, stored := range h.revisions {
		h.set.Status.Revisions = append(h.set.Status.Revisions, workv1alpha1.RevisionStatus{
			Name: stored.Name, Hash: stored.Labels[workv1alpha1.LabelControllerHash], Revision: stored.Revision, State: workv1alpha1.RevisionAvailable,
		})
	}
	h.set.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, ObservedGeneration: 2,
		Reason: workv1alpha1.ReasonNewRevisionCreated, Message: message}}
	return h
}

// TestLinesAsWideAsTheTerminal: `get -w` keeps the last character of a line that ends in the last column, at each size of the terminal.
func TestLinesAsWideAsTheTerminal(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0123456789", 20)
	term := explained(t, workv1alpha1.StateRollingOut, digits).in(t, 80, 40)
	term.Types("clear; $mwrs get web -w")
	full := func(width int) string { return "why      " + digits[:width-len("why      ")] + "\n" }
	term.Shows(full(80), "Next")
	term.Resize(60, 40)
	term.Shows(full(60), "Next")
	term.Resize(40, 40) // The terminal discards the text to the right.
	term.Resize(60, 40)
	term.Shows(full(60), "Next")
	term.Press("C-c")
}

// TestNextStaysVisible: on a terminal of 24 lines, the commands that the reader can type stay, and a line shows the number of omitted
// lines.
func TestNextStaysVisible(t *testing.T) {
	t.Parallel()
	term := explained(t, workv1alpha1.StateRollingOut, strings.Repeat("a long story ", 200)).in(t, 80, 24)
	term.Types("clear; $mwrs get web -w")
	screen := term.Shows("default/web   RollingOut", "more lines", "Next", "kubectl mwrs abort web --reason")
	require.Regexp(t, `\n… \d+ more lines\nNext  `, screen)
	require.Contains(t, strings.Split(strings.TrimSpace(screen), "\n")[23], "kubectl mwrs abort")
	term.Press("C-c")
}

// TestStoppedAndContinued: the shell's own lines stay above the screen. After Ctrl-Z the shell can be used, and fg shows the screen again.
func TestStoppedAndContinued(t *testing.T) {
	t.Parallel()
	term := explained(t, workv1alpha1.StateRollingOut, "wave 1").in(t, 80, 40)
	term.Types("clear; $mwrs get web -w")
	term.Shows("wave 1", "Next")
	term.Press("C-z")
	term.Shows("Stopped")
	term.Types("clear; echo emp''ty")
	require.NotContains(t, term.Shows("empty\n"), "wave 1")
	term.Types("fg")
	term.Shows("wave 1", "Next")
	term.Press("C-c")
	term.Types("echo exit code $?")
	term.Shows("wave 1", "Next", "exit code 0")
}

// TestCtrlC: Ctrl-C ends each command that waits, at once and without a message.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	h := explained(t, workv1alpha1.StateRollingOut, "wave 1")
	term := h.in(t, 120, 40)
	for command, shown := range map[string]string{
		"status web": "RollingOut: wave 1", "status web --timeout 1h": "RollingOut: wave 1", "abort web": "[y/N]",
	} {
		term.Types("clear; echo beg''in " + command + "; $mwrs " + command + "; echo exit code $?")
		term.Shows("begin "+command, shown) // Not the screen of the previous command.
		term.Press("C-c")
		require.Regexp(t, `\^C\s*exit code 130`, term.Shows("exit code"), command)
	}
	require.Empty(t, h.patches)
}

// TestSignals: the exit code shows which signal ended a waiting command.
func TestSignals(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := serve(t, explained(t, workv1alpha1.StateRollingOut, "wave 1"))
	program, err := os.Executable()
	require.NoError(t, err)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		command := exec.CommandContext(t.Context(), program, "status", "web")
		command.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG="+kubeconfig)
		out, err := command.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "wave 1")
		require.NoError(t, command.Process.Signal(sig))
		require.Error(t, command.Wait())
		require.Equal(t, code, command.ProcessState.ExitCode(), sig)
	}
}

// TestInterruptedRead: Ctrl-C also ends a command that waits for its standard input.
func TestInterruptedRead(t *testing.T) {
	t.Parallel()
	silent, open, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = open.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := Run(ctx, []string{"lint", "-f", "-"}, genericiooptions.IOStreams{In: silent, Out: &out, ErrOut: &out})
	require.Equal(t, exitInterrupted, code)
	require.Empty(t, out.String())
}

// interrupted is a large fleet whose API server does not respond to a request. The user presses Ctrl-C meanwhile.
type interrupted struct {
	*largeFleet
	mu     sync.Mutex
	left   int
	cancel context.CancelFunc
}

func (i *interrupted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.left--
	silent, cancel := i.left < 0, i.cancel
	i.mu.Unlock()
	if !silent {
		i.largeFleet.ServeHTTP(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // Otherwise, the server does not notice that the client disconnected.
	cancel()
	<-r.Context().Done()
}

// TestCtrlCDuringARequest: each command ends at once and without a message, regardless of the request that it waits for.
func TestCtrlCDuringARequest(t *testing.T) {
	t.Parallel()
	server := &interrupted{largeFleet: newLargeFleet(t, sampleFrom, 100)}
	kubeconfig, _ := serve(t, server)
	for _, command := range []string{
		"list", "get web", "get web -w", "clusters web", "why web cluster-00000", "history web", "diff web", "export web", "report web", "plan web",
		"doctor", "status web", "abort web --yes", "undo web --yes", "retry web", "pause web",
	} {
		for requests := range 8 {
			ctx, cancel := context.WithCancel(t.Context())
			server.mu.Lock()
			server.left, server.cancel = requests, cancel
			server.mu.Unlock()
			var failed bytes.Buffer
			begin := time.Now()
			code := Run(ctx, append(strings.Fields(command), "--kubeconfig", kubeconfig),
				genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: &failed})
			require.Less(t, time.Since(begin), 20*time.Second, "%s: request %d", command, requests)
			if ctx.Err() == nil { // The command sends fewer requests.
				cancel()
				break
			}
			require.Contains(t, []int{0, exitInterrupted}, code, "%s: request %d: %s", command, requests, failed.String())
			require.NotContains(t, failed.String(), "cancel", command)
		}
	}
}

// TestCtrlD: Ctrl-D at a question means No.
func TestCtrlD(t *testing.T) {
	t.Parallel()
	h := explained(t, workv1alpha1.StateRollingOut, "wave 1")
	term := h.in(t, 120, 40)
	term.Types("$mwrs abort web")
	term.Shows("[y/N]")
	term.Press("C-d")
	term.Shows("\nerror: canceled: nothing was changed")
	term.Types("echo exit code $?")
	term.Shows("exit code 1")
	require.Empty(t, h.patches)
}
