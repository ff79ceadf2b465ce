package plugin

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// TestPrintedCommandsRun: a shell runs each printed command with the intended arguments, for any screen width and any names.
func TestPrintedCommandsRun(t *testing.T) {
	dir := t.TempDir()
	const program = "#!/bin/sh\nprintf '%s\\0' kubectl \"$@\" >>\"$RAN\"\nprintf '\\n' >>\"$RAN\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte(program), 0o700)) //nolint:gosec // A program has to be executable.
	for _, name := range []string{"c1", "c1;touch${IFS}ran;:", "$(touch ran)", "`touch ran`", "it's", `a"b\`, "a  b c", "-n", "*", "c1\n touch ran", "ü名"} {
		for _, state := range []workv1alpha1.State{
			workv1alpha1.StateStalled, workv1alpha1.StateAborted, workv1alpha1.StateRollingOut, workv1alpha1.StateComplete, workv1alpha1.StatePaused,
			workv1alpha1.StateInvalid,
		} {
			s := newStrangers(t, state, func(any) {})
			objects := &view.Objects{ReplicaSet: s.set}
			s.set.Status.Failures[0].Cluster, s.set.Name, s.set.Namespace = name, "w"+name, name
			fleet := view.FleetOf(objects)
			fleet.Next = append(fleet.Next, view.Command{Purpose: "see why", Args: []string{"kubectl", "mwrs", "why", name, "-n", name}})
			for _, width := range []int{0, 20, 60} {
				var out bytes.Buffer
				printed := newPrinter(&out, screen{width: width})
				var want strings.Builder
				for i := range fleet.Next {
					printed.command(8, fleet.Next[i].Args)
					want.WriteString(strings.ReplaceAll(strings.Join(fleet.Next[i].Args, "\x00"), "\n", `\n`) + "\x00\n")
				}
				require.NoError(t, printed.err)
				ran := filepath.Join(t.TempDir(), "log")
				shell := exec.Command("sh", "-c", out.String())
				shell.Dir, shell.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "RAN=" + ran}
				text, err := shell.CombinedOutput()
				require.NoError(t, err, "%s: %s", out.String(), text)
				log, err := os.ReadFile(ran)
				require.NoError(t, err)
				require.Equal(t, want.String(), string(log), out.String())
				require.NoFileExists(t, filepath.Join(dir, "ran"))
			}
		}
	}
}
