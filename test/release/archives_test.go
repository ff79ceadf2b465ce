package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// file is a file in an archive. A link has no content.
type file struct {
	mode    os.FileMode
	content []byte
	link    string
}

// unpack returns the files of a platform's archive by name.
func (s *snapshot) unpack(t *testing.T, platform string) map[string]file {
	t.Helper()
	content := s.read(t, "kubectl-mwrs_"+s.version+"_"+platform+archives[platform])
	found := map[string]file{}
	if archives[platform] == ".zip" {
		reader, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		require.NoError(t, err)
		for _, entry := range reader.File {
			opened, err := entry.Open()
			require.NoError(t, err)
			read, err := io.ReadAll(opened)
			require.NoError(t, err)
			require.NoError(t, opened.Close())
			found[entry.Name] = file{mode: entry.Mode(), content: read}
		}
		return found
	}
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	plain, err := io.ReadAll(compressed)
	require.NoError(t, err)
	return untar(t, plain)
}

// untar returns the files of a tar archive by name.
func untar(t *testing.T, content []byte) map[string]file {
	t.Helper()
	found := map[string]file{}
	reader := tar.NewReader(bytes.NewReader(content))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		require.Equal(t, []int{0, 0}, []int{header.Uid, header.Gid}, "the builder's user is not in it")
		read, err := io.ReadAll(reader)
		require.NoError(t, err)
		found[strings.TrimPrefix(header.Name, "/")] = file{mode: header.FileInfo().Mode(), content: read, link: header.Linkname}
	}
}

func binaryName(platform string) string {
	if strings.HasPrefix(platform, "windows_") {
		return "kubectl-mwrs.exe"
	}
	return "kubectl-mwrs"
}

func (s *snapshot) pluginIn(t *testing.T, platform string) []byte {
	t.Helper()
	found, ok := s.unpack(t, platform)[binaryName(platform)]
	require.True(t, ok, platform)
	return found.content
}

// plugin returns the path of the plugin for this machine, from its archive.
func (s *snapshot) plugin(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl-mwrs")
	require.NoError(t, os.WriteFile(path, s.pluginIn(t, "linux_"+architecture(t)), 0o755))
	return path
}

func (s *snapshot) archivesHoldThePlugin(t *testing.T) {
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	require.NoError(t, err)
	for platform := range archives {
		inside := s.unpack(t, platform)
		require.Len(t, inside, 3, "%s: the plugin, its completion program and the license", platform)
		require.Equal(t, string(license), string(inside["LICENSE"].content), platform)
		binary := inside[binaryName(platform)]
		require.Equal(t, os.FileMode(0o755), binary.mode.Perm(), platform)
		info, err := buildinfo.Read(bytes.NewReader(binary.content))
		require.NoError(t, err, platform)
		require.Equal(t, "github.com/open-cluster-management-io/work-rollback/cmd/kubectl-mwrs", info.Path)
		settings := map[string]string{}
		for _, setting := range info.Settings {
			settings[setting.Key] = setting.Value
		}
		require.Equal(t, platform, settings["GOOS"]+"_"+settings["GOARCH"])
		require.Equal(t, "0", settings["CGO_ENABLED"])
		require.Equal(t, s.commit, settings["vcs.revision"])
		require.Equal(t, "true", settings["-trimpath"])
		require.Equal(t, os.FileMode(0o755), inside["kubectl_complete-mwrs"].mode.Perm(), "kubectl runs it to complete arguments")
	}
}
