// Package manifest reads the ManifestWorkReplicaSets of a file as kubectl does, but with limits: the file may come from an untrusted pull
// request.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

const (
	// maxFile bounds a file with any number of documents.
	maxFile = 64 << 20
	// maxDocument bounds a document, before and after its aliases are expanded. The API server accepts no larger request.
	maxDocument = 3 << 20
)

// Set is a ManifestWorkReplicaSet of a file.
type Set struct {
	// Object has the unchanged content of the file.
	Object *unstructured.Unstructured
	// node is the same content with its line numbers; nil if they are unknown. before is the number of lines before the document.
	node   *yamlv3.Node
	before int
}

// Name returns the namespace and the name of the object.
func (s *Set) Name() string { return s.Object.GetNamespace() + "/" + s.Object.GetName() }

// Decoded returns the object as its type. It ignores unknown fields.
func (s *Set) Decoded() (*workv1alpha1.ManifestWorkReplicaSet, error) {
	set := &workv1alpha1.ManifestWorkReplicaSet{}
	return set, runtime.DefaultUnstructuredConverter.FromUnstructured(s.Object.Object, set)
}

// Unknown returns the paths of the fields that a ManifestWorkReplicaSet does not have. It ignores the status, which may have more fields in
// another release. It returns no paths if the object can't be decoded.
func (s *Set) Unknown() (paths []string) {
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(s.Object.Object, &workv1alpha1.ManifestWorkReplicaSet{}, true)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if !isStrict {
		return nil
	}
	for _, problem := range strict.Errors() {
		path, isUnknown := strings.CutPrefix(problem.Error(), `unknown field "`)
		if isUnknown && !strings.HasPrefix(path, "status.") {
			paths = append(paths, strings.TrimSuffix(path, `"`))
		}
	}
	slices.Sort(paths)
	return paths
}

// BrokenError is the error about a document that can't be read. The documents after it can still be read.
type BrokenError struct {
	// Line is the line of the error if it is known, or else the first line of the document.
	Line int
	Err  error
}

func (e *BrokenError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Sets returns the ManifestWorkReplicaSets of a file, including those in Lists. It skips other objects. An error about one document is a
// BrokenError; any other error ends the sequence.
func Sets(in io.Reader) iter.Seq2[*Set, error] {
	return func(yield func(*Set, error) bool) {
		content, err := io.ReadAll(io.LimitReader(in, maxFile+1))
		if err == nil && len(content) > maxFile {
			err = fmt.Errorf("the file is larger than %d MiB: split it", maxFile>>20)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, document := range separated(content) {
			if document.misplaced != nil && !yield(nil, document.misplaced) {
				return
			}
			found, err := document.sets()
			if err != nil && !yield(nil, err) {
				return
			}
			for _, set := range found {
				if !yield(set, nil) {
					return
				}
			}
		}
	}
}

// document is a part of a file. before is the number of lines before it, and misplaced is the error about content in its first separator.
type document struct {
	text      []byte
	before    int
	misplaced error
}

// yamlLine matches the line in an error of a YAML parser.
var yamlLine = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:line (\d+): )?`)

func (d *document) broken(err error) *BrokenError {
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		line, _ := strconv.Atoi(found[1])
		return &BrokenError{Line: d.before + max(1, line), Err: errors.New(err.Error()[len(found[0]):])}
	}
	return &BrokenError{Line: d.before + 1, Err: err}
}

// separated splits a file at the lines that begin with ---, as kubectl does.
func separated(content []byte) []*document {
	documents, number, begin, end := []*document{{}}, 0, 0, 0
	for line := range bytes.Lines(content) {
		number, end = number+1, end+len(line)
		after, separates := bytes.CutPrefix(line, []byte("---"))
		if !separates {
			documents[len(documents)-1].text = content[begin:end]
			continue
		}
		begin = end
		next := &document{before: number}
		if rest := bytes.TrimSpace(after); len(rest) > 0 && rest[0] != '#' {
			next.misplaced = &BrokenError{Line: number, Err: errors.New("only a comment may follow the separator ---")}
		}
		documents = append(documents, next)
	}
	return documents
}

// sets returns the ManifestWorkReplicaSets of a document.
func (d *document) sets() ([]*Set, error) {
	if len(bytes.TrimSpace(d.text)) == 0 {
		return nil, nil
	}
	if len(d.text) > maxDocument {
		return nil, d.broken(fmt.Errorf("the document is larger than %d MiB", maxDocument>>20))
	}
	isJSON := json.Valid(d.text)
	node, err := d.parse(isJSON)
	if err != nil || node == nil {
		return nil, err
	}
	content := map[string]any{}
	unmarshal := yaml.Unmarshal
	if isJSON {
		unmarshal = utiljson.Unmarshal
	}
	if err := unmarshal(d.text, &content); err != nil {
		return nil, d.broken(err)
	}
	object := &unstructured.Unstructured{Object: content}
	found := appendSet(nil, &Set{Object: object, node: node, before: d.before})
	if items, isList := content["items"].([]any); isList {
		_, list := child(node, "items")
		for i := range items {
			if item, isObject := items[i].(map[string]any); isObject {
				set := &Set{Object: &unstructured.Unstructured{Object: item}, before: d.before}
				if list != nil {
					_, set.node = child(list, strconv.Itoa(i))
				}
				found = appendSet(found, set)
			}
		}
	}
	return found, nil
}

func appendSet(sets []*Set, s *Set) []*Set {
	if gvk := s.Object.GroupVersionKind(); gvk.Group != workv1alpha1.GroupName || gvk.Kind != workv1alpha1.ManifestWorkReplicaSetKind.Kind {
		return sets
	}
	return append(sets, s)
}

// parse returns the object of a document with its line numbers; nil if the document is empty. It returns an error if the document is too
// large when its aliases are expanded.
func (d *document) parse(isJSON bool) (*yamlv3.Node, error) {
	root, decoder := &yamlv3.Node{}, yamlv3.NewDecoder(bytes.NewReader(d.text))
	switch err := decoder.Decode(root); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil && isJSON:
		return &yamlv3.Node{Line: 1}, nil // JSON is almost always YAML, too. If it is not, the lines are unknown.
	case err != nil:
		return nil, d.broken(err)
	case !errors.Is(decoder.Decode(&yamlv3.Node{}), io.EOF):
		return nil, d.broken(errors.New("more content follows the end of the document: put --- between documents"))
	case len(root.Content) == 0 || root.Content[0].Tag == "!!null":
		return nil, nil
	case root.Content[0].Kind != yamlv3.MappingNode:
		return nil, d.broken(errors.New("the document is not an object"))
	}
	if left := without(root.Content[0], maxDocument, map[*yamlv3.Node]bool{}); left < 0 {
		return nil, d.broken(fmt.Errorf("the document is larger than %d MiB with its YAML aliases expanded: use fewer aliases", maxDocument>>20))
	}
	return root.Content[0], nil
}

// nodeSize is the size of a node without its text.
const nodeSize = 2

// without subtracts the size of a node with its aliases expanded from a size. The result is negative if the node is larger, or if an alias
// is inside its own anchor.
func without(n *yamlv3.Node, left int, inside map[*yamlv3.Node]bool) int {
	if n.Kind == yamlv3.AliasNode {
		if inside[n.Alias] {
			return -1
		}
		inside[n.Alias] = true
		defer delete(inside, n.Alias)
		n = n.Alias
	}
	left -= len(n.Value) + nodeSize
	for i := 0; i < len(n.Content) && left >= 0; i++ {
		left = without(n.Content[i], left, inside)
	}
	return left
}
