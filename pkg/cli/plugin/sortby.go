package plugin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// sortOrder is the order of a list by a field. Without a field, it is that of the API server.
type sortOrder struct {
	expression string
	path       *jsonpath.JSONPath
	keys       map[*workv1alpha1.ManifestWorkReplicaSet]sortKey
}

// sortKey orders objects by a number, or by a text. A time is a text that has its order.
type sortKey struct {
	number int64
	text   string
}

// newSortOrder returns the order by a JSONPath expression. As in kubectl, braces and the first dot are optional.
func newSortOrder(expression string) (*sortOrder, error) {
	order := &sortOrder{expression: expression, keys: map[*workv1alpha1.ManifestWorkReplicaSet]sortKey{}}
	if expression == "" {
		return order, nil
	}
	field := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(expression, "{"), "}"), ".")
	order.path = jsonpath.New("sort-by").AllowMissingKeys(true)
	if err := order.path.Parse("{." + field + "}"); err != nil {
		return nil, fmt.Errorf("--sort-by %q: %w", expression, err)
	}
	return order, nil
}

// note keeps the key of a row. The whole object has it.
func (s *sortOrder) note(row, set *workv1alpha1.ManifestWorkReplicaSet) {
	if s.path == nil {
		return
	}
	found, err := s.path.FindResults(set)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return
	}
	value := found[0][0]
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	switch {
	case !value.IsValid():
	case value.CanInt():
		s.keys[row] = sortKey{number: value.Int()}
	case value.Kind() == reflect.String:
		s.keys[row] = sortKey{text: value.String()}
	default:
		if text, err := json.Marshal(value.Interface()); err == nil {
			s.keys[row] = sortKey{text: string(text)}
		}
	}
}

// sort sorts the rows. Those without the field come first.
func (s *sortOrder) sort(rows []*workv1alpha1.ManifestWorkReplicaSet) error {
	if s.path != nil && len(rows) > 0 && len(s.keys) == 0 {
		return fmt.Errorf("--sort-by %q: no object has this field", s.expression)
	}
	slices.SortStableFunc(rows, func(a, b *workv1alpha1.ManifestWorkReplicaSet) int {
		return cmp.Or(cmp.Compare(s.keys[a].number, s.keys[b].number), cmp.Compare(s.keys[a].text, s.keys[b].text))
	})
	return nil
}
