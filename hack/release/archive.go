package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pluginName is the name of the plugin's command and binary.
const pluginName = "kubectl-mwrs"

// archive is a published archive of the plugin.
type archive struct {
	platform platform
	// name is the name of the file; binary and others are the files in it.
	name   string
	binary string
	others []string
	// sha256 is the checksum of the archive in hexadecimal.
	sha256 string
}

// pack writes files, without their directories, into an archive: a zip file for Windows, otherwise a compressed tar file. The archive does
// not depend on this machine: all files have the same time, and the owner is root.
func pack(base string, p platform, binary string, files []string, modified time.Time) (archive, error) {
	extension, write := ".tar.gz", writeTar
	if p.os == "windows" {
		extension, write = ".zip", writeZip
	}
	written := archive{platform: p, name: filepath.Base(base) + extension, binary: binary}
	for _, file := range files {
		if name := filepath.Base(file); name != binary {
			written.others = append(written.others, name)
		}
	}
	file, err := os.Create(base + extension)
	if err != nil {
		return archive{}, err
	}
	defer file.Close()
	if err := write(file, files, modified); err != nil {
		return archive{}, fmt.Errorf("writing %s: %w", file.Name(), err)
	}
	if err := file.Close(); err != nil {
		return archive{}, err
	}
	written.sha256, err = checksum(file.Name())
	return written, err
}

func writeTar(out io.Writer, files []string, modified time.Time) error {
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	writer := tar.NewWriter(compressed)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: filepath.Base(file), Mode: mode(file), Size: int64(len(content)), ModTime: modified, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		if _, err := writer.Write(content); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(out io.Writer, files []string, modified time.Time) error {
	writer := zip.NewWriter(out)
	for _, file := range files {
		header := &zip.FileHeader{Name: filepath.Base(file), Method: zip.Deflate, Modified: modified}
		header.SetMode(os.FileMode(mode(file)))
		entry, err := writer.CreateHeader(header)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := entry.Write(content); err != nil {
			return err
		}
	}
	return writer.Close()
}

// mode returns the mode of a file in an archive, independent of the umask of the checkout.
func mode(file string) int64 {
	if filepath.Base(file) == "LICENSE" {
		return 0o644
	}
	return 0o755
}

// checksums writes the checksums of all files in the format of sha256sum.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		sum, err := checksum(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+entry.Name()+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(strings.Join(lines, "")), 0o644)
}

// checksum returns the SHA-256 of a file in hexadecimal.
func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
