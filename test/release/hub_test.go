package release

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
	"github.com/open-cluster-management-io/work-rollback/test/internal/await"
)

// patience is the time limit of a wait. It elapses only if something is wrong, or the machine is busy.
const patience = 2 * time.Minute

// replicaSets is the name of the CRD in install.yaml.
const replicaSets = "manifestworkreplicasets.work.open-cluster-management.io"

// installs: an API server with OCM's other CRDs accepts install.yaml, and the hub from the image runs there.
func (s *snapshot) installs(t *testing.T) {
	ctx := t.Context()
	env, err := controlplane.NewEnv(ctx, os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop(context.Background())) })
	definitions, err := controlplane.HubCRDs()
	require.NoError(t, err)
	var others [][]byte
	for _, definition := range definitions {
		if !strings.Contains(string(definition), "name: "+replicaSets+"\n") {
			others = append(others, definition)
		}
	}
	require.Len(t, others, len(definitions)-1)
	plane, err := env.Start(ctx, controlplane.Options{Name: "hub", CRDs: others})
	require.NoError(t, err)
	kubeconfig, err := plane.Kubeconfig("")
	require.NoError(t, err)
	kubectl := func(arguments ...string) string {
		t.Helper()
		return run(t, s.dir, []string{"KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir()}, env.Tools.Kubectl, arguments...)
	}
	kubectl("create", "namespace", sandbox.HubNamespace)
	kubectl("apply", "--server-side", "--force-conflicts", "-f", "install.yaml")
	kubectl("wait", "--for=condition=Established", "--timeout=2m", "crd/"+replicaSets)
	kubectl("apply", "--server-side", "--force-conflicts", "-f", "install.yaml")
	await.Eventually(t, patience, "the API server explains the fields of an abort", func() error {
		_, problem, err := try(t, s.dir, []string{"KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir()}, env.Tools.Kubectl, "explain", "mwrs.status.abortedTime")
		if err != nil {
			return errors.New(problem)
		}
		return nil
	})
	account := "--as=system:serviceaccount:" + sandbox.HubNamespace + ":work-controller-sa"
	require.Equal(t, "yes", kubectl("auth", "can-i", "patch", "controllerrevisions.apps", "-A", account))

	require.NotContains(t, string(s.read(t, "install.yaml")), "kind: ClusterManager", "its owner may be a Helm release")
	definition, err := controlplane.ClusterManagerCRD(ctx)
	require.NoError(t, err)
	require.NoError(t, controlplane.InstallCRDs(ctx, plane.RESTConfig(), definition))
	kubectl("apply", "--server-side", "--force-conflicts", "-f", "hub.yaml")
	require.Equal(t, imageName+":"+s.version+"@"+s.digest,
		kubectl("get", "clustermanager", "cluster-manager", "-o", "jsonpath={.spec.workImagePullSpec}"))

	kubectl("apply", "--server-side", "--force-conflicts", "-f", "beside-ocm.yaml")
	require.Equal(t, imageName+":"+s.version+"@"+s.digest,
		kubectl("-n", sandbox.HubNamespace, "get", "deployment", "work-rollback", "-o", "jsonpath={.spec.template.spec.containers[0].image}"))

	kubectl("create", "serviceaccount", "reader", "-n", "default")
	kubectl("create", "clusterrolebinding", "reader", "--clusterrole=cluster-admin", "--serviceaccount=default:reader")
	token := kubectl("create", "token", "reader", "-n", "default")
	s.metricNamesTheVersion(t, env, kubeconfig, token)
}

// metricNamesTheVersion: a metric has the version of the image, for dashboards.
func (s *snapshot) metricNamesTheVersion(t *testing.T, env *controlplane.Env, kubeconfig, token string) {
	t.Helper()
	port, err := process.FreePort()
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	hub, err := env.Group.Start(process.Command{Name: "released-work-hub", Path: s.binaries[architecture(t)], Args: []string{
		"manager", "--kubeconfig=" + kubeconfig, "--namespace=" + sandbox.HubNamespace, "--feature-gates=ManifestWorkReplicaSet=true",
		"--disable-leader-election", "--listen=" + address,
	}})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = hub.Kill()
		if t.Failed() {
			t.Log("the end of the hub's log:\n" + hub.LogTail(40))
		}
	})
	var metrics string
	await.Eventually(t, patience, "the hub runs", func() (err error) {
		metrics, err = scrape(t, address, token)
		if err == nil && !strings.Contains(metrics, "mwrs_controller_running 1\n") {
			err = fmt.Errorf("%d bytes of metrics", len(metrics))
		}
		return err
	})
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "open_cluster_management_hub_build_info{") {
			require.Contains(t, line, `gitVersion="`+s.version+`"`)
			require.Contains(t, line, `gitCommit="`+s.commit+`"`)
			return
		}
	}
	t.Fatal("there is no metric of the build")
}

// scrape trusts any certificate: the hub creates its own at each start.
func scrape(t *testing.T, address, token string) (string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, content)
	}
	return string(content), err
}

// isReproducible checks that a second build of the commit, in another directory, gives the same image and archives.
func (s *snapshot) isReproducible(t *testing.T) {
	if changed := run(t, root, nil, "git", "status", "--porcelain"); changed != "" && os.Getenv("CI") != "true" {
		t.Skip("the working tree has changes that a clone does not have:\n" + changed)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	absolute, err := filepath.Abs(root)
	require.NoError(t, err)
	run(t, root, nil, "git", "clone", "--quiet", "--shared", absolute, clone)
	run(t, clone, nil, "git", "checkout", "--quiet", "--detach", s.commit)
	// The tools are already built.
	require.NoError(t, os.MkdirAll(filepath.Join(clone, "_output"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(absolute, "_output", "tools"), filepath.Join(clone, "_output", "tools")))
	again := &snapshot{dir: filepath.Join(t.TempDir(), "again")}
	again.make(t, clone, nil, "snapshot")
	require.Equal(t, s.digest, readLayout(t, again.path("image")).digest)
	for platform, extension := range archives {
		name := "kubectl-mwrs_" + s.version + "_" + platform + extension
		require.Equal(t, sum(s.read(t, name)), sum(again.read(t, name)), name)
	}
}
