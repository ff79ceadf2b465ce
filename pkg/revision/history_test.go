package revision

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

var epoch = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

func hashesOf(h History) string {
	var hashes []string
	for i := range h.Revisions {
		hashes = append(hashes, h.Revisions[i].Hash)
	}
	return strings.Join(hashes, " ")
}

// TestNew: the content of a new revision.
func TestNew(t *testing.T) {
	spec := template(configMap)
	object, err := New(owner(), spec, "abc", 3)
	if err != nil {
		t.Fatal(err)
	}
	if object.Name != "web-abc" || object.Namespace != "default" || object.Revision != 3 {
		t.Errorf("%s/%s %d", object.Namespace, object.Name, object.Revision)
	}
	wantLabels := map[string]string{
		"work.open-cluster-management.io/controller-hash":        "abc",
		"work.open-cluster-management.io/manifestworkreplicaset": "default.web",
	}
	require.Equal(t, wantLabels, object.Labels)
	require.Equal(t, map[string]string{"work.open-cluster-management.io/generation": "7"}, object.Annotations)
	if ref := metav1.GetControllerOf(object); ref == nil || ref.UID != "uid-of-web" || ref.Kind != "ManifestWorkReplicaSet" ||
		ref.APIVersion != "work.open-cluster-management.io/v1alpha1" {
		t.Errorf("%+v", ref)
	}
	var data map[string]map[string]json.RawMessage
	if err := json.Unmarshal(object.Data.Raw, &data); err != nil || len(data) != 1 || len(data["spec"]) != 1 || data["spec"]["manifestWorkTemplate"] == nil {
		t.Errorf("data %s: %v", object.Data.Raw, err)
	}
	rev := Decode(object)
	if rev.Err != nil || rev.Hash != "abc" || rev.Digest != digest(t, spec) || FirstDifference(rev.Template, spec) != "" {
		t.Errorf("%+v", rev)
	}
}

// TestDecodeErrors: unreadable data is reported with the remedy, and has no other effect.
// TestStableEncoding: the API server encodes the data of a revision in the same way again, for example for a strategic merge patch.
func TestStableEncoding(t *testing.T) {
	spec := templateFrom(t, `{"workload":{"manifests":[{"kind":"ConfigMap","data":{"b":"<&>","a":1.0,"c":1e3,"d":12345678901234}}]},
		"manifestConfigs":[{"resourceIdentifier":{"group":"","resource":"configmaps","name":"web"}}]}`)
	object, err := New(owner(), spec, "aaa", 1)
	require.NoError(t, err)
	value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	again := &appsv1.ControllerRevision{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(value, again))
	require.Equal(t, string(again.Data.Raw), string(object.Data.Raw))
	wanted, err := DigestOf(spec)
	require.NoError(t, err)
	require.Equal(t, wanted, Decode(object).Digest)
}

func TestDecodeErrors(t *testing.T) {
	for name, data := range map[string]string{
		"nothing": ``, "no JSON": `{`, "null": `null`, "a list": `[]`, "empty": `{}`, "no template": `{"spec":{}}`,
		"a null template": `{"spec":{"manifestWorkTemplate":null}}`, "a text": `{"spec":{"manifestWorkTemplate":"x"}}`,
		"spec is a text": `{"spec":"x"}`, "a manifest is no object": `{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[7]}}}}`,
		"a manifest is null": `{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[null]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			rev := stored(t, "abc", 1, holding(data))
			if rev.Err == nil || rev.Template != nil || rev.Digest != "" || rev.Hash != "abc" {
				t.Fatalf("%+v", rev)
			}
			for _, want := range []string{"ControllerRevision default/web-abc", "data.spec.manifestWorkTemplate"} {
				if !strings.Contains(rev.Err.Error(), want) {
					t.Errorf("%q does not say %q", rev.Err, want)
				}
			}
			good := stored(t, "def", 2)
			h := NewHistory(owner(), []Revision{rev, good})
			if h.ByHash("abc") == nil || h.ByDigest("") != nil || h.ByDigest(good.Digest) == nil || h.NextNumber() != 3 {
				t.Error("it disturbs the history")
			}
		})
	}
}

// TestHistory: only some objects count as revisions, in a fixed order.
func TestHistory(t *testing.T) {
	h := NewHistory(owner(), []Revision{
		stored(t, "ccc", 3),
		stored(t, "aaa", 1),
		stored(t, "later", 2, created(epoch.Add(time.Hour))),
		stored(t, "earlier", 2, created(epoch)),
		stored(t, "twin-b", 4, created(epoch)),
		stored(t, "twin-a", 4, created(epoch)),
		stored(t, "aaa", 9, named("web-copy")),
		stored(t, "zzz", 8, named("other-zzz")),
		stored(t, "ddd", 7, ownedBy("uid-of-an-earlier-web")),
		stored(t, "eee", 7, func(o *appsv1.ControllerRevision) { o.OwnerReferences = nil }),
		stored(t, "fff", 7, func(o *appsv1.ControllerRevision) { o.OwnerReferences[0].Controller = nil }),
	})
	if got, want := hashesOf(h), "aaa earlier later ccc twin-a twin-b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	wantIgnored := []string{
		`ControllerRevision other-zzz claims the hash "zzz" and is ignored: a revision with that hash has the name web-zzz`,
		`ControllerRevision web-copy claims the hash "aaa" and is ignored: a revision with that hash has the name web-aaa`,
	}
	require.Equal(t, wantIgnored, h.Ignored)
	if h.ByHash("aaa").Object.Revision != 1 || h.ByHash("") != nil || h.ByHash("ddd") != nil {
		t.Error("ByHash")
	}
	if h.Newest().Hash != "twin-b" || h.NextNumber() != 5 {
		t.Errorf("newest %s, next %d", h.Newest().Hash, h.NextNumber())
	}
}

func TestEmptyHistory(t *testing.T) {
	h := NewHistory(owner(), nil)
	if h.Newest() != nil || h.NextNumber() != 1 || h.ByHash("a") != nil || h.ByDigest("a") != nil || h.Surplus(nil, 0) != nil {
		t.Error("there is nothing in it")
	}
}

// TestByDigest finds the newest of the revisions with the same meaning, regardless of their hashes.
func TestByDigest(t *testing.T) {
	same := holding(`{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[{"kind":"ConfigMap","data":{"value":"aaa"}}]}}}}`)
	h := NewHistory(owner(), []Revision{stored(t, "aaa", 1), stored(t, "old", 2, same), stored(t, "bbb", 3)})
	if got := h.ByDigest(stored(t, "aaa", 1).Digest); got == nil || got.Hash != "old" {
		t.Errorf("%+v", got)
	}
	if got := h.ByDigest(stored(t, "ccc", 1).Digest); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestSurplus checks R5.
func TestSurplus(t *testing.T) {
	var revisions []Revision
	for i := range 12 {
		revisions = append(revisions, stored(t, "h"+strconv.Itoa(i), int64(i+1)))
	}
	h := NewHistory(owner(), revisions)
	for name, tc := range map[string]struct {
		live  []string
		limit int
		want  string
	}{
		"0 keeps none but the live":      {[]string{"h3", "h11"}, 0, "h0 h1 h2 h4 h5 h6 h7 h8 h9 h10"},
		"1 keeps the newest":             {[]string{"h11"}, 1, "h0 h1 h2 h3 h4 h5 h6 h7 h8 h9"},
		"10 beside the live":             {[]string{"h11"}, 10, "h0"},
		"10, and old ones are live":      {[]string{"h0", "h1"}, 10, ""},
		"live ones don't count":          {[]string{"h0", "h11", "h10"}, 8, "h1"},
		"more than there are":            {nil, 50, ""},
		"a negative one is as good as 0": {[]string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10"}, -1, "h11"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, object := range h.Surplus(sets.New(tc.live...), tc.limit) {
				got = append(got, object.Labels[workv1alpha1.LabelControllerHash])
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

// TestLimit: the default is 10, and a limit above 100 counts as 100.
func TestLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *int32
		want int
	}{
		"unset":        {nil, 10},
		"none":         {ptr.To[int32](0), 0},
		"the largest":  {ptr.To[int32](100), 100},
		"one more":     {ptr.To[int32](101), 100},
		"the most":     {ptr.To[int32](math.MaxInt32), 100},
		"a negative 1": {ptr.To[int32](-1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Limit(tc.spec); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestSurplusProperty checks P6: live revisions stay, and at most limit others. No older revision stays if a newer revision is pruned.
func TestSurplusProperty(t *testing.T) {
	pool := make([]Revision, 15)
	for i := range pool {
		pool[i] = stored(t, "h"+strconv.Itoa(i), int64(i+1))
	}
	rapid.Check(t, func(t *rapid.T) {
		h := NewHistory(owner(), rapid.Permutation(pool).Draw(t, "order")[:rapid.IntRange(0, len(pool)).Draw(t, "size")])
		live := sets.New[string]()
		for i := range pool {
			if rapid.IntRange(0, 2).Draw(t, "live") == 0 {
				live.Insert(pool[i].Hash)
			}
		}
		limit := rapid.IntRange(0, 12).Draw(t, "limit")
		gone := h.Surplus(live, limit)
		newestGone, kept := int64(0), 0
		for _, object := range gone {
			if live.Has(object.Labels[workv1alpha1.LabelControllerHash]) {
				t.Fatalf("the live %s goes", object.Name)
			}
			newestGone = max(newestGone, object.Revision)
		}
		for i := range h.Revisions {
			rev := &h.Revisions[i]
			if live.Has(rev.Hash) || slices.Contains(gone, rev.Object) {
				continue
			}
			kept++
			if rev.Object.Revision < newestGone {
				t.Fatalf("%s stays, a newer one goes", rev.Object.Name)
			}
		}
		if kept > limit || (len(gone) > 0 && kept < limit) {
			t.Fatalf("%d others stay, the limit is %d", kept, limit)
		}
	})
}

// If the content of a revision is unknown, the difference can't be named.
func TestDifferenceToNothing(t *testing.T) {
	spec := &workv1.ManifestWorkSpec{}
	for _, pair := range [][2]*workv1.ManifestWorkSpec{{nil, spec}, {spec, nil}, {nil, nil}} {
		if found := FirstDifference(pair[0], pair[1]); found != "" {
			t.Errorf("%q", found)
		}
	}
}
