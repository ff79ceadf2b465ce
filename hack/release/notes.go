package main

import (
	"fmt"
	"strings"
)

// unreleased is the heading of the changes that no release has yet.
const unreleased = "Unreleased"

// section returns the part of CHANGELOG.md about a version: the text below the heading "## v1.2.3" or "## v1.2.3 - <date>".
func section(changelog, version string) (string, error) {
	var found []string
	inside := false
	for line := range strings.Lines(changelog) {
		if title, isHeading := strings.CutPrefix(line, "## "); isHeading {
			name, _, _ := strings.Cut(strings.TrimSpace(title), " ")
			if inside {
				break
			}
			inside = name == version
			continue
		}
		if inside {
			found = append(found, line)
		}
	}
	text := strings.TrimSpace(strings.Join(found, ""))
	if text == "" {
		return "", fmt.Errorf("CHANGELOG.md has no changes under the heading %q: add them, or build without VERSION", "## "+version)
	}
	return text + "\n", nil
}

// artifacts returns the end of the release notes: the image, and a link to the steps that verify it.
func (r *release) artifacts(digest string) string {
	return fmt.Sprintf("\n## Image\n\n```text\n%s\n```\n\n[How to verify the image and the files](%s/blob/%s/docs/releases.md#verify).\n",
		r.reference(digest), source, r.commit)
}
