package simulation

import (
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func (s *teller) kstatus(want status.Status) {
	s.t.Helper()
	got, err := s.Kstatus()
	s.must(err)
	require.Equal(s.t, want, got, s.story())
}
