package crds

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// patchedFile is the path of the API module's CRD in OCM's tree.
const patchedFile = "manifests/cluster-manager/hub/crds/0000_00_work.open-cluster-management.io_manifestworkreplicasets.crd.yaml"

// statusDefault is not in the patch: if works travel over a broker, the patched hub runs OCM's own controller, which never writes the
// observed generation. With this default, tools would wait for it forever.
const statusDefault = `status default: {"observedGeneration":-1}`

// The patch for OCM's tree adds the same fields to its CRD as this project's CRD, except for that default, and for the columns that
// kubectl prints.
func TestPatchAddsEveryField(t *testing.T) {
	patch, err := filepath.Abs("../../hack/ocm/v1.3.1.patch")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	file := filepath.Join(tree, patchedFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, readUpstream(t), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := exec.Command("git", "apply", "--include="+patchedFile, patch)
	apply.Dir = tree
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree)) // The tree does not belong to a repository around it.
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", apply, err, out)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ours, patched := facts(t, parse(t, ManifestWorkReplicaSet)), facts(t, parse(t, raw))
	if !ours[statusDefault] {
		t.Errorf("this CRD has no %s", statusDefault)
	}
	delete(ours, statusDefault)
	for fact := range ours {
		if strings.HasPrefix(fact, "additionalPrinterColumns") && !patched[fact] {
			delete(ours, fact)
		}
	}
	require.Equal(t, ours, patched, "hack/ocm/v1.3.1.patch adds different fields to OCM's CRD than those of this CRD")
}
