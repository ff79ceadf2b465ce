package window_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/window"
)

func TestAt(t *testing.T) {
	for name, tc := range map[string]struct {
		windows, now string
		open         bool
		changes      string
	}{
		"open":                   {"UTC Mon-Fri 08:00-18:00", "2026-01-02T12:00:00Z", true, "2026-01-02T18:00:00Z"}, // A Friday.
		"it begins":              {"UTC Mon-Fri 08:00-18:00", "2026-01-02T08:00:00Z", true, "2026-01-02T18:00:00Z"},
		"it ends":                {"UTC Mon-Fri 08:00-18:00", "2026-01-02T18:00:00Z", false, "2026-01-05T08:00:00Z"},
		"before it":              {"UTC Mon-Fri 08:00-18:00", "2026-01-02T07:59:59Z", false, "2026-01-02T08:00:00Z"},
		"past midnight":          {"UTC Fri 22:00-05:00", "2026-01-03T04:00:00Z", true, "2026-01-03T05:00:00Z"},
		"past midnight, later":   {"UTC Fri 22:00-05:00", "2026-01-03T23:00:00Z", false, "2026-01-09T22:00:00Z"},
		"every day":              {"UTC 22:00-05:00", "2026-01-03T23:00:00Z", true, "2026-01-04T05:00:00Z"},
		"a whole day":            {"UTC Sat 00:00-24:00", "2026-01-03T23:00:00Z", true, "2026-01-04T00:00:00Z"},
		"the weekend":            {"UTC Sat,Sun 00:00-24:00", "2026-01-03T23:00:00Z", true, "2026-01-05T00:00:00Z"},
		"days over the weekend":  {"UTC fri-mon 01:00-02:00", "2026-01-03T03:00:00Z", false, "2026-01-04T01:00:00Z"},
		"two overlap":            {"UTC 08:00-12:00; UTC 11:00-14:00;", "2026-01-03T09:00:00Z", true, "2026-01-03T14:00:00Z"},
		"one after the other":    {"UTC 08:00-12:00; UTC 12:00-14:00", "2026-01-03T09:00:00Z", true, "2026-01-03T14:00:00Z"},
		"the next of two":        {"UTC 08:00-12:00; UTC 06:00-07:00", "2026-01-03T07:30:00Z", false, "2026-01-03T08:00:00Z"},
		"another day there":      {"Asia/Tokyo Sun 06:00-07:00", "2026-01-03T21:30:00Z", true, "2026-01-03T22:00:00Z"},
		"in winter":              {"Europe/Berlin Mon-Fri 22:00-05:00", "2026-01-05T20:59:00Z", false, "2026-01-05T21:00:00Z"},
		"in summer":              {"Europe/Berlin Mon-Fri 22:00-05:00", "2026-07-06T19:59:00Z", false, "2026-07-06T20:00:00Z"},
		"over the clock change":  {"Europe/Berlin Sat 22:00-05:00", "2026-03-28T21:30:00Z", true, "2026-03-29T03:00:00Z"},
		"over the other change":  {"Europe/Berlin Sat 22:00-05:00", "2026-10-24T20:30:00Z", true, "2026-10-25T04:00:00Z"},
		"it begins in the gap":   {"Europe/Berlin Sun 02:30-04:00", "2026-03-29T00:59:00Z", false, "2026-03-29T01:00:00Z"},
		"it ends in the gap":     {"Europe/Berlin Sun 01:00-02:30", "2026-03-29T00:59:00Z", true, "2026-03-29T01:00:00Z"},
		"the gap skips it":       {"Europe/Berlin Sun 02:15-02:45", "2026-03-29T00:59:00Z", false, "2026-04-05T00:15:00Z"},
		"it begins twice":        {"Europe/Berlin Sun 02:30-04:00", "2026-10-25T00:15:00Z", false, "2026-10-25T00:30:00Z"},
		"it ends twice":          {"Europe/Berlin Sun 01:00-02:30", "2026-10-25T00:45:00Z", true, "2026-10-25T01:30:00Z"},
		"half an hour of change": {"Australia/Lord_Howe 02:00-02:10", "2026-10-03T15:29:00Z", false, "2026-10-04T15:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			windows, err := window.Parse(tc.windows)
			require.NoError(t, err)
			now, err := time.Parse(time.RFC3339, tc.now)
			require.NoError(t, err)
			open, changes := windows.At(now)
			require.Equal(t, tc.open, open)
			require.Equal(t, tc.changes, changes.UTC().Format(time.RFC3339))
		})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "it is empty",
		" ; ":                                  "it is empty",
		"22:00-05:00":                          "a window is a time zone, days and times",
		"UTC Mon Tue 22:00-05:00":              "a window is a time zone, days and times",
		"Mars/Olympus 22:00-05:00":             `"Mars/Olympus" is not a time zone`,
		"Local 22:00-05:00":                    `"Local" is not a time zone`,
		"../etc 22:00-05:00":                   `"../etc" is not a time zone`,
		"UTC Mo 22:00-05:00":                   `"Mo": not valid days`,
		"UTC Mon- 22:00-05:00":                 `"Mon-": not valid days`,
		"UTC 22-05":                            `"22-05": not a valid time range`,
		"UTC 24:00-05:00":                      `"24:00-05:00": not a valid time range`,
		"UTC 22:00-22:00":                      `"22:00-22:00": not a valid time range`,
		"UTC 22:60-23:00":                      "not a valid time range",
		"UTC +1:00-23:00":                      "not a valid time range",
		"UTC \x1b[2J":                          `"\x1b[2J": not a valid time range`,
		"UTC " + strings.Repeat("x", 200):      "…\": not a valid time range",
		strings.Repeat("x", 2000):              "it has 2000 bytes",
		strings.Repeat("UTC 00:00-01:00;", 17): "it has 18 windows",
	} {
		_, err := window.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}
