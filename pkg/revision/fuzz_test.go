package revision

import (
	"strings"
	"testing"
	"time"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// FuzzDecode: a revision with any content can be read, or the error gives the reason.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{`, `[]`, `{"spec":null}`, `{"spec":{"manifestWorkTemplate":{}}}`,
		`{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[` + configMap + `,null,7,{"n":1.0,"m":-0.0,"big":1e400}]}}}}`,
		`{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[` + configMap + `]},"deleteOption":{},"manifestConfigs":[{},{"updateStrategy":{"serverSideApply":{"ignoreFields":[{}]}}}]}}}`,
		`{"spec":{"manifestWorkTemplate":{"workload":{"manifests":[{"metadata":null,"items":[{"metadata":{"creationTimestamp":null}}]}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var rev Revision
		budget.Within(t, 20*time.Second, 16<<20+1000*uint64(len(data)), func() { rev = stored(t, "abc", 1, holding(string(data))) })
		if (rev.Err == nil) != (rev.Template != nil) || (rev.Err == nil) != (rev.Digest != "") {
			t.Fatalf("half read: %+v", rev)
		}
		if rev.Err != nil {
			return
		}
		again, err := New(owner(), rev.Template, "abc", 1)
		if err != nil {
			t.Fatal(err)
		}
		if second := Decode(again); second.Digest != rev.Digest {
			t.Fatalf("written and read again it means something else: %v %s", second.Err, FirstDifference(rev.Template, second.Template))
		}
		if difference := FirstDifference(rev.Template, rev.Template); difference != "" {
			t.Fatalf("it differs from itself in %s", difference)
		}
		ComputeHash(rev.Template, nil)
	})
}

// FuzzOwnerLabel: a value that can be parsed is the value that OwnerLabelValue returns for the result.
func FuzzOwnerLabel(f *testing.F) {
	for _, seed := range []string{"", ".", "default.web", "default.web.of.dots", "default", ".web", "default.", "a..b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		namespace, name, ok := workv1alpha1.ParseOwnerLabelValue(value)
		if ok && workv1alpha1.OwnerLabelValue(namespace, name) != value {
			t.Fatalf("%q is taken for %q and %q", value, namespace, name)
		}
	})
}

// FuzzRecord: an unreadable record counts as missing, and a readable record is written back unchanged.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{
		"", "{", `{"began":"yesterday"}`, `{"ended":"2030-01-01T12:00:00.000000001+02:00"}`, `{"reached":-1,"others":{}}`, `{"abort":{"at":"2030-01-01T12:00:00Z"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		rev := stored(t, "abc", 1, annotated(workv1alpha1.AnnotationRecord, value))
		text, err := rev.Encode()
		if err != nil {
			return // JSON can't encode years after 9999.
		}
		again := stored(t, "abc", 1, annotated(workv1alpha1.AnnotationRecord, text))
		if twice, err := again.Encode(); err != nil || twice != text {
			t.Fatalf("%q became %q: %v", text, twice, err)
		}
	})
}

// FuzzReportsDegraded: the search for rules is fast for any number of manifests and manifestConfigs, with any names.
func FuzzReportsDegraded(f *testing.F) {
	f.Add(uint16(4000), uint16(3500), "bbbbbbbb", "*b*b*b*b*z")
	f.Add(uint16(500), uint16(500), "bbbbbbbb", "*b*b*b*b*z")
	f.Add(uint16(4000), uint16(60), "b", strings.Repeat("*", 1000))
	f.Add(uint16(1), uint16(1), "b", "*")
	f.Fuzz(func(t *testing.T, manifests, configs uint16, name, pattern string) {
		manifests, configs = min(manifests, 4000), min(configs, 4000)
		template := crowded(int(manifests), int(configs), name, pattern)
		size := (len(name)+200)*int(manifests) + (len(pattern)+200)*int(configs)
		budget.Within(t, 20*time.Second, 16<<20+100*uint64(size), func() { ReportsDegraded(template) })
	})
}

// FuzzMatchesName: the two ways to compare a pattern with a name agree, and a name matches a copy of itself with stars in it.
func FuzzMatchesName(f *testing.F) {
	for _, seed := range [][2]string{{"*", "a"}, {"a**b", "axb"}, {"*b*b*z", "bbbb"}, {"", ""}, {"é*", "éa"}} {
		f.Add(seed[0], seed[1], 0)
	}
	f.Fuzz(func(t *testing.T, pattern, name string, at int) {
		p := NewPattern("*", pattern)
		var one, other bool
		budget.Within(t, 20*time.Second, 16<<20, func() {
			one, other = MatchesName(pattern, name), p.Matches("a", name, NewComparisons())
		})
		if one != other && len(name) <= maxStarredName {
			t.Fatalf("%q and %q: %v and %v", pattern, name, one, other)
		}
		if at >= 0 && at <= len(name) && !strings.Contains(name, "*") && !MatchesName(name[:at]+"*"+name[at:], name) {
			t.Fatalf("%q with a star at %d does not match", name, at)
		}
	})
}
