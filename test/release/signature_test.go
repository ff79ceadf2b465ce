package release

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// isSigned pushes to a registry on this machine, and signs with a key of this test. GitHub's workflow has no key: it signs with its own
// identity, which requires GitHub.
func (s *snapshot) isSigned(t *testing.T) {
	tool := func(module, name string) string {
		return filepath.Join(run(t, root, nil, "./hack/tools/build.sh", module), name)
	}
	crane, cosign := tool("ko", "crane"), tool("cosign", "cosign")
	keys, image := t.TempDir(), serveRegistry(t, crane)+"/work"
	environment := []string{"COSIGN_PASSWORD=", "HOME=" + keys, "DOCKER_CONFIG=" + keys}
	run(t, keys, environment, cosign, "generate-key-pair")
	run(t, keys, environment, cosign, "generate-key-pair", "--output-key-prefix", "other")
	signing := append([]string{"COSIGN_KEY=" + filepath.Join(keys, "cosign.key"), "INSECURE=1"}, environment...)
	for _, cache := range []string{"GOCACHE", "GOMODCACHE"} { // These directories are in HOME by default.
		signing = append(signing, cache+"="+run(t, root, nil, "go", "env", cache))
	}
	published := &snapshot{dir: filepath.Join(t.TempDir(), "published"), version: s.version, digest: s.digest}
	reference := published.make(t, root, signing, "push", "IMAGE="+image)
	require.Equal(t, image+":"+s.version+"@"+s.digest, reference)

	verify := func(key, what string) error {
		_, _, err := try(t, keys, environment, cosign, "verify", "--key", filepath.Join(keys, key), "--insecure-ignore-tlog",
			"--allow-http-registry", what)
		return err
	}
	require.NoError(t, verify("cosign.pub", image+"@"+s.digest))
	require.Error(t, verify("other.pub", image+"@"+s.digest), "another key did not sign it")
	for architecture := range s.image.images {
		digest := run(t, keys, environment, crane, "digest", "--insecure", "--platform=linux/"+architecture, image+"@"+s.digest)
		require.NoError(t, verify("cosign.pub", image+"@"+digest))
		published.sbomIsAttested(t, cosign, keys, environment, image+"@"+digest, architecture)
	}
	s.tamperedImageIsRefused(t, crane, image, environment, verify)
	require.Contains(t, string(published.read(t, "hub.yaml")), "workImagePullSpec: "+reference+"\n", "its checksum is signed")
	published.tamperedFilesAreRefused(t, cosign, keys, environment)
}

// tamperedImageIsRefused: an image is rejected if the tag of the release was moved to it.
func (s *snapshot) tamperedImageIsRefused(t *testing.T, crane, image string, environment []string, verify func(key, what string) error) {
	t.Helper()
	run(t, s.dir, environment, crane, "mutate", "--insecure", "--platform=linux/amd64", "--cmd=/bin/false", image+"@"+s.digest,
		"--tag="+image+":"+s.version)
	tampered := run(t, s.dir, environment, crane, "digest", "--insecure", image+":"+s.version)
	require.NotEqual(t, s.digest, tampered)
	require.Error(t, verify("cosign.pub", image+":"+s.version))
	require.Error(t, verify("cosign.pub", image+"@"+tampered))
	require.NoError(t, verify("cosign.pub", image+"@"+s.digest), "the digest of the release is still the release")
}

func (s *snapshot) sbomIsAttested(t *testing.T, cosign, keys string, environment []string, reference, architecture string) {
	t.Helper()
	out := run(t, keys, environment, cosign, "verify-attestation", "--key", filepath.Join(keys, "cosign.pub"), "--insecure-ignore-tlog",
		"--allow-http-registry", "--type=cyclonedx", reference)
	var envelope struct{ Payload []byte }
	require.NoError(t, json.Unmarshal([]byte(out), &envelope))
	var statement struct{ Predicate any }
	require.NoError(t, json.Unmarshal(envelope.Payload, &statement))
	attested, err := json.Marshal(statement.Predicate)
	require.NoError(t, err)
	require.JSONEq(t, string(s.read(t, "work_"+s.version+"_linux_"+architecture+".cdx.json")), string(attested))
}

// tamperedFilesAreRefused: the signature must match the checksums, and the checksums must match the files.
func (s *snapshot) tamperedFilesAreRefused(t *testing.T, cosign, keys string, environment []string) {
	t.Helper()
	verify := func(file string) error {
		_, _, err := try(t, s.dir, environment, cosign, "verify-blob", "--key", filepath.Join(keys, "cosign.pub"), "--insecure-ignore-tlog",
			"--bundle", "checksums.txt.sigstore.json", file)
		return err
	}
	require.NoError(t, verify("checksums.txt"))
	changed := filepath.Join(keys, "changed.txt")
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(s.read(t, "checksums.txt")), "install.yaml", "install2.yaml", 1)), 0o600))
	require.Error(t, verify(changed))
}

// serveRegistry serves an empty registry on this machine until the test ends, and returns its address.
func serveRegistry(t *testing.T, crane string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), crane, "registry", "serve", "--address=127.0.0.1:0")
	output, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if port := regexp.MustCompile(`serving on port (\d+)`).FindStringSubmatch(lines.Text()); port != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return "127.0.0.1:" + port[1]
		}
	}
	t.Fatal("the registry ended")
	return ""
}
