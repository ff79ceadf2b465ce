// Package mask hides the values of Secrets in two versions of an object, so that their difference can be shown.
package mask

import (
	"reflect"
	"regexp"
)

// Pair returns two versions of an object whose Secrets are masked, at any depth. Different values have different masks.
func Pair(before, after map[string]any) (maskedBefore, maskedAfter map[string]any) {
	if before != nil {
		maskedBefore, _ = side("before").value(before, after, false).(map[string]any)
	}
	if after != nil {
		maskedAfter, _ = side("after").value(after, before, false).(map[string]any)
	}
	return maskedBefore, maskedAfter
}

const (
	secretKind     = "Secret"
	secretListKind = "SecretList"
	hidden         = "***"
)

// embedded matches a text that contains a Secret as YAML or JSON, at any level of quoting: a file in a ConfigMap, or kubectl's record of
// the last applied configuration.
var embedded = regexp.MustCompile(`\bkind\\*["']?\s*:\s*\\*["']?(Secret|SecretList)\b`)

// side is one of the two versions.
type side string

// value returns a value of this version without the values of Secrets. other is the value at the same path in the other version. The items
// of a SecretList are Secrets without a kind.
func (s side) value(value, other any, isSecret bool) any {
	switch v := value.(type) {
	case map[string]any:
		theirs, _ := other.(map[string]any)
		if isSecret || v["kind"] == secretKind {
			return s.secret(v, theirs)
		}
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = s.value(child, theirs[key], key == "items" && v["kind"] == secretListKind)
		}
		return out
	case []any:
		theirs, _ := other.([]any)
		out := make([]any, len(v))
		for i, child := range v {
			var their any
			if i < len(theirs) {
				their = theirs[i]
			}
			out[i] = s.value(child, their, isSecret)
		}
		return out
	case string:
		if isSecret || embedded.MatchString(v) {
			return s.mask(v, other)
		}
	}
	return value
}

// secret returns a Secret with only its identity, its type and the names of its values.
func (s side) secret(secret, other map[string]any) map[string]any {
	out := make(map[string]any, len(secret))
	for key, child := range secret {
		_, isText := child.(string)
		metadata, isMap := child.(map[string]any)
		switch {
		case isText && (key == "apiVersion" || key == "kind" || key == "type"), key == "immutable" && (child == true || child == false):
			out[key] = child
		case isMap && key == "metadata":
			theirs, _ := other[key].(map[string]any)
			out[key] = s.metadata(metadata, theirs)
		default:
			out[key] = s.values(child, other[key])
		}
	}
	return out
}

// metadata returns the metadata of a Secret without the values of its annotations: tools keep copies of the Secret there.
func (s side) metadata(metadata, other map[string]any) map[string]any {
	out := make(map[string]any, len(metadata))
	for key, child := range metadata {
		if key == "annotations" {
			out[key] = s.values(child, other[key])
			continue
		}
		out[key] = s.value(child, other[key], false)
	}
	return out
}

// values masks each value of a map, and any other value as a whole.
func (s side) values(value, other any) any {
	values, isMap := value.(map[string]any)
	if !isMap {
		return s.mask(value, other)
	}
	theirs, _ := other.(map[string]any)
	out := make(map[string]any, len(values))
	for key, child := range values {
		out[key] = s.mask(child, theirs[key])
	}
	return out
}

func (s side) mask(value, other any) any {
	switch {
	case value == nil:
		return nil
	case other == nil, reflect.DeepEqual(value, other):
		return hidden
	}
	return hidden + " (" + string(s) + ")"
}
