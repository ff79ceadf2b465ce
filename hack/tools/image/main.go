// Command image writes the container image of the work hub for several architectures into an OCI layout, without a container engine and
// without a network:
//
//	image -out dir -version v1.2.3 -created 1700000000 -label key=value ... amd64=path/to/work arm64=path/to/work
//
// The image equals the one that deploy/Containerfile builds: one static binary on scratch, no entrypoint, and a user that is not root. The
// same binaries and flags give the same digests. It prints the digest of the index.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user of deploy/Containerfile.
const user = "65532:65532"

// refName is the annotation that names an image in an OCI layout.
const refName = "org.opencontainers.image.ref.name"

// labels is a flag that may be repeated: key=value.
type labels map[string]string

func (l labels) String() string { return fmt.Sprint(map[string]string(l)) }

func (l labels) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return errors.New("use key=value")
	}
	l[key] = value
	return nil
}

func main() {
	out := flag.String("out", "", "directory to write, which must not exist")
	version := flag.String("version", "", "version of the image, which names it in the layout")
	created := flag.Int64("created", 0, "seconds since 1970, the time of the image and of its file")
	named := labels{}
	flag.Var(named, "label", "label of the image, which is an annotation of the index too (key=value, may be repeated)")
	flag.Parse()
	digest, err := write(*out, *version, time.Unix(*created, 0).UTC(), named, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// write writes the layout: one index, with an image for each binary (architecture=path).
func write(out, version string, created time.Time, named labels, binaries []string) (v1.Hash, error) {
	if out == "" || version == "" || len(binaries) == 0 {
		return v1.Hash{}, errors.New("name -out, -version and at least one binary as architecture=path")
	}
	if _, err := os.Stat(out); err == nil {
		return v1.Hash{}, fmt.Errorf("%s exists: remove it first, a layout keeps what it had", out)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, binary := range binaries {
		architecture, path, found := strings.Cut(binary, "=")
		if !found {
			return v1.Hash{}, fmt.Errorf("%q: name a binary as architecture=path", binary)
		}
		image, err := imageOf(path, architecture, created, named)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%s: %w", binary, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	annotated, ok := mutate.Annotations(index, maps.Clone(named)).(v1.ImageIndex)
	if !ok {
		return v1.Hash{}, errors.New("an index with annotations is no index")
	}
	path, err := layout.Write(out, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(annotated, layout.WithAnnotations(map[string]string{refName: version})); err != nil {
		return v1.Hash{}, err
	}
	return annotated.Digest()
}

// imageOf returns the image of one architecture: the binary as /work.
func imageOf(path, architecture string, created time.Time, named labels) (v1.Image, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files, err := archive(content, created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "hack/release", Comment: "COPY work /work"},
	})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", architecture, v1.Time{Time: created}
	file.Config = v1.Config{User: user, Cmd: []string{"/work"}, Labels: maps.Clone(named)}
	return mutate.ConfigFile(image, file)
}

// archive returns the files of the image.
func archive(binary []byte, created time.Time) ([]byte, error) {
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	header := &tar.Header{Name: "work", Mode: 0o755, Size: int64(len(binary)), ModTime: created, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(binary); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return files.Bytes(), nil
}
