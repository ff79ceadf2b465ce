package plugin

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// documents returns the ManifestWorkReplicaSets of a file as YAML nodes, in order. It stops at the first document that it can't read.
func documents(content []byte) (sets []*yaml.Node) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		document := &yaml.Node{}
		if decoder.Decode(document) != nil {
			return sets
		}
		if len(document.Content) != 1 {
			continue
		}
		root := document.Content[0]
		_, kind := child(root, "kind")
		_, apiVersion := child(root, "apiVersion")
		if kind != nil && apiVersion != nil && kind.Value == workv1alpha1.ManifestWorkReplicaSetKind.Kind &&
			strings.HasPrefix(apiVersion.Value, workv1alpha1.GroupName+"/") {
			sets = append(sets, root)
		}
	}
}

// lineOf returns the line of a field, or the line of its nearest parent in the file.
func lineOf(node *yaml.Node, field string) int {
	line := node.Line
	for _, step := range steps(field) {
		at, next := child(node, step)
		if next == nil {
			break
		}
		line, node = at, next
	}
	return line
}

// child returns the line and the value of an entry of a map or a list. The value is nil if there is no such entry.
func child(node *yaml.Node, step string) (int, *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value == step {
				return key.Line, node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i].Line, node.Content[i]
		}
	}
	return 0, nil
}

// steps returns the elements of a field path: "a.b[0][x.y]" has the elements a, b, 0 and x.y.
func steps(field string) (elements []string) {
	for field != "" {
		if rest, isKey := strings.CutPrefix(field, "["); isKey {
			key, after, _ := strings.Cut(rest, "]")
			elements, field = append(elements, key), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			return append(elements, field)
		}
		elements, field = append(elements, field[:end]), strings.TrimPrefix(field[end:], ".")
	}
	return elements
}
