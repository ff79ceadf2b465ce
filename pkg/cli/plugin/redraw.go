package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// The minimum time between two screens, and the time after which the ages on a terminal are refreshed. Neither causes a read from the API
// server.
const (
	redrawAfter  = 500 * time.Millisecond
	refreshAfter = time.Second
)

// watchFleet shows a rollout until the context ends.
func (o *options) watchFleet(ctx context.Context, c *clients, name string) error {
	if _, err := c.set(ctx, name); err != nil {
		return err
	}
	f, show := follow(ctx, c, name), o.newCanvas()
	err := errors.Join(o.redraw(ctx, f, show), show.close())
	if errors.Is(err, errDeleted) {
		err = o.sayf("manifestworkreplicasets %q was deleted\n", name)
	}
	return err
}

// redraw draws a screen after each change. A large fleet is drawn less often: drawing takes at most a tenth of the time.
func (o *options) redraw(ctx context.Context, f *follower, show *canvas) error {
	refresh := time.NewTicker(refreshAfter)
	defer refresh.Stop()
	pause := time.After(0)
	due := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
			due = true
		case <-refresh.C:
			due = due || show.terminal
		case <-pause:
			pause = nil
		}
		if ready, err := f.ready(); err != nil {
			return err
		} else if !ready || !due || pause != nil {
			continue
		}
		begin := time.Now()
		if err := o.drawNow(f, show); err != nil {
			return err
		}
		due = false
		pause = time.After(max(redrawAfter, 10*time.Since(begin)))
	}
}

// drawNow draws the objects as the informers have them.
func (o *options) drawNow(f *follower, show *canvas) error {
	objects, err := f.objects(o.now())
	if err != nil {
		return err
	}
	return show.draw(func(body, foot io.Writer, s screen) error { return o.drawFleet(body, foot, view.FleetOf(objects), s) })
}

// canvas shows one screen after the other: in place on a terminal, one below the other in a file. It draws each screen into a buffer
// through the filter of the output. It then writes the buffer and its own control sequences past the filter.
type canvas struct {
	out      io.Writer
	terminal bool
	size     func() screen
	last     string
	// paint draws the last screen; nil before the first one.
	paint painter
}

// painter draws a screen. If the terminal has too few lines, the screen loses lines of its body, and keeps its foot.
type painter func(body, foot io.Writer, s screen) error

func (o *options) newCanvas() *canvas {
	return &canvas{
		out: plain.Raw(o.Out), size: func() screen { return screenOf(o.Out) },
		terminal: screenOf(o.Out).width > 0 && os.Getenv("TERM") != "dumb",
	}
}

// The control sequences of the canvas.
const (
	home      = "\x1b[H"
	eraseLine = "\x1b[K"
	eraseRest = "\x1b[J"
)

// draw shows a screen. It writes each screen in one piece, so that the terminal does not flicker. On a terminal, it also draws an unchanged
// screen again: the shell may have written over it, or the user may have changed the size. The earlier content of the terminal scrolls up.
func (c *canvas) draw(paint painter) error {
	var body, foot bytes.Buffer
	size := c.size()
	if err := paint(&body, &foot, size); err != nil {
		return err
	}
	first, text := c.paint == nil, body.String()+foot.String()
	c.paint = paint
	switch {
	case c.terminal:
		text = inPlace(clipped(rowsOf(body.String()), rowsOf(foot.String()), size.height))
		if first {
			text = strings.Repeat("\n", size.height) + text
		}
	case text == c.last:
		return nil
	case !first:
		c.last, text = text, "\n"+text
	default:
		c.last = text
	}
	_, err := io.WriteString(c.out, text)
	return err
}

// inPlace returns rows that overwrite the previous rows. It erases each line before it writes it: at the end of a row that is as wide as
// the terminal, the cursor is still on the last character.
func inPlace(rows []string) string {
	last := max(0, len(rows)-1)
	for i := range rows {
		erase := eraseLine
		if i == last {
			erase = eraseRest
		}
		rows[i] = erase + rows[i]
	}
	return home + strings.Join(rows, "\r\n")
}

// clipped returns as many rows as the terminal has. It omits rows of the body, and a line shows their number. The body keeps a third of the
// screen; the foot has the commands that the reader can type.
func clipped(body, foot []string, height int) []string {
	all := len(body) + len(foot)
	if height <= 1 || all <= height {
		return slices.Concat(body, foot)
	}
	body = body[:min(len(body), max(height-1-len(foot), height/3))]
	foot = foot[:min(len(foot), height-1-len(body))]
	return slices.Concat(body, []string{fmt.Sprintf("… %d more lines", all-len(body)-len(foot))}, foot)
}

// rowsOf returns the lines of a text without their breaks.
func rowsOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// close leaves the whole last screen on the terminal.
func (c *canvas) close() error {
	if !c.terminal || c.paint == nil {
		return nil
	}
	if _, err := io.WriteString(c.out, home+eraseRest); err != nil {
		return err
	}
	return c.paint(c.out, c.out, c.size())
}
