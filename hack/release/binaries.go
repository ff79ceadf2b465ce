package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// versionVariable is the variable that the linker sets to the version.
const versionVariable = "github.com/open-cluster-management-io/work-rollback/pkg/version.gitVersion"

// timestamp is the time of an SBOM.
var timestamp = regexp.MustCompile(`("timestamp": ")[^"]*"`)

// platform is an operating system and an architecture as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// hubPlatforms are the platforms of the image.
var hubPlatforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

// pluginPlatforms are the platforms of the plugin.
var pluginPlatforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// compile builds a command of this module for a platform: static, without debug information, without paths of this machine, and with the
// commit.
func (r *release) compile(ctx context.Context, command string, p platform, file string) error {
	fmt.Fprintf(os.Stderr, "building %s for %s\n", command, p)
	_, err := outputWith(ctx, r.root, []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch},
		"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -X "+versionVariable+"="+r.version, "-o", file, "./cmd/"+command)
	return err
}

// image writes the image as an OCI layout, and one SBOM for each platform. It returns the digest of the image's index.
func (r *release) image(ctx context.Context, work string) (string, error) {
	arguments := []string{
		"-out", filepath.Join(r.out, "image"), "-version", r.version, "-created", fmt.Sprint(r.created.Unix()),
	}
	for _, label := range r.labels() {
		arguments = append(arguments, "-label", label)
	}
	for _, p := range hubPlatforms {
		binary := filepath.Join(work, "work_"+p.String())
		if err := r.compile(ctx, "work", p, binary); err != nil {
			return "", err
		}
		if !r.imageOnly {
			if err := r.sbom(ctx, binary, "work_"+r.version+"_"+p.String()); err != nil {
				return "", err
			}
		}
		arguments = append(arguments, p.arch+"="+binary)
	}
	tool, err := r.tool(ctx, "image", "image")
	if err != nil {
		return "", err
	}
	return output(ctx, r.root, tool, arguments...)
}

// labels are the labels of the image, as OCI names them.
func (r *release) labels() []string {
	const prefix = "org.opencontainers.image."
	return []string{
		prefix + "title=work",
		prefix + "description=The work hub of Open Cluster Management, with rollback",
		prefix + "version=" + r.version,
		prefix + "revision=" + r.commit,
		prefix + "created=" + r.created.Format(time.RFC3339),
		prefix + "source=" + source,
		prefix + "documentation=" + source + "/blob/main/docs/install.md",
		prefix + "licenses=Apache-2.0",
	}
}

// plugins writes the plugin's archives, an SBOM for each of them, and the manifest for Krew.
func (r *release) plugins(ctx context.Context, work string) error {
	archives := make([]archive, 0, len(pluginPlatforms))
	for _, p := range pluginPlatforms {
		name := pluginName
		if p.os == "windows" {
			name += ".exe"
		}
		binary := filepath.Join(work, p.String(), name)
		if err := r.compile(ctx, pluginName, p, binary); err != nil {
			return err
		}
		base := pluginName + "_" + r.version + "_" + p.String()
		if err := r.sbom(ctx, binary, base); err != nil {
			return err
		}
		files := []string{binary, filepath.Join(r.root, "LICENSE")}
		if p.os != "windows" {
			files = append(files, filepath.Join(r.root, "cmd", pluginName, "kubectl_complete-mwrs"))
		}
		written, err := pack(filepath.Join(r.out, base), p, name, files, r.created)
		if err != nil {
			return err
		}
		archives = append(archives, written)
	}
	manifest, err := krewManifest(r.version, archives)
	if err != nil {
		return err
	}
	return r.write("mwrs.yaml", string(manifest))
}

// sbom writes the modules of a binary as CycloneDX. The image has nothing except its binary.
func (r *release) sbom(ctx context.Context, binary, base string) error {
	tool, err := r.tool(ctx, "sbom", "cyclonedx-gomod")
	if err != nil {
		return err
	}
	file := filepath.Join(r.out, base+".cdx.json")
	_, err = output(ctx, r.root, tool, "bin", "-json", "-std", "-noserial", "-version", r.version, "-output", file, binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// The tool writes the time of its run, which would make each build different.
	content = timestamp.ReplaceAll(content, []byte("${1}"+r.created.Format(time.RFC3339)+`"`))
	return os.WriteFile(file, content, 0o644)
}

// tool returns the path of a program that a module under hack/tools pins.
func (r *release) tool(ctx context.Context, module, name string) (string, error) {
	directory, err := output(ctx, r.root, filepath.Join(r.root, "hack", "tools", "build.sh"), module)
	return filepath.Join(directory, name), err
}
