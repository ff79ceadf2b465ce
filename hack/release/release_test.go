package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVersionsOfReleases(t *testing.T) {
	for version, valid := range map[string]bool{
		"v1.2.3": true, "v1.2.3-rc.1": true, snapshotVersion + "0123456789ab": true,
		"1.2.3": false, "v1.2": false, "v1.2.3+build": false, "latest": false, "": false,
	} {
		err := validate(version)
		require.Equal(t, valid, err == nil, "%q: %v", version, err)
		if err != nil {
			require.ErrorContains(t, err, "use v<major>.<minor>.<patch>")
		}
	}
}

func TestSection(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\nNew.\n\n## v1.1.0 - 2026-12-01\n\n### Fixed\n\n- One.\n\n## v1.1.0-rc.1\n\nTwo.\n\n## v1.0.0\n"
	for heading, wanted := range map[string]string{
		unreleased: "New.\n", "v1.1.0": "### Fixed\n\n- One.\n", "v1.1.0-rc.1": "Two.\n",
	} {
		notes, err := section(changelog, heading)
		require.NoError(t, err, heading)
		require.Equal(t, wanted, notes)
	}
	for _, heading := range []string{"v1.0.0", "v1.1", "v2.0.0"} {
		_, err := section(changelog, heading)
		require.ErrorContains(t, err, `CHANGELOG.md has no changes under the heading "## `+heading+`": add them`)
	}
}

// The bytes of an archive depend on the content alone: not on when and by whom the files were written.
func TestPackIsReproducible(t *testing.T) {
	modified := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for _, p := range []platform{{"linux", "amd64"}, {"windows", "amd64"}} {
		var sums []string
		for _, mode := range []os.FileMode{0o600, 0o755} {
			dir := t.TempDir()
			binary, license := filepath.Join(dir, "plugin"), filepath.Join(dir, "LICENSE")
			require.NoError(t, os.WriteFile(binary, []byte("binary"), mode))
			require.NoError(t, os.WriteFile(license, []byte("license"), mode))
			packed, err := pack(filepath.Join(dir, "archive"), p, "plugin", []string{binary, license}, modified)
			require.NoError(t, err)
			require.Equal(t, []string{"LICENSE"}, packed.others)
			sums = append(sums, packed.sha256)
		}
		require.Equal(t, sums[0], sums[1], p)
	}
}
