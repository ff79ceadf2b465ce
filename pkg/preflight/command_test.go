package preflight

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/hostiletest"
)

// TestFindingsAreHarmless: no name or text of an object reaches the terminal as it is, or as a line of its own.
func TestFindingsAreHarmless(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	var out bytes.Buffer
	const text = hostiletest.Text
	require.NoError(t, write(&out, "text", &Objects{}, []Finding{{Severity: text, Reason: text, Object: text, What: text, Remedy: text}}))
	hostiletest.Check(t, "preflight", out.String())
	require.Contains(t, out.String(), "before: ")
}
