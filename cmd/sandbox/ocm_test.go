package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that was built against another OCM must not build itself again.
func TestWithoutOCM(t *testing.T) {
	for _, args := range [][]string{
		{"up", "--ocm", "/src/ocm", "--clusters=4"}, {"up", "--ocm=/src/ocm", "--clusters=4"}, {"up", "--clusters=4", "--ocm", "/src/ocm"},
	} {
		require.Equal(t, []string{"up", "--clusters=4"}, withoutOCM(args))
	}
}

func TestOCMHasToBeACheckout(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, runAgainst(t.Context(), &out, t.TempDir()), "is not a checkout of open-cluster-management.io/ocm: name one")
	require.Empty(t, out.String())
}

func TestClustersAreCounted(t *testing.T) {
	require.EqualError(t, (&options{clusters: 0}).complete(), "--clusters is 0: at least one is needed")
	require.EqualError(t, (&options{clusters: 3, whole: -1}).complete(), "--whole is -1: use 0 or more")
}
