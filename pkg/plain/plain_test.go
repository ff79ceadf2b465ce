package plain_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/budget"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// TestText: characters that a terminal interprets or hides become visible, and all other characters stay.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb":        `a\x1b[31mb`,
		"a\r\x00\x7f\u009b": `a\r\x00\x7f\u009b`,
		"a\u202eb\u2066":    `a\u202eb\u2066`,
		"c1\u200b\ufe0f\u00ad\u3164\U000e0001\ufeff": `c1\u200b\ufe0f\u00ad\u3164\U000e0001\ufeff`,
		"a\u2028b\u0085": `a\u2028b\u0085`,
		"\x9b1m \xff":    `\x9b1m \xff`,
		"one\n\ttwo … 名前 é e\u0301 █ 😀": "one\n\ttwo … 名前 é e\u0301 █ 😀",
	} {
		require.Equal(t, want, plain.Text(text))
		var out bytes.Buffer
		w := plain.For(&out)
		for _, b := range []byte(text) {
			n, err := w.Write([]byte{b})
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}
		require.NoError(t, w.Close())
		require.Equal(t, want, out.String(), "written byte by byte")
	}
	require.Equal(t, `a \x1b b`, plain.Line(" a\n\x1b\t\u2003b\u3000"))
}

// TestJSON: a JSON text decodes to the result of Text.
func TestJSON(t *testing.T) {
	const text = "a\x1b]52;c\x07\b\f\r\n\t\u009b\u202e\u2028\u200b\U000e0001\\u202e \\ \"<名"
	encoded, err := json.Marshal(map[string]string{text: text})
	require.NoError(t, err)
	var read map[string]string
	require.NoError(t, json.Unmarshal(plain.JSON(encoded), &read))
	require.Equal(t, map[string]string{plain.Text(text): plain.Text(text)}, read)
	require.Equal(t, `["\\`, string(plain.JSON([]byte(`["\\`))))
}

// TestCharacters: a text is cut between the characters that a reader sees.
func TestCharacters(t *testing.T) {
	for text, want := range map[string]map[string]int{
		"":                   {},
		"ab":                 {"a": 1, "b": 1},
		"a\u0301éb":          {"a\u0301": 1, "é": 1, "b": 1},
		"名前":                 {"名": 2, "前": 2},
		"…█":                 {"…": 1, "█": 1},
		"🇩🇪🇫🇷":               {"🇩🇪": 2, "🇫🇷": 2},
		"👍🏽a":                {"👍🏽": 2, "a": 1},
		"\u1112\u1161\u11ab": {"\u1112\u1161\u11ab": 2},
	} {
		found, total := map[string]int{}, 0
		for character, width := range plain.Characters(text) {
			found[character] = width
			total += width
		}
		require.Equal(t, want, found, "%q", text)
		require.Equal(t, total, plain.Width(text))
		for range plain.Characters(text) {
			break
		}
	}
}

// TestCommandsOfPipelines: a text can't forge the commands of a CI system. GitHub and Azure find commands at the beginning of a line or,
// in brackets, anywhere in it.
func TestCommandsOfPipelines(t *testing.T) {
	const text = "::error::x\n \t::set-output name=a::b\nf: ##[error]x ##vso[task.setvariable]x\n${x##*/} a::b #[derive]\n"
	const broken = "\\::error::x\n \t\\::set-output name=a::b\nf: ##\\[error]x ##vso\\[task.setvariable]x\n${x##*/} a::b #[derive]\n"
	written := func(w *plain.Writer, out *bytes.Buffer) string {
		for _, part := range []string{text[:1], text[1:25], text[25:]} {
			_, err := w.Write([]byte(part))
			require.NoError(t, err)
		}
		return out.String()
	}
	for _, name := range []string{"GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"} {
		t.Setenv(name, "")
	}
	var out, inert, pipeline bytes.Buffer
	require.Equal(t, text, written(plain.For(&out), &out))
	require.Equal(t, broken, written(plain.For(&inert).Inert(), &inert))
	require.Equal(t, `\::error::x ::y ##\[error]\x1b`, plain.Inert(" ::error::x\n::y ##[error]\x1b"))
	t.Setenv("GITHUB_ACTIONS", "true")
	require.Equal(t, broken, written(plain.For(&pipeline), &pipeline))
}

// TestCommand: a real shell passes each argument on unchanged.
func TestCommand(t *testing.T) {
	arguments := []string{"printf", `%s\n`, "web", "c1;touch${IFS}ran;:", "$(id)", "`id`", "it's", `"`, `\`, "a b", "", "*", "~", "-n", "名", "#", "a\nb"}
	out, err := exec.Command("sh", "-c", plain.Command(arguments...)).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, strings.Join(arguments[2:], "\n")+"\n", string(out))
}

// TestTextHasABudget: the cost of a hostile text is proportional to its length.
func TestTextHasABudget(t *testing.T) {
	text := strings.Repeat("\U000e0001##[\x1b::\n", 50_000)
	budget.Within(t, 5*time.Second, 64*uint64(len(text)), func() {
		_, err := plain.For(io.Discard).Inert().Write([]byte(plain.Text(text)))
		require.NoError(t, err)
		plain.Line(text)
		plain.JSON([]byte(text))
		plain.Width(text)
	})
}

// FuzzText: no hostile character gets through, regardless of how the text is split across writes, and nothing is shown twice.
func FuzzText(f *testing.F) {
	for _, text := range []string{"a\x1b]52;c;aGk=\x07", "\xc2\x9b", "\u202e\u2066", "c1\u200b\ufe0f", "::error::\n##[x]", "\xf0\x9f\x98\x80", "\xe2\x80"} {
		f.Add([]byte(text), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		var out bytes.Buffer
		w := plain.For(&out).Inert()
		at = min(max(at, 0), len(text))
		for _, part := range [][]byte{text[:at], text[at:]} {
			_, err := w.Write(part)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		shown := out.String()
		require.True(t, utf8.ValidString(shown))
		require.LessOrEqual(t, len(shown), 10*len(text))
		require.Equal(t, shown, plain.Text(shown), "harmless text stays unchanged")
		for line := range strings.Lines(shown) {
			require.False(t, strings.HasPrefix(strings.TrimSpace(line), "::"))
			require.NotContains(t, line, "##[")
		}
		require.Equal(t, plain.Line(string(text)), plain.Line(plain.Line(string(text))))
	})
}
