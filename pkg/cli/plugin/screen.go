package plugin

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// screen describes the output. The zero value stands for a file or a pipe: no colors, and lines of any length.
type screen struct {
	width, height int
	color         bool
}

// screenOf returns the screen of an output. Colors follow https://no-color.org.
func screenOf(out io.Writer) screen {
	file, ok := plain.Raw(out).(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return screen{}
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return screen{}
	}
	return screen{width: width, height: height, color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// red is the color of alarms, as an ANSI code.
const red = "31"

// colors are the colors of states, as ANSI codes.
var colors = map[view.Level]string{view.LevelGood: "32", view.LevelBusy: "33", view.LevelWarn: "33", view.LevelBad: red}

// prose returns a text after a label, over as many lines as the screen requires. Further lines are indented.
func (s screen) prose(label, text string) string {
	return s.folded(label, text, strings.Fields(text), plain.Width(label), "")
}

// command returns a command line that can be copied from a narrow screen: each line except the last ends with a backslash.
func (s screen) command(indent int, words []string) string {
	return s.folded(strings.Repeat(" ", indent), strings.Join(words, " "), words, indent+2, ` \`)
}

// folded returns a text after a label. If it does not fit on a line, it is broken between its words, and a word that is longer than the
// screen is split.
func (s screen) folded(label, text string, words []string, indent int, mark string) string {
	if s.width <= 0 || plain.Width(label)+plain.Width(text) <= s.width {
		return label + text + "\n"
	}
	var out strings.Builder
	line, margin := label, strings.Repeat(" ", indent)
	room := max(s.width-plain.Width(mark), indent+1)
	for _, word := range words {
		space := " "
		if line == label || line == margin {
			space = ""
		}
		if space != "" && plain.Width(line)+1+plain.Width(word) > room {
			out.WriteString(line + mark + "\n")
			line, space = margin, ""
		}
		for mark == "" && plain.Width(line)+plain.Width(space+word) > room {
			head := firstCells(word, room-plain.Width(line)-plain.Width(space), 1)
			if head == word {
				break // One character is wider than the screen.
			}
			out.WriteString(line + space + head + "\n")
			line, space, word = margin, "", word[len(head):]
		}
		line += space + word
	}
	return out.String() + line + "\n"
}
