package manifest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// Unknown is a field that the type of the object does not have. API servers reject or drop it.
type Unknown struct {
	Path *field.Path
	// Hint is the known field with the most similar name; empty if no name is similar.
	Hint string
}

// Unknown returns the unknown fields of a set, except those in its status: that of another release may have more.
func (s *Set) Unknown() []Unknown {
	return unknownIn(nil, s.Object.Object, reflect.TypeFor[workv1alpha1.ManifestWorkReplicaSet]())
}

// unknownIn returns the unknown fields of a value that is decoded as a type. A type with its own decoder, such as a manifest, may have any
// content.
func unknownIn(path *field.Path, value any, of reflect.Type) (found []Unknown) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	switch value := value.(type) {
	case []any:
		if of.Kind() == reflect.Slice {
			for i := range value {
				found = append(found, unknownIn(path.Index(i), value[i], of.Elem())...)
			}
		}
	case map[string]any:
		switch of.Kind() {
		case reflect.Struct:
			return unknownOf(path, value, fieldsOf(of))
		case reflect.Map:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				found = append(found, unknownIn(path.Key(key), value[key], of.Elem())...)
			}
		}
	}
	return found
}

func unknownOf(path *field.Path, values map[string]any, fields map[string]reflect.Type) (found []Unknown) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := path.Child(name)
		of, known := fields[name]
		switch {
		case !known:
			found = append(found, Unknown{Path: at, Hint: nearest(name, slices.Sorted(maps.Keys(fields)))})
		case path != nil || name != "status":
			found = append(found, unknownIn(at, values[name], of)...)
		}
	}
	return found
}

// fieldsOf returns the types of a struct's fields by their names in JSON.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name != "" && name != "-":
			fields[name] = f.Type
		case name == "" && f.Anonymous:
			maps.Copy(fields, fieldsOf(f.Type))
		}
	}
	return fields
}

// maxDistance is the maximum number of edits between a name and its hint.
const maxDistance = 3

// nearest returns the name that takes the fewest edits; empty if that is more than half of the name.
func nearest(name string, names []string) (hint string) {
	least := min(maxDistance, len(name)/2) + 1
	for _, known := range names {
		if abs(len(known)-len(name)) >= least {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(known)); d < least {
			hint, least = known, d
		}
	}
	return hint
}

func abs(n int) int { return max(n, -n) }

// distance returns the number of insertions, deletions and replacements of bytes that make one text of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
