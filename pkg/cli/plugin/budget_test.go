package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
)

// TestAliasesHaveABudget: a small file whose aliases expand to a large object is an error, and takes neither time nor memory.
func TestAliasesHaveABudget(t *testing.T) {
	bomb := strings.Replace(simulated, "{name: web, namespace: default}}\n",
		"{name: web, namespace: default}, long: &a "+strings.Repeat("x", 50_000)+", all: ["+strings.Repeat("*a, ", 2_000)+"]}\n", 1)
	require.NotEqual(t, simulated, bomb)
	for _, command := range []string{"lint", "simulate", "plan"} {
		t.Run(command, func(t *testing.T) {
			budget.Within(t, 10*time.Second, 50<<20, func() {
				out, errors, code := runOn(t, bomb, command)
				require.Equal(t, 1, code)
				require.Contains(t, out+errors, "aliases")
			})
		})
	}
}
