package placement_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	selection "github.com/open-cluster-management-io/work-rollback/pkg/placement"
)

// longestQuoted is the longest quoted form of a name, in bytes.
const longestQuoted = 256

// hostile are names that no cluster can have.
var hostile = []string{
	"a+0", "#", "+", "$SYS", "a/b", "..", "a%2fb", "A", "-a", "a-", "a..b", "a_b", "ä", "c1\x00", "c1\n", " c1", "\x1b]52;c;YQ==\a", "\u202egpj.c1",
	`"c1"`, "\xff\xfe", strings.Repeat("a", 254), strings.Repeat("a", 64<<10), strings.Repeat("\U0010ffff", 1000),
}

// TestNamesThatNoClusterCanHave: such a name is selected in a quoted form that is short and printable, and that no cluster can have.
func TestNamesThatNoClusterCanHave(t *testing.T) {
	names := append([]string{"c1", "a.b", strings.Repeat("a", 253)}, hostile...)
	p := selection.FromDecisions(&clusterv1beta1.Placement{}, []*clusterv1beta1.PlacementDecision{decisionOf(0, "", names...)})
	require.Len(t, p.Groups[0].Clusters, len(names))
	require.Equal(t, names[:3], p.Groups[0].Clusters[:3])
	for i, name := range hostile {
		checkQuoted(t, name, p.Groups[0].Clusters[3+i])
	}
	require.Equal(t, `"a+0"`, p.Groups[0].Clusters[3])
}

func checkQuoted(t *testing.T, name, quoted string) {
	t.Helper()
	require.True(t, selection.IsInvalid(quoted), "%.100q became %q", name, quoted)
	require.NotEmpty(t, validation.IsDNS1123Subdomain(quoted))
	require.LessOrEqual(t, len(quoted), longestQuoted)
	for _, r := range quoted {
		require.True(t, r < utf8.RuneSelf && strconv.IsPrint(r), "%q", quoted)
	}
}

// TestLongNamesStayApart: two long names with the same beginning are two clusters, as the Placement counts them.
func TestLongNamesStayApart(t *testing.T) {
	long := strings.Repeat("a", 64<<10)
	p := selection.FromDecisions(&clusterv1beta1.Placement{}, []*clusterv1beta1.PlacementDecision{decisionOf(0, "", long+"b", long+"c", long+"b")})
	require.Len(t, p.Groups[0].Clusters, 2)
}

// TestNamesHaveABudget: the cost of names of 64 KiB is no higher than that of reading them.
func TestNamesHaveABudget(t *testing.T) {
	names := make([]string, 24) // As many as fit into an object of 1.5 MB.
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", strings.Repeat("+", 64<<10), i)
	}
	decisions := []*clusterv1beta1.PlacementDecision{decisionOf(0, "", names...)}
	budget.Within(t, 20*time.Second, 4<<20, func() { selection.FromDecisions(&clusterv1beta1.Placement{}, decisions) })
}

// FuzzNames: each name in a decision is a valid cluster name, or is quoted and harmless.
func FuzzNames(f *testing.F) {
	for i := range hostile {
		f.Add(hostile[i], hostile[(i+1)%len(hostile)])
	}
	f.Add("c1", "c1")
	f.Fuzz(func(t *testing.T, first, second string) {
		budget.Within(t, 20*time.Second, 1<<20+uint64(10*(len(first)+len(second))), func() {
			p := selection.FromDecisions(&clusterv1beta1.Placement{}, []*clusterv1beta1.PlacementDecision{decisionOf(0, "", first, second)})
			names := map[string]bool{first: true, second: true}
			delete(names, "")
			require.Len(t, p.Groups[0].Clusters, len(names))
			for _, cluster := range p.Groups[0].Clusters {
				if names[cluster] && len(validation.IsDNS1123Subdomain(cluster)) == 0 {
					require.False(t, selection.IsInvalid(cluster))
					continue
				}
				checkQuoted(t, first+" or "+second, cluster)
			}
		})
	})
}
