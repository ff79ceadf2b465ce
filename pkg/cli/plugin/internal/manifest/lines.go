package manifest

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Line returns the line of a field in the file, or the line of its nearest parent.
func (s *Set) Line(field string) int {
	if s.node == nil {
		return s.before + 1
	}
	line, node := s.node.Line, s.node
	for _, step := range steps(field) {
		at, next := child(node, step)
		if next == nil {
			break
		}
		line, node = at, next
	}
	return s.before + line
}

// child returns the line and the value of an entry of a map or a list. The value is nil if there is no such entry.
func child(node *yamlv3.Node, step string) (int, *yamlv3.Node) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value == step {
				return key.Line, node.Content[i+1]
			}
		}
	case yamlv3.SequenceNode:
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
