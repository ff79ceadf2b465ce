// Package hostiletest fills objects with texts that attack a terminal, a log of a CI system or a reader, and finds the remains of these
// texts in an output.
package hostiletest

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Text forges lines and commands, writes to the clipboard of a terminal, and hides and reorders the text that follows.
const Text = "'\"\n::error::forged\nForged  it\x1b]52;c;aGk=\x07\x1b[2J\u009b31m\r\u202e\u2066\u200b\ufeff\u2028\u2029\u00ad$(id)`id`;##[error]|"

// Fill appends Text to every string in an object, and to the keys and values of every map. It sets nil pointers, and adds an entry to empty
// lists and maps. It does not change fields whose path in Go matches keep, such as Status.Failures.Cluster.
func Fill(object any, keep *regexp.Regexp) {
	fill(reflect.ValueOf(object).Elem(), "", keep)
}

// Paths returns the paths of all strings in an object.
func Paths(object any) (paths []string) {
	visit(reflect.ValueOf(object).Elem(), "", func(path string, _ reflect.Value) { paths = append(paths, path) })
	return paths
}

func fill(v reflect.Value, path string, keep *regexp.Regexp) {
	visit(v, path, func(path string, text reflect.Value) {
		if !keep.MatchString(path) {
			text.SetString(text.String() + Text)
		}
	})
}

// visit calls a function for each string. It skips fields that only the API server writes, and the bytes of manifests.
func visit(v reflect.Value, path string, text func(string, reflect.Value)) {
	if _, isTime := v.Interface().(time.Time); isTime || strings.HasSuffix(path, "ManagedFields") {
		return
	}
	switch v.Kind() {
	case reflect.String:
		text(path, v)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		visit(v.Elem(), path, text)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				visit(v.Field(i), strings.TrimPrefix(path+"."+field.Name, "."), text)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			visit(v.Index(i), path, text)
		}
	case reflect.Map:
		visitMap(v, path, text)
	}
}

func visitMap(v reflect.Value, path string, text func(string, reflect.Value)) {
	if v.Type().Key().Kind() != reflect.String || v.Type().Elem().Kind() != reflect.String {
		return
	}
	filled := reflect.MakeMap(v.Type())
	entry := func(key, value reflect.Value) {
		newKey, newValue := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		newKey.Set(key)
		newValue.Set(value)
		text(path+"[]", newKey)
		text(path+"["+key.String()+"]", newValue)
		filled.SetMapIndex(newKey, newValue)
	}
	for each := v.MapRange(); each.Next(); {
		entry(each.Key(), each.Value())
	}
	entry(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	v.Set(filled)
}

// Check fails a test if an output has a character that a terminal interprets or hides, or a line that Text forged.
func Check(tb testing.TB, what, output string) {
	tb.Helper()
	for _, r := range output {
		if r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar) {
			tb.Errorf("%s: has %U:\n%q", what, r, output)
			return
		}
	}
	for line := range strings.Lines(output) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.HasPrefix(line, "Forged") {
			tb.Errorf("%s: has a forged line %q:\n%s", what, line, output)
			return
		}
	}
}

// FillOne appends Text to the strings at one path.
func FillOne(object any, path string) {
	visit(reflect.ValueOf(object).Elem(), "", func(at string, text reflect.Value) {
		if at == path {
			text.SetString(text.String() + Text)
		}
	})
}
