// Package window reads the windows in which rollouts may start on a cluster, such as "Europe/Berlin Mon-Fri 22:00-05:00".
package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // The image of the hub has no time zone database.
)

// MaxText is the maximum length of the text of all windows of a cluster, in bytes. MaxWindows is the maximum number of windows.
const (
	MaxText    = 1024
	MaxWindows = 16
)

// Windows are the windows of a cluster. They are open if at least one window is open.
type Windows []Window

// Window is open each week from one time of day to another.
type Window struct {
	zone *time.Location
	days [7]bool
	// from and to are minutes after midnight. If to is not after from, the window ends on the next day.
	from, to int
}

// Parse reads windows that are separated by semicolons. Each is a time zone, optionally some days, and the times: without days, the window
// opens every day.
func Parse(text string) (Windows, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("it has %d bytes; the maximum is %d", len(text), MaxText)
	}
	parts := strings.Split(text, ";")
	if len(parts) > MaxWindows {
		return nil, fmt.Errorf("it has %d windows; the maximum is %d", len(parts), MaxWindows)
	}
	var windows Windows
	for _, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		parsed, err := parse(strings.Fields(part))
		if err != nil {
			return nil, err
		}
		windows = append(windows, parsed)
	}
	if len(windows) == 0 {
		return nil, errors.New("it is empty")
	}
	return windows, nil
}

func parse(fields []string) (w Window, err error) {
	if len(fields) < 2 || len(fields) > 3 {
		return w, errors.New(`a window is a time zone, days and times, such as "Europe/Berlin Mon-Fri 22:00-05:00"`)
	}
	if w.zone, err = time.LoadLocation(fields[0]); err != nil || fields[0] == "Local" {
		return w, fmt.Errorf("%s is not a time zone: use a name such as UTC or Europe/Berlin", quoted(fields[0]))
	}
	w.days = [7]bool{true, true, true, true, true, true, true}
	if len(fields) == 3 {
		if w.days, err = parseDays(fields[1]); err != nil {
			return w, err
		}
	}
	times := fields[len(fields)-1]
	from, to, found := strings.Cut(times, "-")
	var ok, okTo bool
	w.from, ok = parseMinutes(from)
	w.to, okTo = parseMinutes(to)
	if !found || !ok || !okTo || w.from == w.to || w.from == day {
		return w, fmt.Errorf("%s: not a valid time range; use, for example, 22:00-05:00, or 00:00-24:00 for the whole day", quoted(times))
	}
	return w, nil
}

var weekdays = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

func parseDays(text string) (days [7]bool, err error) {
	for item := range strings.SplitSeq(strings.ToLower(text), ",") {
		from, to, isRange := strings.Cut(item, "-")
		if !isRange {
			to = from
		}
		first, known := weekdays[from]
		last, knownTo := weekdays[to]
		if !known || !knownTo {
			return days, fmt.Errorf("%s: not valid days; use, for example, Mon-Fri or Sat,Sun", quoted(text))
		}
		for at := first; ; at = (at + 1) % len(days) {
			days[at] = true
			if at == last {
				break
			}
		}
	}
	return days, nil
}

// day is a day in minutes.
const day = 24 * 60

// parseMinutes reads a time of day as minutes after midnight, between 00:00 and 24:00.
func parseMinutes(text string) (minutes int, ok bool) {
	if len(text) != len("00:00") || text[2] != ':' {
		return 0, false
	}
	hour, errHour := strconv.ParseUint(text[:2], 10, 8)
	minute, errMinute := strconv.ParseUint(text[3:], 10, 8)
	minutes = int(hour)*60 + int(minute) //nolint:gosec // Two digits each.
	return minutes, errHour == nil && errMinute == nil && minute < 60 && minutes <= day
}

// quoted returns the beginning of a text in quotation marks, on one line.
func quoted(text string) string {
	const most = 60
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}

// lookahead is the number of days in which each window opens: one week, or two if the clock skips the window.
const lookahead = 15

// At reports whether the windows are open at a time, and returns the time at which that changes.
func (ws Windows) At(now time.Time) (open bool, changes time.Time) {
	var spans []span
	for i := range ws {
		spans = append(spans, ws[i].spans(now)...)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	for _, s := range spans {
		switch {
		case !s.from.After(now):
			open, changes = true, later(changes, s.to)
		case !open:
			return false, s.from
		case s.from.After(changes):
			return true, changes
		default: // This span begins before the others end.
			changes = later(changes, s.to)
		}
	}
	return open, changes
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// span is a time during which a window is open, without its end.
type span struct{ from, to time.Time }

// spans returns the times during which a window is open in the next two weeks. It omits spans that have ended.
func (w *Window) spans(now time.Time) (found []span) {
	year, month, date := now.In(w.zone).Date()
	for after := -1; after < lookahead; after++ {
		first := time.Date(year, month, date+after, 0, 0, 0, 0, time.UTC)
		if !w.days[first.Weekday()] {
			continue
		}
		to := w.to
		if to <= w.from {
			to += day
		}
		s := span{from: w.local(first, w.from, false), to: w.local(first, to, true)}
		if s.to.After(now) && s.from.Before(s.to) {
			found = append(found, s)
		}
	}
	return found
}

// local returns the time at which a clock in the window's time zone shows the given number of minutes after midnight of a date. If the
// clock shows this time twice, last selects the second occurrence. If the clock skips it, local returns the time at which the clock is put
// forward.
func (w *Window) local(date time.Time, minutes int, last bool) time.Time {
	shown := date.Add(time.Duration(minutes) * time.Minute) // In UTC.
	at := func(near time.Time) time.Time {
		_, offset := near.In(w.zone).Zone()
		return shown.Add(-time.Duration(offset) * time.Second)
	}
	shows := func(t time.Time) bool {
		_, offset := t.In(w.zone).Zone()
		return t.Add(time.Duration(offset) * time.Second).Equal(shown)
	}
	before, after := at(shown.Add(-day*time.Minute)), at(shown.Add(day*time.Minute))
	if before.After(after) {
		before, after = after, before
	}
	switch {
	case shows(before) && (!last || !shows(after)):
		return before
	case shows(after):
		return after
	}
	skipped, _ := after.In(w.zone).ZoneBounds()
	return skipped
}
