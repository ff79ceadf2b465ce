package docs

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// root is the path to the root of the repository.
const root = ".."

// unmarked are the blocks of the README, which have no markers because the README is the first page for readers.
var unmarked = map[string]string{
	"make demo\n": Make,
}

func fenced(t *testing.T) []Block {
	t.Helper()
	blocks, err := Fenced(root)
	require.NoError(t, err)
	require.Greater(t, len(blocks), 20)
	return blocks
}

// Every block of commands is run by test/docs, or has a marker that explains why it is not.
func TestCommandsAreMarked(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	for _, block := range fenced(t) {
		if block.Language != "sh" {
			require.Contains(t, []string{"yaml", "text", "mermaid"}, block.Language, "%s: mark a block as sh, yaml, text or mermaid", block.Where())
			continue
		}
		mark := block.Marker
		if block.Page == "README.md" && mark == "" {
			mark = unmarked[block.Text]
		}
		switch {
		case mark == Make:
			for _, line := range strings.Split(strings.TrimSpace(block.Text), "\n") {
				require.Regexp(t, `^make [a-z-]+`, line, block.Where())
				require.Contains(t, string(makefile), "\n"+strings.Fields(line)[1]+":", "%s: there is no such target", block.Where())
			}
		case mark == RealHub, mark == Run, strings.HasPrefix(mark, Run+": "):
		case block.IsRunOnSandbox():
			require.Equal(t, "docs/tutorial.md", block.Page, "%s: test/sandbox runs the tutorial only", block.Where())
		default:
			t.Errorf("%s: the block before which there is %q needs one of the comments <!-- run -->, <!-- run: name -->, <!-- make -->, <!-- %s --> or <!-- %s -->",
				block.Where(), mark, Sandbox, RealHub)
		}
	}
}

func TestYAMLCanBeRead(t *testing.T) {
	for _, block := range fenced(t) {
		if block.Language == "yaml" {
			var value map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(block.Text), &value), block.Where())
		}
	}
}

var (
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// stable is an anchor that stays when the heading below it changes.
	stable = regexp.MustCompile(`(?m)^<a id="([a-z0-9-]+)"></a>$`)
)

// anchor returns the anchor that GitHub generates for a heading.
func anchor(title string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
	return kept
}

func anchors(page string) []string {
	var found []string
	for _, title := range heading.FindAllStringSubmatch(regexp.MustCompile("(?s)```.*?```").ReplaceAllString(page, ""), -1) {
		found = append(found, anchor(title[1]))
	}
	for _, id := range stable.FindAllStringSubmatch(page, -1) {
		found = append(found, id[1])
	}
	return found
}

// Links lead to existing files and headings.
func TestLinks(t *testing.T) {
	pages, err := Pages(root)
	require.NoError(t, err)
	checked := 0
	for path, page := range pages {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			checked++
			target, fragment, _ := strings.Cut(found[1], "#")
			file := path
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			}
			_, err := os.Stat(filepath.Join(root, file))
			require.NoError(t, err, "%s: the link %s", path, found[1])
			if fragment != "" {
				require.Contains(t, anchors(pages[file]), fragment, "%s: the link %s", path, found[1])
			}
		}
	}
	require.Greater(t, checked, 20)
}

var (
	// drawn matches a line of text in a picture, and styled matches a tag inside it.
	drawn  = regexp.MustCompile(`(?m)^<tspan x="16" dy="20">(.*)</tspan>$`)
	styled = regexp.MustCompile(`<[^>]*>`)
)

// The README's picture shows the output of the plugin, line by line.
func TestThePictureShowsTheScreen(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(root, "docs/images/demo.svg"))
	require.NoError(t, err)
	screen, err := os.ReadFile(filepath.Join(root, "pkg/cli/plugin/testdata/screens/aborted.txt"))
	require.NoError(t, err)
	var shown strings.Builder
	for _, line := range drawn.FindAllStringSubmatch(string(picture), -1) {
		shown.WriteString(strings.TrimRight(html.UnescapeString(styled.ReplaceAllString(line[1], "")), " ") + "\n")
	}
	require.Equal(t, string(screen), shown.String(), "edit the lines of docs/images/demo.svg by hand")
}

// Every page can be found: the README, or a page that can be reached from it, has a link to it.
func TestEveryPageIsLinked(t *testing.T) {
	pages, err := Pages(root)
	require.NoError(t, err)
	reached := []string{"README.md"}
	for i := 0; i < len(reached); i++ {
		for _, found := range link.FindAllStringSubmatch(pages[reached[i]], -1) {
			target, _, _ := strings.Cut(found[1], "#")
			file := filepath.ToSlash(filepath.Join(filepath.Dir(reached[i]), target))
			if _, isPage := pages[file]; isPage && !slices.Contains(reached, file) {
				reached = append(reached, file)
			}
		}
	}
	for path := range pages {
		require.Contains(t, reached, path, "no chain of links leads there from the README")
	}
}

// Lines of prose wrap, so that diffs are readable. Tables, blocks, headings and single long words can't wrap.
func TestProseWraps(t *testing.T) {
	pages, err := Pages(root)
	require.NoError(t, err)
	for path, page := range pages {
		fenced := false
		for i, line := range strings.Split(page, "\n") {
			if fence.MatchString(line) {
				fenced = !fenced
			}
			text := strings.TrimSpace(line)
			if fenced || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "#") || !strings.Contains(text, " ") {
				continue
			}
			require.LessOrEqual(t, utf8.RuneCountInString(line), 120, "%s:%d", path, i+1)
		}
	}
}

// The README has at most 500 words.
func TestReadmeIsShort(t *testing.T) {
	pages, err := Pages(root)
	require.NoError(t, err)
	require.LessOrEqual(t, len(strings.Fields(pages["README.md"])), 500)
}

func TestBlocks(t *testing.T) {
	blocks, err := Blocks("x.md", "a\n\n   <!-- run: it -->\n   ```sh\n   one\n     two\n   ```\n```yaml\na: b\n```\n")
	require.NoError(t, err)
	require.Equal(t, []Block{
		{Page: "x.md", Line: 4, Language: "sh", Marker: "run: it", Text: "one\n  two\n"},
		{Page: "x.md", Line: 8, Language: "yaml", Text: "a: b\n"},
	}, blocks)
	require.True(t, blocks[0].IsRun())
	require.Equal(t, "it", blocks[0].Name())

	_, err = Blocks("x.md", "```sh\nls\n")
	require.ErrorContains(t, err, "x.md:1 is not closed")
}

// The tables in CONTRIBUTING.md have a row for every package that a contributor may look for.
func TestTheHouseHasEveryRoom(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	house, _, _ := strings.Cut(string(content), "\n## Invariants")
	rooms := []string{"deploy", "docs", "hack", ".github", ".ci"}
	for _, floor := range []string{"cmd", "internal", "pkg", "test"} {
		entries, err := os.ReadDir(filepath.Join(root, floor))
		require.NoError(t, err)
		for _, entry := range entries {
			rooms = append(rooms, floor+"/"+entry.Name())
		}
	}
	for _, room := range rooms {
		require.Regexp(t, "(?m)^\\| [^|]*`"+regexp.QuoteMeta(room)+"[/`]", house, "%s is in no row", room)
	}
}
