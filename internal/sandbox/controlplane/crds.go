package controlplane

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"open-cluster-management.io/ocm/manifests"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/deploy/crds"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/tools"
)

const (
	hubCRDs   = "cluster-manager/hub/crds/"
	spokeCRDs = "klusterlet/managed/"
)

// HubCRDs returns the CRDs of OCM's hub that work, placement and their tests need. This project's ManifestWorkReplicaSet replaces the
// upstream CRD.
func HubCRDs() ([][]byte, error) {
	files := []string{
		"0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml",
		"0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml",
		"0000_00_work.open-cluster-management.io_manifestworks.crd.yaml",
		"0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml",
		"0000_02_clusters.open-cluster-management.io_placements.crd.yaml",
		"0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml",
		"0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml",
	}
	result := [][]byte{crds.ManifestWorkReplicaSet}
	for _, file := range files {
		data, err := manifests.ClusterManagerManifestFiles.ReadFile(hubCRDs + file)
		if err != nil {
			return nil, fmt.Errorf("reading a CRD of the OCM module (did its version change?): %w", err)
		}
		result = append(result, data)
	}
	return result, nil
}

// ManagedClusterCRDs returns the definitions that a work agent needs on its cluster.
func ManagedClusterCRDs() ([][]byte, error) {
	data, err := manifests.KlusterletManifestFiles.ReadFile(spokeCRDs + "0000_01_work.open-cluster-management.io_appliedmanifestworks.crd.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading a CRD of the OCM module (did its version change?): %w", err)
	}
	return [][]byte{data}, nil
}

// ClusterManagerCRD returns the definition of the object that configures OCM's operator.
func ClusterManagerCRD(ctx context.Context) ([]byte, error) {
	return tools.ModuleFile(ctx, "open-cluster-management.io/api", "operator/v1/0000_01_operator.open-cluster-management.io_clustermanagers.crd.yaml")
}

// InstallCRDs creates or replaces definitions, and returns once the API server serves them.
func InstallCRDs(ctx context.Context, config *rest.Config, definitions ...[]byte) error {
	client, wanted, err := decodeFor(config, definitions)
	if err != nil {
		return err
	}
	for _, crd := range wanted {
		if err := apply(ctx, client, crd); err != nil {
			return fmt.Errorf("installing the CRD %s: %w", crd.Name, err)
		}
	}
	return waitAllServed(ctx, client, wanted)
}

// WaitForCRDs waits until the API server serves definitions that another program installs.
func WaitForCRDs(ctx context.Context, config *rest.Config, definitions ...[]byte) error {
	client, wanted, err := decodeFor(config, definitions)
	if err != nil {
		return err
	}
	return waitAllServed(ctx, client, wanted)
}

// decodeFor decodes definitions, and creates a client for them.
func decodeFor(config *rest.Config, definitions [][]byte) (apiextensionsclient.Interface, []*apiextensionsv1.CustomResourceDefinition, error) {
	client, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client for CRDs: %w", err)
	}
	wanted, err := decode(definitions)
	return client, wanted, err
}

func decode(definitions [][]byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(definitions))
	for _, definition := range definitions {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(definition, crd); err != nil {
			return nil, fmt.Errorf("decoding a CRD: %w", err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

func waitAllServed(ctx context.Context, client apiextensionsclient.Interface, wanted []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range wanted {
		if err := waitServed(ctx, client, crd); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, client apiextensionsclient.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	_, err := api.Create(ctx, crd, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	old, err := api.Get(ctx, crd.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	updated := crd.DeepCopy()
	updated.ResourceVersion = old.ResourceVersion
	_, err = api.Update(ctx, updated, metav1.UpdateOptions{})
	return err
}

// waitServed waits until the API server serves the resource. The condition Established becomes true a moment earlier.
func waitServed(ctx context.Context, client apiextensionsclient.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, version := range crd.Spec.Versions {
			path := fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
			if !version.Served {
				continue
			}
			if last = client.Discovery().RESTClient().Get().AbsPath(path).Param("limit", "1").Do(ctx).Error(); last != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the API server serves %s: %w (last: %w)", crd.Name, err, last)
	}
	return nil
}
