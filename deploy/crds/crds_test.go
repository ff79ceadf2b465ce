package crds

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	upstreamModule  = "open-cluster-management.io/api"
	upstreamVersion = "v1.3.0"
	upstreamFile    = "work/v1alpha1/0000_00_work.open-cluster-management.io_manifestworkreplicasets.crd.yaml"
)

// added lists all facts that our CRD has and upstream's does not. An administrator gets these by replacing upstream's CRD, and loses them
// by returning to it.
var added = []string{
	`additionalPrinterColumns[10]: {"jsonPath":".metadata.creationTimestamp","name":"Age","type":"date"}`,
	`additionalPrinterColumns[4]: {"description":"Hash of the stable revision","jsonPath":".status.currentRevision","name":"Current","type":"string"}`,
	`additionalPrinterColumns[5]: {"description":"Hash of the revision of the template in the spec","jsonPath":".status.updateRevision","name":"Update","type":"string"}`,
	`additionalPrinterColumns[6]: {"description":"Clusters that succeeded at the update revision","jsonPath":".status.summary.updated","name":"Updated","type":"integer"}`,
	`additionalPrinterColumns[7]: {"description":"Selected clusters","jsonPath":".status.summary.desiredTotal","name":"Desired","type":"integer"}`,
	`additionalPrinterColumns[8]: {"description":"Progress of the rollout","jsonPath":".status.conditions[?(@.type==\"PlacementRolledOut\")].reason","name":"RolledOut","type":"string"}`,
	`additionalPrinterColumns[9]: {"description":"State of the object","jsonPath":".status.state","name":"State","type":"string"}`,
	`spec.abortedRevisionPolicy enum "Hold"`,
	`spec.abortedRevisionPolicy enum "Retry"`,
	`spec.abortedRevisionPolicy type: "string"`,
	`spec.paused type: "boolean"`,
	`spec.placementRefs maxItems: 64`,
	`spec.placementRefs[].rolloutStrategy.failureStrategy enum "AbortAll"`,
	`spec.placementRefs[].rolloutStrategy.failureStrategy enum "ReportAbort"`,
	`spec.placementRefs[].rolloutStrategy.failureStrategy type: "string"`,
	`spec.placementRefs[].rolloutStrategy.groups maxItems: 16`,
	`spec.placementRefs[].rolloutStrategy.groups type: "array"`,
	`spec.placementRefs[].rolloutStrategy.groups x-kubernetes-list-type: "atomic"`,
	`spec.placementRefs[].rolloutStrategy.groups[] type: "object"`,
	`spec.placementRefs[].rolloutStrategy.groups[] x-kubernetes-validations: [{"message":"set either groupName or groupIndex","rule":"has(self.groupName) != has(self.groupIndex)"}]`,
	`spec.placementRefs[].rolloutStrategy.groups[].approval enum "Required"`,
	`spec.placementRefs[].rolloutStrategy.groups[].approval type: "string"`,
	`spec.placementRefs[].rolloutStrategy.groups[].bakeTime maxLength: 64`,
	`spec.placementRefs[].rolloutStrategy.groups[].bakeTime pattern: "^(0|([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+)$"`,
	`spec.placementRefs[].rolloutStrategy.groups[].bakeTime type: "string"`,
	`spec.placementRefs[].rolloutStrategy.groups[].bakeTime x-kubernetes-validations: [{"message":"use a duration from 0s to 720h (30 days), such as 30m or 2h","rule":"duration(self) <= duration('720h')"}]`,
	`spec.placementRefs[].rolloutStrategy.groups[].groupIndex format: "int32"`,
	`spec.placementRefs[].rolloutStrategy.groups[].groupIndex minimum: 0`,
	`spec.placementRefs[].rolloutStrategy.groups[].groupIndex type: "integer"`,
	`spec.placementRefs[].rolloutStrategy.groups[].groupName maxLength: 63`,
	`spec.placementRefs[].rolloutStrategy.groups[].groupName minLength: 1`,
	`spec.placementRefs[].rolloutStrategy.groups[].groupName type: "string"`,
	`spec.placementRefs[].rolloutStrategy.groups[].maxConcurrency anyOf: [{"type":"integer"},{"type":"string"}]`,
	`spec.placementRefs[].rolloutStrategy.groups[].maxConcurrency pattern: "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$"`,
	`spec.placementRefs[].rolloutStrategy.groups[].maxConcurrency x-kubernetes-int-or-string: true`,
	`spec.placementRefs[].rolloutStrategy.groups[].maxFailures anyOf: [{"type":"integer"},{"type":"string"}]`,
	`spec.placementRefs[].rolloutStrategy.groups[].maxFailures pattern: "^((100|[0-9]{1,2})%|[0-9]+)$"`,
	`spec.placementRefs[].rolloutStrategy.groups[].maxFailures x-kubernetes-int-or-string: true`,
	`spec.placementRefs[].rolloutStrategy.successGates maxItems: 8`,
	`spec.placementRefs[].rolloutStrategy.successGates type: "array"`,
	`spec.placementRefs[].rolloutStrategy.successGates x-kubernetes-list-map-keys: ["conditionType"]`,
	`spec.placementRefs[].rolloutStrategy.successGates x-kubernetes-list-type: "map"`,
	`spec.placementRefs[].rolloutStrategy.successGates[] required "conditionType"`,
	`spec.placementRefs[].rolloutStrategy.successGates[] type: "object"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].conditionType maxLength: 316`,
	`spec.placementRefs[].rolloutStrategy.successGates[].conditionType minLength: 1`,
	`spec.placementRefs[].rolloutStrategy.successGates[].conditionType pattern: "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])$"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].conditionType type: "string"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].groups maxItems: 64`,
	`spec.placementRefs[].rolloutStrategy.successGates[].groups type: "array"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].groups x-kubernetes-list-type: "set"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].groups[] maxLength: 63`,
	`spec.placementRefs[].rolloutStrategy.successGates[].groups[] type: "string"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].mode enum "Enforce"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].mode enum "Report"`,
	`spec.placementRefs[].rolloutStrategy.successGates[].mode type: "string"`,
	`spec.placementRefs[].rolloutStrategy.unavailableClusters enum "Count"`,
	`spec.placementRefs[].rolloutStrategy.unavailableClusters enum "Skip"`,
	`spec.placementRefs[].rolloutStrategy.unavailableClusters type: "string"`,
	`spec.preserveResourcesOnDeletion type: "boolean"`,
	`spec.pruneStrategy enum "Immediate"`,
	`spec.pruneStrategy enum "WhenAvailable"`,
	`spec.pruneStrategy type: "string"`,
	`spec.revisionHistoryLimit default: 10`,
	`spec.revisionHistoryLimit format: "int32"`,
	`spec.revisionHistoryLimit maximum: 100`,
	`spec.revisionHistoryLimit minimum: 0`,
	`spec.revisionHistoryLimit type: "integer"`,
	`spec.rollbackWindow type: "object"`,
	`spec.rollbackWindow.revisions format: "int32"`,
	`spec.rollbackWindow.revisions maximum: 100`,
	`spec.rollbackWindow.revisions minimum: 0`,
	`spec.rollbackWindow.revisions type: "integer"`,
	`status default: {"observedGeneration":-1}`,
	`status.abortReason maxLength: 256`,
	`status.abortReason type: "string"`,
	`status.abortedBy maxLength: 256`,
	`status.abortedBy type: "string"`,
	`status.abortedTime format: "date-time"`,
	`status.abortedTime type: "string"`,
	`status.approvals maxItems: 100`,
	`status.approvals type: "array"`,
	`status.approvals x-kubernetes-list-map-keys: ["group"]`,
	`status.approvals x-kubernetes-list-type: "map"`,
	`status.approvals[] required "group"`,
	`status.approvals[] required "revision"`,
	`status.approvals[] type: "object"`,
	`status.approvals[].at format: "date-time"`,
	`status.approvals[].at type: "string"`,
	`status.approvals[].by maxLength: 256`,
	`status.approvals[].by type: "string"`,
	`status.approvals[].group maxLength: 63`,
	`status.approvals[].group minLength: 1`,
	`status.approvals[].group type: "string"`,
	`status.approvals[].revision maxLength: 63`,
	`status.approvals[].revision minLength: 1`,
	`status.approvals[].revision type: "string"`,
	`status.awaitingApproval maxItems: 100`,
	`status.awaitingApproval type: "array"`,
	`status.awaitingApproval x-kubernetes-list-type: "set"`,
	`status.awaitingApproval[] type: "string"`,
	"status.away maxItems: 100",
	`status.away type: "array"`,
	`status.away x-kubernetes-list-map-keys: ["cluster"]`,
	`status.away x-kubernetes-list-type: "map"`,
	`status.away[] required "cluster"`,
	`status.away[] type: "object"`,
	`status.away[].cluster type: "string"`,
	`status.away[].placement type: "string"`,
	`status.away[].since format: "date-time"`,
	`status.away[].since type: "string"`,
	`status.away[].skipped type: "boolean"`,
	`status.collisionCount format: "int32"`,
	`status.collisionCount type: "integer"`,
	`status.currentRevision type: "string"`,
	`status.failures maxItems: 100`,
	`status.failures type: "array"`,
	`status.failures x-kubernetes-list-map-keys: ["cluster"]`,
	`status.failures x-kubernetes-list-type: "map"`,
	`status.failures[] required "cluster"`,
	`status.failures[] required "reason"`,
	`status.failures[] required "since"`,
	`status.failures[] type: "object"`,
	`status.failures[].cluster type: "string"`,
	`status.failures[].message type: "string"`,
	`status.failures[].placement type: "string"`,
	`status.failures[].reason type: "string"`,
	`status.failures[].since format: "date-time"`,
	`status.failures[].since type: "string"`,
	"status.held maxItems: 100",
	`status.held type: "array"`,
	`status.held x-kubernetes-list-map-keys: ["cluster"]`,
	`status.held x-kubernetes-list-type: "map"`,
	`status.held[] required "cluster"`,
	`status.held[] type: "object"`,
	`status.held[].cluster type: "string"`,
	`status.held[].placement type: "string"`,
	`status.held[].reason type: "string"`,
	`status.held[].until format: "date-time"`,
	`status.held[].until type: "string"`,
	`status.ledger type: "string"`,
	`status.observedGeneration format: "int64"`,
	`status.observedGeneration type: "integer"`,
	`status.placementSummary[].counted format: "int32"`,
	`status.placementSummary[].counted minimum: 0`,
	`status.placementSummary[].counted type: "integer"`,
	`status.placementSummary[].haltedTime format: "date-time"`,
	`status.placementSummary[].haltedTime type: "string"`,
	`status.placementSummary[].summary.failed type: "integer"`,
	`status.placementSummary[].summary.held type: "integer"`,
	`status.placementSummary[].summary.inFlight type: "integer"`,
	`status.placementSummary[].summary.waiting type: "integer"`,
	`status.rejections maxItems: 100`,
	`status.rejections type: "array"`,
	`status.rejections x-kubernetes-list-map-keys: ["cluster"]`,
	`status.rejections x-kubernetes-list-type: "map"`,
	`status.rejections[] required "cluster"`,
	`status.rejections[] required "reason"`,
	`status.rejections[] required "since"`,
	`status.rejections[] type: "object"`,
	`status.rejections[].cluster type: "string"`,
	`status.rejections[].message type: "string"`,
	`status.rejections[].placement type: "string"`,
	`status.rejections[].reason type: "string"`,
	`status.rejections[].since format: "date-time"`,
	`status.rejections[].since type: "string"`,
	`status.revisions type: "array"`,
	`status.revisions x-kubernetes-list-map-keys: ["name"]`,
	`status.revisions x-kubernetes-list-type: "map"`,
	`status.revisions[] required "clusters"`,
	`status.revisions[] required "hash"`,
	`status.revisions[] required "name"`,
	`status.revisions[] required "revision"`,
	`status.revisions[] required "state"`,
	`status.revisions[] type: "object"`,
	`status.revisions[].abortReason type: "string"`,
	`status.revisions[].abortedTime format: "date-time"`,
	`status.revisions[].abortedTime type: "string"`,
	`status.revisions[].changeCause type: "string"`,
	`status.revisions[].clusters format: "int32"`,
	`status.revisions[].clusters type: "integer"`,
	`status.revisions[].createdBy type: "string"`,
	`status.revisions[].firstRolledOutTime format: "date-time"`,
	`status.revisions[].firstRolledOutTime type: "string"`,
	`status.revisions[].hash type: "string"`,
	`status.revisions[].lastRolledOutTime format: "date-time"`,
	`status.revisions[].lastRolledOutTime type: "string"`,
	`status.revisions[].name type: "string"`,
	`status.revisions[].reachedClusters format: "int32"`,
	`status.revisions[].reachedClusters type: "integer"`,
	`status.revisions[].revision format: "int64"`,
	`status.revisions[].revision type: "integer"`,
	`status.revisions[].state type: "string"`,
	`status.state type: "string"`,
	`status.summary.failed type: "integer"`,
	`status.summary.held type: "integer"`,
	`status.summary.inFlight type: "integer"`,
	`status.summary.waiting type: "integer"`,
	`status.updateRevision type: "string"`,
}

// TestSupersetOfUpstream compares facts, not texts: each field, type, default, enum value, pattern, limit, list type, required field,
// validation rule and printer column of a CRD is one line, and the two sets of lines may differ only by the list above. Descriptions may
// differ.
func TestSupersetOfUpstream(t *testing.T) {
	ours, theirs := facts(t, parse(t, ManifestWorkReplicaSet)), facts(t, upstreamCRD(t))
	if len(theirs) < 200 {
		t.Fatalf("only %d facts found in upstream's CRD: the comparison would prove nothing", len(theirs))
	}

	for _, fact := range slices.Sorted(maps.Keys(theirs)) {
		if !ours[fact] {
			t.Errorf("upstream's CRD has this, and ours does not: %s", fact)
		}
		delete(ours, fact)
	}
	require.Equal(t, added, slices.Sorted(maps.Keys(ours)), "the additions of our CRD to upstream's are not those listed here")
}

// TestAcceptedByAPIServer runs the checks that an API server runs on a CRD when it is created.
func TestAcceptedByAPIServer(t *testing.T) {
	crd := parse(t, ManifestWorkReplicaSet)
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		t.Fatal(err)
	}
	internal.Status.StoredVersions = []string{"v1alpha1"} // The API server sets it before it validates the object.
	for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), internal) {
		t.Error(err)
	}
}

// TestUpstreamObjects shows that the two CRDs treat an object alike: both accept or reject it, with the same defaults and the same pruned
// fields, except for the two defaults that we add.
func TestUpstreamObjects(t *testing.T) {
	ours, theirs := newServer(t, parse(t, ManifestWorkReplicaSet)), newServer(t, upstreamCRD(t))

	for _, verdict := range []string{"accepted", "rejected"} {
		files, err := filepath.Glob(filepath.Join("testdata", verdict, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no samples in testdata/%s: %v", verdict, err)
		}
		for _, file := range files {
			t.Run(verdict+"/"+strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				want, wantErrs := theirs.admit(t, raw)
				if accepted := len(wantErrs) == 0; accepted != (verdict == "accepted") {
					t.Fatalf("the sample is in the wrong folder; the result of upstream's CRD: %v", wantErrs)
				}
				got, gotErrs := ours.admit(t, raw)
				require.Equal(t, messages(wantErrs), messages(gotErrs), "our CRD does not treat this object in the same way")
				if spec, ok := got["spec"].(map[string]any); ok {
					if limit := spec["revisionHistoryLimit"]; limit != int64(10) {
						t.Errorf("revisionHistoryLimit is %v, want the default", limit)
					}
					delete(spec, "revisionHistoryLimit")
				}
				if want["status"] == nil {
					require.Equal(t, map[string]any{"observedGeneration": int64(-1)}, got["status"], "an object without a status")
					delete(got, "status")
				}
				require.Equal(t, want, got, "our CRD stores this object differently")
			})
		}
	}
}

// TestAddedFields shows that the fields that we add are kept and validated.
func TestAddedFields(t *testing.T) {
	server := newServer(t, parse(t, ManifestWorkReplicaSet))
	sample := func(spec, strategy, status string) []byte {
		return fmt.Appendf(nil, `{
			"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
			"metadata": {"name": "web", "namespace": "default"},
			"spec": {"placementRefs": [{"name": "all", "rolloutStrategy": {"type": "All"%s}}], "cascadeDeletionPolicy": "Background",
				"manifestWorkTemplate": {}%s},
			"status": {%s}}`, strategy, spec, status)
	}
	for name, tc := range map[string]struct {
		spec, strategy, status string
		wantErr                string
	}{
		"all set": {
			spec: `, "revisionHistoryLimit": 0, "pruneStrategy": "WhenAvailable"`, strategy: `, "failureStrategy": "AbortAll"`,
			status: `"observedGeneration": 3, "collisionCount": 1, "currentRevision": "a", "updateRevision": "b", "abortedTime": "2026-01-02T03:04:05Z"`,
		},
		"unknown prune strategy":        {spec: `, "pruneStrategy": "Never"`, wantErr: "spec.pruneStrategy"},
		"negative limit":                {spec: `, "revisionHistoryLimit": -1`, wantErr: "spec.revisionHistoryLimit"},
		"largest limit":                 {spec: `, "revisionHistoryLimit": 100`},
		"limit above it":                {spec: `, "revisionHistoryLimit": 101`, wantErr: "spec.revisionHistoryLimit"},
		"unknown failure strategy":      {strategy: `, "failureStrategy": "AbortOne"`, wantErr: "rolloutStrategy.failureStrategy"},
		"empty failure strategy":        {strategy: `, "failureStrategy": ""`, wantErr: "rolloutStrategy.failureStrategy"},
		"not a number for a generation": {status: `"observedGeneration": "3"`, wantErr: "status.observedGeneration"},
		"a revision": {
			spec:   `, "revisionHistoryLimit": 0`,
			status: `"revisions": [{"name": "web-a", "hash": "a", "revision": 2, "state": "Aborted", "clusters": 0, "abortedTime": "2026-01-02T03:04:05Z", "abortReason": "c1 failed"}]`,
		},
		"failures and counts": {
			spec: `, "revisionHistoryLimit": 0, "rollbackWindow": {"revisions": 3}`,
			status: `"state": "Stalled", "summary": {"failed": 1, "waiting": 2, "inFlight": 1},
				"abortedBy": "alice", "abortReason": "leaks memory",
				"failures": [{"cluster": "c1", "placement": "all", "since": "2026-01-02T03:04:05Z", "reason": "Later", "message": "crashes"}],
				"rejections": [{"cluster": "c2", "since": "2026-01-02T03:04:05Z", "reason": "Rejected"}],
				"placementSummary": [{"name": "all", "counted": 5, "haltedTime": "2026-01-02T03:04:05Z", "summary": {"failed": 1}}]`,
		},
		"a failure without a cluster":      {status: `"failures": [{"since": "2026-01-02T03:04:05Z", "reason": "Degraded"}]`, wantErr: "status.failures[0].cluster"},
		"a rollback window below 0":        {spec: `, "rollbackWindow": {"revisions": -1}`, wantErr: "spec.rollbackWindow.revisions"},
		"a rollback window above 100":      {spec: `, "rollbackWindow": {"revisions": 101}`, wantErr: "spec.rollbackWindow.revisions"},
		"an abort reason that is too long": {status: fmt.Sprintf(`"abortReason": %q`, strings.Repeat("x", 257)), wantErr: "status.abortReason"},
		"a state of a later release":       {spec: `, "revisionHistoryLimit": 0`, status: `"revisions": [{"name": "web-a", "hash": "a", "revision": 2, "state": "Later", "clusters": 0}]`},
		"an abort time without a date":     {status: `"abortedTime": "03:04:05"`, wantErr: "status.abortedTime"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := sample(tc.spec, tc.strategy, tc.status)
			got, errs := server.admit(t, raw)
			if tc.wantErr != "" {
				if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), tc.wantErr) {
					t.Fatalf("got the errors %v, want an error about %s", errs, tc.wantErr)
				}
				return
			}
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			require.Equal(t, decode(t, raw), got, "the API server changed it")
		})
	}
}

// TestUnseenObject: for tools that compute a status, an object that no hub has seen is in progress, and not reconciled.
func TestUnseenObject(t *testing.T) {
	server := newServer(t, parse(t, ManifestWorkReplicaSet))
	got, errs := server.admit(t, []byte(`{
		"apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
		"metadata": {"name": "web", "namespace": "default"},
		"spec": {"placementRefs": [{"name": "all"}], "manifestWorkTemplate": {}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	observed, found, err := unstructured.NestedInt64(got, "status", "observedGeneration")
	if observed != -1 || !found || err != nil {
		t.Errorf("status.observedGeneration is %d, %v, %v", observed, found, err)
	}
}
