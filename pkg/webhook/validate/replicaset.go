package validate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/webhook/rule"
)

var (
	templatePath = specPath.Child("manifestWorkTemplate")
	refsPath     = specPath.Child("placementRefs")
)

// ReplicaSet checks a ManifestWorkReplicaSet. old is nil if the object is being created. The objects are not decoded,
// because an object that can't be decoded needs an answer too.
func ReplicaSet(old, object *unstructured.Unstructured, limits Limits) Verdict {
	mwrs, found := inspect(object, limits, manifestProblems)
	var before []problem
	if old != nil && len(found) > 0 {
		_, before = inspect(old, limits, manifestProblemsBefore)
	}
	brought, kept := ratchet(found, before)
	verdict := Verdict{Errors: refusals(brought)}
	if len(brought) > 0 || object.GetDeletionTimestamp() != nil {
		return verdict
	}
	verdict.Warnings = reminders(kept)
	if old == nil || !equality.Semantic.DeepEqual(old.Object["spec"], object.Object["spec"]) {
		verdict.Warnings = append(verdict.Warnings, fewWarnings(append(pauseSurprises(old, mwrs), surprises(old, mwrs, limits)...))...)
	}
	return verdict
}

// manifestCheck is manifestProblems, or manifestProblemsBefore for an older version.
type manifestCheck func(path *field.Path, manifests []workv1.Manifest, limits Limits, name nameOf) []problem

// inspect returns all problems with an object.
func inspect(object *unstructured.Unstructured, limits Limits, manifests manifestCheck) (*workv1alpha1.ManifestWorkReplicaSet, []problem) {
	mwrs, problems, readable := decode(object)
	problems = append(problems, ownerLabelProblems(mwrs, limits)...)
	problems = append(problems, retryProblems(object)...)
	if !readable {
		return mwrs, problems
	}
	problems = append(problems, templateProblems(mwrs, limits, manifests)...)
	problems = append(problems, refProblems(mwrs.Spec.PlacementRefs)...)
	return mwrs, append(problems, historyProblems(mwrs.Spec.RevisionHistoryLimit)...)
}

// historyProblems returns the problem with an invalid number of old revisions to keep.
func historyProblems(keep *int32) []problem {
	remedy := ""
	switch {
	case keep == nil:
	case *keep < 0:
		remedy = "use 0 to keep no old revision, or the number of old revisions to keep"
	case *keep > workv1alpha1.MaxRevisionHistoryLimit:
		remedy = fmt.Sprintf("at most %d old revisions are kept: use a number from 0 to %d, and keep older templates in Git",
			workv1alpha1.MaxRevisionHistoryLimit, workv1alpha1.MaxRevisionHistoryLimit)
	}
	if remedy == "" {
		return nil
	}
	return []problem{inField(field.Invalid(specPath.Child("revisionHistoryLimit"), *keep, remedy))}
}

// ownerLabelProblems returns the problem of a name that is too long to find its works again. A name can't change, so
// only creations are rejected.
func ownerLabelProblems(mwrs *workv1alpha1.ManifestWorkReplicaSet, limits Limits) []problem {
	value := workv1alpha1.OwnerLabelValue(mwrs.Namespace, mwrs.Name)
	if limits.LongNames || len(value) <= workv1alpha1.MaxOwnerLabelLength {
		return nil
	}
	return []problem{inField(rule.LongName.Error(field.NewPath("metadata", "name"),
		workv1alpha1.LabelReplicaSet, value, len(value), workv1alpha1.MaxOwnerLabelLength))}
}

// retryProblems returns the problem of a retry annotation that is not a time.
func retryProblems(object *unstructured.Unstructured) []problem {
	value, asked := object.GetAnnotations()[workv1alpha1.AnnotationRetry]
	if _, err := time.Parse(time.RFC3339, value); !asked || err == nil {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(workv1alpha1.AnnotationRetry)
	return []problem{inField(rule.BadRetry.Error(path, shorten(value)))}
}

func templateProblems(mwrs *workv1alpha1.ManifestWorkReplicaSet, limits Limits, manifests manifestCheck) []problem {
	template := &mwrs.Spec.ManifestWorkTemplate
	problems := manifests(templatePath.Child("workload", "manifests"), template.Workload.Manifests, limits, onCluster)
	problems = append(problems, configProblems(template)...)
	if template.Executor != nil {
		if err := executorError(templatePath.Child("executor"), template.Executor); err != nil {
			problems = append(problems, inField(err))
		}
	}
	return problems
}

func refProblems(refs []workv1alpha1.LocalPlacementReference) []problem {
	var problems []problem
	if len(refs) > workv1alpha1.MaxPlacementRefs {
		problems = append(problems, named("too many placementRefs", tooManyRefs(len(refs))))
		refs = refs[:workv1alpha1.MaxPlacementRefs]
	}
	seen := map[string]int{}
	for i := range refs {
		ref, path := &refs[i], refsPath.Index(i)
		if first, again := seen[ref.Name]; again {
			problems = append(problems, named("placement "+ref.Name,
				rule.SamePlacement.Error(path.Child("name"), shorten(ref.Name), refsPath.Index(first))))
		} else {
			seen[ref.Name] = i
		}
		strategy := path.Child("rolloutStrategy")
		errs := placement.ValidateStrategy(strategy, &ref.RolloutStrategy)
		strategies := []workv1alpha1.FailureStrategy{workv1alpha1.AbortAll, workv1alpha1.ReportAbort}
		if known := ref.RolloutStrategy.FailureStrategy; known != "" && !slices.Contains(strategies, known) {
			errs = append(errs, field.NotSupported(strategy.Child("failureStrategy"), known, strategies))
		}
		for _, err := range errs {
			problems = append(problems, inRef(i, ref.Name, err))
		}
	}
	return problems
}

// tooManyRefs returns the error for too many placementRefs. The hub ignores the surplus ones.
func tooManyRefs(n int) *field.Error {
	return rule.TooManyRefs.Error(refsPath, n, workv1alpha1.MaxPlacementRefs)
}

// inRef returns a problem of the placementRef at an index. The name of the Placement identifies the problem even if the
// refs move.
func inRef(index int, name string, err *field.Error) problem {
	return at(name+strings.TrimPrefix(err.Field, refsPath.Index(index).String()), err)
}
