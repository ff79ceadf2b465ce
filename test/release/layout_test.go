package release

import (
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layout holds the parts of an OCI layout with one index that the test reads.
type layout struct {
	// digest is the digest of the index.
	digest string
	// images are the images by architecture.
	images map[string]image
}

// descriptor is an OCI descriptor: it describes another file of the layout.
type descriptor struct {
	MediaType, Digest string
	Size              int
	Platform          struct{ OS, Architecture string }
}

// image is the configuration of one image, and the files of its layers.
type image struct {
	OS, Architecture string
	Config           struct {
		User            string
		Cmd, Entrypoint []string
		Env             []string
		Labels          map[string]string
	}
	RootFS struct {
		DiffIDs []string `json:"diff_ids"`
	}

	files map[string]file
}

// blob reads a file of a layout, and checks that its content has the digest.
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
	found := layout{digest: top.Manifests[0].Digest, images: map[string]image{}}
	for _, d := range list.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		require.NoError(t, json.Unmarshal(blob(t, dir, d), &manifest))
		read := image{files: map[string]file{}}
		require.NoError(t, json.Unmarshal(blob(t, dir, manifest.Config), &read))
		var diffs []string
		for _, layer := range manifest.Layers {
			require.Equal(t, "application/vnd.oci.image.layer.v1.tar+gzip", layer.MediaType)
			compressed, err := gzip.NewReader(bytes.NewReader(blob(t, dir, layer)))
			require.NoError(t, err)
			content, err := io.ReadAll(compressed)
			require.NoError(t, err)
			diffs = append(diffs, "sha256:"+sum(content))
			maps.Copy(read.files, untar(t, content))
		}
		require.Equal(t, diffs, read.RootFS.DiffIDs)
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

// imageFitsTheOperator: the Deployments of OCM's operator pass "/work manager ..." as arguments, and require a non-root user.
func (s *snapshot) imageFitsTheOperator(t *testing.T) {
	s.image = readLayout(t, s.path("image"))
	require.Equal(t, s.digest, s.image.digest)
	require.Len(t, s.image.images, 2)
	s.binaries = map[string]string{}
	for architecture, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		image, ok := s.image.images[architecture]
		require.True(t, ok, architecture)
		require.Equal(t, "linux", image.OS)
		require.Equal(t, "65532:65532", image.Config.User, "a number, because a kubelet can't tell whether a user name is root")
		require.Equal(t, []string{"/ko-app/work"}, image.Config.Entrypoint, "cmd/work ignores the /work that follows")
		require.Empty(t, image.Config.Cmd)
		require.ElementsMatch(t, []string{"PATH=/ko-app", "KO_DATA_PATH=/var/run/ko"}, image.Config.Env, "ko adds no other variable")
		labels := image.Config.Labels
		require.Equal(t, "Apache-2.0", labels["org.opencontainers.image.licenses"])
		require.Equal(t, repository, labels["org.opencontainers.image.source"])

		require.Equal(t, "ko-app/work", image.files["work"].link)
		binary := image.files["ko-app/work"]
		require.EqualValues(t, 0o555, binary.mode.Perm())
		for name, file := range image.files {
			require.True(t, name == "ko-app/work" || len(file.content) == 0, "%s: the image must not contain a shell or a library", name)
		}
		path := filepath.Join(t.TempDir(), "work")
		require.NoError(t, os.WriteFile(path, binary.content, 0o755))
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
		require.NotEqual(t, elf.PT_INTERP, part.Type, "the binary requires a loader")
	}
	libraries, err := binary.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
}

// namesItsModules: the SBOM lists each module in the binary, with its version, so a search for a vulnerable module finds it.
func (s *snapshot) namesItsModules(t *testing.T) {
	for architecture, binary := range s.binaries {
		s.namesModulesOf(t, "work_"+s.version+"_linux_"+architecture, binary, "work "+s.version)
	}
	for platform, extension := range archives {
		path := filepath.Join(t.TempDir(), "plugin")
		require.NoError(t, os.WriteFile(path, s.pluginIn(t, platform), 0o755))
		base := "kubectl-mwrs_" + s.version + "_" + platform
		s.namesModulesOf(t, base, path, base+extension+" sha256:"+sum(s.read(t, base+extension)))
	}
}

// namesModulesOf checks one SBOM. subject is the name and the version of its subject.
func (s *snapshot) namesModulesOf(t *testing.T, base, binary, subject string) {
	t.Helper()
	type component struct{ Name, Version, PURL string }
	var sbom struct {
		BOMFormat  string
		Metadata   struct{ Component component }
		Components []component
	}
	require.NoError(t, json.Unmarshal(s.read(t, base+".cdx.json"), &sbom))
	require.Equal(t, "CycloneDX", sbom.BOMFormat)
	require.Equal(t, subject, sbom.Metadata.Component.Name+" "+sbom.Metadata.Component.Version, base)
	named := map[string]string{}
	for _, c := range sbom.Components {
		if strings.HasPrefix(c.PURL, "pkg:golang/") {
			named[c.Name] = c.Version
		}
	}
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	require.Contains(t, named, "stdlib", "the standard library can have vulnerabilities, too")
	delete(named, "stdlib")
	delete(named, info.Main.Path)
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
