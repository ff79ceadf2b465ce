package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Version is a released version of the hub, without build metadata.
type Version struct{ parsed *version.Version }

// ParseVersion returns the version with a name, and whether the name belongs to a release. The name of a development
// build is not a semantic version, or names version 0.0.0.
func ParseVersion(name string) (Version, bool) {
	parsed, err := version.ParseSemantic(name)
	if err != nil || parsed.Major() == 0 && parsed.Minor() == 0 && parsed.Patch() == 0 {
		return Version{}, false
	}
	v := Version{parsed: parsed.WithBuildMetadata("")}
	return v, len(validation.IsQualifiedName(v.annotation())) == 0
}

// String returns the name of the version: v1.2.3, or v1.2.3-rc.1.
func (v Version) String() string { return "v" + v.parsed.String() }

// annotation returns the key of the snapshots of this version.
func (v Version) annotation() string { return workv1alpha1.AnnotationSnapshotPrefix + v.String() }

// precedes reports whether a version is older than another version.
func (v Version) precedes(other Version) bool { return v.parsed.LessThan(other.parsed) }

func (v Version) equals(other Version) bool { return v.parsed.EqualTo(other.parsed) }

// newestFirst orders versions.
func newestFirst(a, b Version) int {
	switch {
	case b.precedes(a):
		return -1
	case a.precedes(b):
		return 1
	}
	return 0
}

// parseList reads a list of versions that are separated by commas. It omits names that do not belong to a release.
func parseList(text string) []Version {
	var found []Version
	for name := range strings.SplitSeq(text, ",") {
		if v, ok := ParseVersion(strings.TrimSpace(name)); ok {
			found = append(found, v)
		}
	}
	return sorted(found)
}

// sorted returns versions without duplicates, the newest first.
func sorted(versions []Version) []Version {
	slices.SortFunc(versions, newestFirst)
	return slices.CompactFunc(versions, Version.equals)
}

func contains(versions []Version, v Version) bool { return slices.ContainsFunc(versions, v.equals) }

func join(versions []Version, separator string) string {
	names := make([]string, 0, len(versions))
	for _, v := range versions {
		names = append(names, v.String())
	}
	return strings.Join(names, separator)
}
