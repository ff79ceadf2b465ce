// Package recording runs a command in a terminal and draws its screens as an animated SVG, for the documentation.
//
// A pseudo terminal runs the command, and a terminal emulator turns its output into screens. One screen is kept for each change that lasts
// for at least the sampling interval. Long waits are shortened, so that a reader sees a rollout in half a minute.
package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// Frame is one screen of the terminal.
type Frame struct {
	// At is the time since the first screen.
	At time.Duration
	// Lines are the rows from the top, without empty rows at the end.
	Lines []Line
}

// Line is one row: runs of text with one style each.
type Line []Span

// Span is text of one style that begins at a column, counted from 0.
type Span struct {
	Column int
	Text   string
	Style  Style
}

// Hide removes a text, such as the path of a directory, from all screens.
func Hide(frames []Frame, text string) {
	for _, frame := range frames {
		for _, line := range frame.Lines {
			for i := range line {
				line[i].Text = strings.ReplaceAll(line[i].Text, text, "")
			}
		}
	}
}

// Style is how a text is drawn. A color below 16 is an ANSI color; -1 is the default color.
type Style struct {
	Foreground int
	Bold       bool
}

// boldAttribute is the terminal emulator's bit for bold text, which it does not export.
const boldAttribute = 1 << 2

// Run starts the command in a terminal of that size and returns its screens, sampled once per interval. The exit code of the command must
// be 0.
func Run(ctx context.Context, cmd *exec.Cmd, columns, rows int, interval time.Duration) ([]Frame, error) {
	terminal := vt10x.New(vt10x.WithSize(columns, rows))
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)}) //nolint:gosec // sizes of a screen
	if err != nil {
		return nil, fmt.Errorf("start %s in a terminal: %w", cmd.Path, err)
	}
	defer tty.Close()

	sampler := &sampler{terminal: terminal}
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(terminal, tty)
		read <- err
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), cmd.Process.Kill(), cmd.Wait())
		case <-tick.C:
			sampler.sample()
		case err := <-read:
			// Linux answers EIO when the last process has closed the terminal.
			if err != nil && !errors.Is(err, syscall.EIO) {
				return nil, fmt.Errorf("read the terminal of %s: %w", cmd.Path, err)
			}
			sampler.sample()
			if err := cmd.Wait(); err != nil {
				return nil, fmt.Errorf("%s: %w", cmd.Path, err)
			}
			return sampler.frames, nil
		}
	}
}

// sampler keeps a frame for each screen that differs from the previous one.
type sampler struct {
	terminal vt10x.Terminal
	start    time.Time
	last     string
	frames   []Frame
}

func (s *sampler) sample() {
	text, lines := screen(s.terminal)
	if text == s.last || len(lines) == 0 {
		return
	}
	s.last = text
	if len(s.frames) == 0 {
		s.start = time.Now()
	}
	s.frames = append(s.frames, Frame{At: time.Since(s.start), Lines: lines})
}

// screen reads the terminal: a key that differs for different screens, and the lines.
func screen(terminal vt10x.Terminal) (string, []Line) {
	terminal.Lock()
	defer terminal.Unlock()
	columns, rows := terminal.Size()
	lines := make([]Line, rows)
	used := 0
	for y := range rows {
		lines[y] = row(terminal, y, columns)
		if len(lines[y]) > 0 {
			used = y + 1
		}
	}
	return fmt.Sprint(lines[:used]), lines[:used]
}

// row joins neighboring cells of one style, and drops spaces at the end.
func row(terminal vt10x.Terminal, y, columns int) Line {
	var line Line
	for x := range columns {
		cell := terminal.Cell(x, y)
		r := cell.Char
		if r == 0 {
			r = ' '
		}
		style := styleOf(cell)
		if r == ' ' {
			// A space looks the same in every style: it continues the span before it.
			if len(line) > 0 {
				line[len(line)-1].Text += " "
			}
			continue
		}
		if len(line) == 0 || line[len(line)-1].Style != style {
			line = append(line, Span{Column: x, Style: style})
		}
		line[len(line)-1].Text += string(r)
	}
	return line
}

// styleOf undoes the brightening with which the emulator shows bold text.
func styleOf(cell vt10x.Glyph) Style {
	style := Style{Foreground: -1, Bold: cell.Mode&boldAttribute != 0}
	if cell.FG < 16 {
		style.Foreground = int(cell.FG)
		if style.Bold && style.Foreground >= 8 {
			style.Foreground -= 8
		}
	}
	return style
}
