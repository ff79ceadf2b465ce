package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// parts are the objects of a template on their clusters: each sort of kind, once with updates and once with server-side apply.
type parts struct {
	*labFleet
	clients map[string]dynamic.Interface
}

// part is one of the objects.
type part struct {
	resource schema.GroupVersionResource
	kind     string
	// apply is true if the agent uses server-side apply.
	apply bool
	// content returns the content of the object in a version.
	content func(version string) map[string]any
}

// widgets is a custom resource of this test.
var widgets = schema.GroupVersionResource{Group: "unchanged.example.com", Version: "v1", Resource: "widgets"}

func configMapContent(version string) map[string]any {
	return map[string]any{"data": map[string]any{"version": version}}
}

func widgetContent(version string) map[string]any {
	return map[string]any{"spec": map[string]any{"version": version, "sizes": []any{1, 2.5, "3"}}}
}

// deploymentContent leaves many fields to the API server's defaults.
func deploymentContent(version string) map[string]any {
	return map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "web", "image": "registry.example.com/web:" + version, "resources": map[string]any{"requests": map[string]any{"cpu": "0.5"}},
			}}},
		},
	}}
}

// sorts are the parts by name.
var sorts = map[string]part{
	"config":             {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", false, configMapContent},
	"config-applied":     {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true, configMapContent},
	"deployment":         {deployments, "Deployment", false, deploymentContent},
	"deployment-applied": {deployments, "Deployment", true, deploymentContent},
	"widget":             {widgets, "Widget", false, widgetContent},
	"widget-applied":     {widgets, "Widget", true, widgetContent},
}

// newParts returns a fleet whose clusters have the custom resource.
func newParts(t *testing.T) *parts {
	t.Helper()
	shares(t)
	planes, err := managedPlanes()
	require.NoError(t, err)
	clients := make([]dynamic.Interface, len(planes))
	for i, plane := range planes {
		clients[i], err = dynamic.NewForConfig(plane.RESTConfig())
		require.NoError(t, err)
		definitions, err := apiextensionsclient.NewForConfig(plane.RESTConfig())
		require.NoError(t, err)
		preserve := true
		_, err = definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: widgets.GroupResource().String()},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: widgets.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: widgets.Resource, Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: widgets.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: &preserve,
					}}}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		eventually(t, "widgets are served", func() error {
			_, err := clients[i].Resource(widgets).List(t.Context(), metav1.ListOptions{})
			return err
		})
	}
	f := &parts{labFleet: newLabFleet(t, labOptions{}), clients: map[string]dynamic.Interface{}}
	for i, short := range f.clusters {
		f.clients[short] = clients[i]
	}
	return f
}

func (f *parts) objectName(sort string) string { return f.namespace + "-" + sort }

// template returns a template with each part in its version; v1 if versions does not list the part.
func (f *parts) template(versions map[string]string) workv1.ManifestWorkSpec {
	f.t.Helper()
	spec := workv1.ManifestWorkSpec{}
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		p := sorts[sort]
		version := versions[sort]
		if version == "" {
			version = "v1"
		}
		object := p.content(version)
		object["apiVersion"], object["kind"] = p.resource.GroupVersion().String(), p.kind
		object["metadata"] = map[string]any{"name": f.objectName(sort), "namespace": "default"}
		raw, err := json.Marshal(object)
		require.NoError(f.t, err)
		manifest := workv1.Manifest{}
		manifest.Raw = raw
		spec.Workload.Manifests = append(spec.Workload.Manifests, manifest)
		if p.apply {
			spec.ManifestConfigs = append(spec.ManifestConfigs, workv1.ManifestConfigOption{
				ResourceIdentifier: workv1.ResourceIdentifier{
					Group: p.resource.Group, Resource: p.resource.Resource, Namespace: "default", Name: f.objectName(sort),
				},
				UpdateStrategy: &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply},
			})
		}
	}
	return spec
}

// stored returns the resource versions and the UIDs of the objects on all clusters.
func (f *parts) stored() map[string]string {
	f.t.Helper()
	found := map[string]string{}
	for short, client := range f.clients {
		for sort, p := range sorts {
			object, err := client.Resource(p.resource).Namespace("default").Get(f.t.Context(), f.objectName(sort), metav1.GetOptions{})
			require.NoError(f.t, err)
			found[short+" "+sort] = fmt.Sprintf("%s of %s", object.GetResourceVersion(), object.GetUID())
		}
	}
	return found
}

// touched returns the parts that differ, on each cluster.
func touched(before, after map[string]string) (all []string) {
	for key := range before {
		if before[key] != after[key] {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// reported waits until each agent has applied the current generation of its work.
func (f *parts) reported() {
	f.t.Helper()
	for _, short := range f.clusters {
		eventually(f.t, short+" reports", func() error {
			work := f.work(short)
			if status := work.Status; !is(workv1.WorkApplied, metav1.ConditionTrue, work.Generation)(&status) ||
				!is(workv1.WorkAvailable, metav1.ConditionTrue, work.Generation)(&status) {
				return fmt.Errorf("at generation %d: %+v", work.Generation, status.Conditions)
			}
			return nil
		})
	}
}

// writes requires that a change to the ManifestWorkReplicaSet leads to writes of exactly these parts on each cluster. Meanwhile, the agents
// check their clusters repeatedly.
func (f *parts) writes(change func(*workv1alpha1.ManifestWorkReplicaSet), done func() error, wanted ...string) {
	f.t.Helper()
	before := f.stored()
	f.edit(change)
	eventually(f.t, "the change reaches the works", done)
	f.complete()
	f.reported()
	var all []string
	for _, short := range f.clusters {
		for _, sort := range wanted {
			all = append(all, short+" "+sort)
		}
	}
	slices.Sort(all)
	always(f.t, "the other objects stay as they are", 3*time.Second, func() error {
		if found := touched(before, f.stored()); !slices.Equal(found, all) {
			return fmt.Errorf("written were %v, and not only %v", found, all)
		}
		return nil
	})
}

// generation waits until each work has a generation.
func (f *parts) generation(wanted int64) func() error {
	return func() error {
		for short, generation := range f.generations() {
			if generation != wanted {
				return fmt.Errorf("%s is at generation %d", short, generation)
			}
		}
		return nil
	}
}

// A change to one manifest does not write the other objects on the clusters, regardless of their kind and of how they are applied. A change
// to a placementRef or of a label writes none of them.
func TestUnchangedParts(t *testing.T) {
	t.Parallel()
	f := newParts(t)
	f.begin(all("None", 0), f.template(nil))
	f.reported()

	versions := map[string]string{}
	generation := int64(1)
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		versions[sort] = "v2"
		generation++
		spec := f.template(versions)
		f.writes(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = spec }, f.generation(generation), sort)
	}

	label := func(key, value string) func() error {
		return func() error {
			for _, work := range f.works() {
				if work.Labels[key] != value {
					return fmt.Errorf("%s has %v", work.Namespace, work.Labels)
				}
			}
			return f.generation(generation)()
		}
	}
	f.writes(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Labels = map[string]string{"team": "a"} }, label("team", "a"))
	f.writes(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) {
		mwrs.Spec.PlacementRefs[0].RolloutStrategy = progressive(1, "10m", 0, abortAll)
	}, f.generation(generation))
	f.place("p2", f.clusters)
	f.writes(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.PlacementRefs[0].Name = "p2" },
		label(workv1alpha1.LabelPlacement, "p2"))

	// An undo writes only the parts that differ.
	generation++
	spec := f.template(map[string]string{"config": "v2", "config-applied": "v2", "deployment": "v2", "deployment-applied": "v2", "widget": "v2"})
	f.writes(func(mwrs *workv1alpha1.ManifestWorkReplicaSet) { mwrs.Spec.ManifestWorkTemplate = spec }, f.generation(generation), "widget-applied")
}
