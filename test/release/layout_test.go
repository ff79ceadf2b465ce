package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// layout holds the parts of an OCI layout with one index that the test reads.
type layout struct {
	// digest is that of the index, and name its annotation in the layout.
	digest, name string
	// images are by architecture.
	images map[string]image
}

// descriptor is an OCI descriptor: it describes another file of the layout.
type descriptor struct {
	MediaType, Digest string
	Size              int
	Annotations       map[string]string
	Platform          struct{ OS, Architecture string }
}

// image is the configuration of one image, and its only layer.
type image struct {
	OS, Architecture string
	Created          time.Time
	Config           struct {
		User            string
		Cmd, Entrypoint []string
		Env             []string
		Labels          map[string]string
	}
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	}

	layer []byte
}

// blob reads a file of a layout, which has the digest of its content.
func blob(t *testing.T, dir string, d descriptor) []byte {
	t.Helper()
	hash, isSHA256 := strings.CutPrefix(d.Digest, "sha256:")
	require.True(t, isSHA256, d.Digest)
	content, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", hash))
	require.NoError(t, err)
	require.Equal(t, hash, sum(content))
	require.Len(t, content, d.Size)
	return content
}

func readLayout(t *testing.T, dir string) layout {
	t.Helper()
	version, err := os.ReadFile(filepath.Join(dir, "oci-layout"))
	require.NoError(t, err)
	require.Contains(t, string(version), `"1.0.0"`)
	type index struct{ Manifests []descriptor }
	var top, list index
	content, err := os.ReadFile(filepath.Join(dir, "index.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &top))
	require.Len(t, top.Manifests, 1)
	require.NoError(t, json.Unmarshal(blob(t, dir, top.Manifests[0]), &list))
	found := layout{
		digest: top.Manifests[0].Digest, name: top.Manifests[0].Annotations["org.opencontainers.image.ref.name"], images: map[string]image{},
	}
	for _, d := range list.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		require.NoError(t, json.Unmarshal(blob(t, dir, d), &manifest))
		require.Len(t, manifest.Layers, 1)
		require.Equal(t, "application/vnd.oci.image.layer.v1.tar+gzip", manifest.Layers[0].MediaType)
		var read image
		require.NoError(t, json.Unmarshal(blob(t, dir, manifest.Config), &read))
		compressed, err := gzip.NewReader(bytes.NewReader(blob(t, dir, manifest.Layers[0])))
		require.NoError(t, err)
		read.layer, err = io.ReadAll(compressed)
		require.NoError(t, err)
		require.Equal(t, []string{"sha256:" + sum(read.layer)}, read.RootFS.DiffIDs)
		require.Equal(t, read.OS+"/"+read.Architecture, d.Platform.OS+"/"+d.Platform.Architecture)
		found.images[read.Architecture] = read
	}
	return found
}

// architecture returns the architecture of this machine, if the image supports it.
func architecture(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the image is not for this machine")
	}
	return runtime.GOARCH
}

func (s *snapshot) imageIsTheContainerfiles(t *testing.T) {
	s.image = readLayout(t, s.path("image"))
	require.Equal(t, s.digest, s.image.digest)
	require.Equal(t, s.version, s.image.name)
	require.Len(t, s.image.images, 2)
	containerfile, err := os.ReadFile("../../deploy/Containerfile")
	require.NoError(t, err)
	instruction := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindSubmatch(containerfile)
		require.NotNil(t, found, name)
		return string(found[1])
	}
	s.binaries = map[string]string{}
	for architecture, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		image, ok := s.image.images[architecture]
		require.True(t, ok, architecture)
		require.Equal(t, "linux", image.OS)
		require.Equal(t, instruction("USER"), image.Config.User)
		command, err := json.Marshal(image.Config.Cmd)
		require.NoError(t, err)
		require.Equal(t, instruction("CMD"), string(command))
		require.Empty(t, image.Config.Entrypoint, "it would come before the arguments that the operator gives")
		require.Empty(t, image.Config.Env)
		labels := image.Config.Labels
		require.Equal(t, "Apache-2.0", labels["org.opencontainers.image.licenses"])
		require.Equal(t, image.Created.UTC().Format(time.RFC3339), labels["org.opencontainers.image.created"])
		require.NotEmpty(t, labels["org.opencontainers.image.source"])

		path := filepath.Join(t.TempDir(), "work")
		files := tar.NewReader(bytes.NewReader(image.layer))
		header, err := files.Next()
		require.NoError(t, err)
		require.Equal(t, "work", header.Name)
		require.EqualValues(t, 0o755, header.Mode)
		require.Equal(t, []int{0, 0}, []int{header.Uid, header.Gid})
		require.True(t, image.Created.Equal(header.ModTime))
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		_, err = files.Next()
		require.ErrorIs(t, err, io.EOF, "there is nothing else in the image: no shell, no library")
		require.NoError(t, os.WriteFile(path, content, 0o755))
		isStatic(t, path, machine)
		s.keep(t, architecture, path)
	}
}

// keep stores a binary for the other parts of the test.
func (s *snapshot) keep(t *testing.T, architecture, path string) {
	t.Helper()
	kept := filepath.Join(filepath.Dir(s.dir), "work_"+architecture)
	require.NoError(t, os.Rename(path, kept))
	s.binaries[architecture] = kept
}

// isStatic: the image has only the binary, without a loader or a library.
func isStatic(t *testing.T, path string, machine elf.Machine) {
	t.Helper()
	binary, err := elf.Open(path)
	require.NoError(t, err)
	defer binary.Close()
	require.Equal(t, machine, binary.Machine)
	for _, part := range binary.Progs {
		require.NotEqual(t, elf.PT_INTERP, part.Type, "it asks for a loader")
	}
	libraries, err := binary.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
}

// namesItsModules: the SBOM lists each module in the binary, with its version, so a search for a vulnerable module finds it.
func (s *snapshot) namesItsModules(t *testing.T) {
	for architecture, binary := range s.binaries {
		s.namesModulesOf(t, "work_"+s.version+"_linux_"+architecture, binary)
	}
	for platform := range archives {
		path := filepath.Join(t.TempDir(), "plugin")
		require.NoError(t, os.WriteFile(path, s.pluginIn(t, platform), 0o755))
		s.namesModulesOf(t, "kubectl-mwrs_"+s.version+"_"+platform, path)
	}
}

func (s *snapshot) namesModulesOf(t *testing.T, base, binary string) {
	t.Helper()
	type component struct{ Name, Version, PURL string }
	var sbom struct {
		BOMFormat string
		Metadata  struct {
			Timestamp  time.Time
			Component  component
			Properties []struct{ Name, Value string }
		}
		Components []component
	}
	require.NoError(t, json.Unmarshal(s.read(t, base+".cdx.json"), &sbom))
	require.Equal(t, "CycloneDX", sbom.BOMFormat)
	require.Equal(t, "github.com/open-cluster-management-io/work-rollback "+s.version, sbom.Metadata.Component.Name+" "+sbom.Metadata.Component.Version)
	require.True(t, s.image.images["amd64"].Created.Equal(sbom.Metadata.Timestamp), "the time of the commit")
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	require.Contains(t, sbom.Metadata.Properties, struct{ Name, Value string }{"cdx:gomod:binary:hash:SHA-256", sum(content)}, "it is this binary's")
	named := map[string]string{}
	for _, c := range sbom.Components {
		named[c.Name] = c.Version
		require.Contains(t, c.PURL, "pkg:golang/"+c.Name+"@")
	}
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	require.Contains(t, named, "std", "the standard library has vulnerabilities too")
	delete(named, "std")
	inside := map[string]string{}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		inside[module.Path] = module.Version
	}
	require.Contains(t, inside, "k8s.io/client-go")
	require.Equal(t, inside, named, base)
}
