package hub

import (
	"bytes"
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	workclientset "open-cluster-management.io/api/client/work/clientset/versioned"
	workscheme "open-cluster-management.io/api/client/work/clientset/versioned/scheme"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// workClientset is upstream's clientset with a more efficient client of ManifestWorks. During a rollout, a hub spends
// most of its time decoding the works that it watches, of tens of kilobytes each.
type workClientset struct {
	workclientset.Interface
	v1 *workv1client.WorkV1Client
}

// WorkV1 implements workclientset.Interface.
func (c *workClientset) WorkV1() workv1client.WorkV1Interface { return c.v1 }

func newWorkClientset(config *rest.Config) (*workClientset, error) {
	upstream, err := workclientset.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client for ManifestWorks: %w", err)
	}
	config = rest.CopyConfig(config)
	version := schema.GroupVersion(workv1.GroupVersion)
	config.APIPath = "/apis"
	config.UserAgent = cmp.Or(config.UserAgent, rest.DefaultKubernetesUserAgent())
	config.ContentConfig = rest.ContentConfig{
		ContentType: runtime.ContentTypeJSON, GroupVersion: &version, NegotiatedSerializer: workCodecs{workscheme.Codecs.WithoutConversion()},
	}
	works, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client for ManifestWorks: %w", err)
	}
	return &workClientset{Interface: upstream, v1: workv1client.New(works)}, nil
}

// workCodecs reads and writes JSON, as the API server stores and serves ManifestWorks.
type workCodecs struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (workCodecs) SupportedMediaTypes() []runtime.SerializerInfo {
	works := jsonserializer.NewSerializerWithOptions(kinds{}, workscheme.Scheme, workscheme.Scheme, jsonserializer.SerializerOptions{})
	return []runtime.SerializerInfo{{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer: works,
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true, Serializer: eventSerializer{works}, Framer: jsonserializer.Framer,
		},
	}}
}

// kinds finds the kind of a ManifestWork in its first bytes, because an API server writes the fields of a custom
// resource sorted by name. For all other data, it parses the whole document as usual, which takes as long as decoding
// it.
type kinds struct{}

var beginningOfWork = []byte(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork",`)

// Interpret implements jsonserializer.MetaFactory.
func (kinds) Interpret(data []byte) (*schema.GroupVersionKind, error) {
	if bytes.HasPrefix(data, beginningOfWork) {
		kind := schema.GroupVersion(workv1.GroupVersion).WithKind("ManifestWork")
		return &kind, nil
	}
	kind, err := jsonserializer.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return nil, fmt.Errorf("reading the kind of an object: %w", err)
	}
	return kind, nil
}

// eventSerializer splits a watch event without decoding its object, which is decoded in the next step.
type eventSerializer struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The object of an event shares data, which is valid until the next event is decoded. The
// decoder of the object reports data that is not JSON.
func (s eventSerializer) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok {
		if event.Type, event.Object.Raw, ok = cutEvent(data); ok {
			kind := metav1.Unversioned.WithKind("WatchEvent")
			return event, &kind, nil
		}
	}
	object, kind, err := s.Serializer.Decode(data, defaults, into)
	if err != nil {
		return nil, kind, fmt.Errorf("decoding a watch event: %w", err)
	}
	return object, kind, nil
}

// cutEvent returns the type and the object of an event in which an API server reports an object. The API server writes
// nothing before, between or after the two.
func cutEvent(data []byte) (string, []byte, bool) {
	event, begins := bytes.CutPrefix(data, []byte(`{"type":"`))
	eventType, object, follows := bytes.Cut(event, []byte(`","object":`))
	object, ends := bytes.CutSuffix(bytes.TrimSpace(object), []byte("}"))
	if !begins || !follows || !ends {
		return "", nil, false
	}
	switch kind := watch.EventType(eventType); kind {
	case watch.Added, watch.Modified, watch.Deleted:
		return string(kind), object, true
	}
	return "", nil, false
}
