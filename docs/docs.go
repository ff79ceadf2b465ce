// Package docs reads the pages of the documentation, so that tests can check them. Every command of a page is run by a
// test, or marked as a command that needs a real hub.
package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	// Page is the path of its file, under the root of the repository; Line is the line of its opening fence.
	Page string
	Line int
	// Language is the text after the opening fence.
	Language string
	// Marker is the comment before it, without its brackets; empty for none.
	Marker string
	Text   string
}

// Markers of a block, in a comment on the line before it.
const (
	// Run is a block that test/docs runs. "run: name" has checks of that name there.
	Run = "run"
	// Sandbox is a block that test/sandbox runs. "run on a sandbox: name" has a check of that name there, and "run on a sandbox: exit 3"
	// fails with that exit code.
	Sandbox = "run on a sandbox"
	// Make is a block that calls targets of the Makefile and nothing else.
	Make = "make"
	// Foreign is an object of a tool that no test runs: it is parsed, but not sent to an API server.
	Foreign = "of another tool"
	// RealHub is a block that only a real hub, or a container engine, can run.
	RealHub = "needs a real hub"
)

// Name is the text after "run:" or "run on a sandbox:" in the marker; empty for none.
func (b *Block) Name() string {
	_, name, _ := strings.Cut(b.Marker, ": ")
	return name
}

// IsRun reports whether test/docs runs the block.
func (b *Block) IsRun() bool { return b.Marker == Run || strings.HasPrefix(b.Marker, Run+": ") }

// IsRunOnSandbox reports whether test/sandbox runs the block.
func (b *Block) IsRunOnSandbox() bool {
	return b.Marker == Sandbox || strings.HasPrefix(b.Marker, Sandbox+": ")
}

// Where returns the position of the block for messages.
func (b *Block) Where() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

var (
	fence  = regexp.MustCompile("^( *)```(.*)$")
	marker = regexp.MustCompile(`^ *<!-- (.*) -->$`)
)

// Blocks finds the fenced blocks of a page.
func Blocks(page, content string) ([]Block, error) {
	var blocks []Block
	var open *Block
	indent, previous := "", ""
	for i, line := range strings.Split(content, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case found == nil && open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case found == nil:
			previous = line
		case open == nil:
			open = &Block{Page: page, Line: i + 1, Language: found[2]}
			indent = found[1]
			if comment := marker.FindStringSubmatch(previous); comment != nil {
				open.Marker = comment[1]
			}
		default:
			blocks = append(blocks, *open)
			open, previous = nil, ""
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s is not closed: end the block with three backticks", open.Where())
	}
	return blocks, nil
}

// Pages returns every page for readers, by its path under root: the pages in docs/, and the pages that they link to.
func Pages(root string) (map[string]string, error) {
	paths := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			paths = append(paths, filepath.ToSlash(relative))
		}
	}
	pages := make(map[string]string, len(paths))
	for _, path := range paths {
		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, fmt.Errorf("reading a page of the documentation: %w", err)
		}
		pages[path] = string(content)
	}
	return pages, nil
}

// Fenced reads the blocks of every page, in the order of their pages' paths.
func Fenced(root string) ([]Block, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(pages))
	for path := range pages {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var all []Block
	for _, path := range paths {
		blocks, err := Blocks(path, pages[path])
		if err != nil {
			return nil, err
		}
		all = append(all, blocks...)
	}
	return all, nil
}
