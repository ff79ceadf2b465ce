package dashboard

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/tooltest"
)

// The browser loads the modules unchanged. esbuild parses them and resolves each import, as a browser would.
func TestModules(t *testing.T) {
	out := t.TempDir()
	metafile := filepath.Join(out, "meta.json")
	command := exec.CommandContext(t.Context(), tooltest.Path(t, "../../..", "esbuild", "esbuild"), "page/main.js", "--bundle", "--format=esm",
		"--target=es2022", "--log-level=warning", "--outdir="+out, "--metafile="+metafile)
	messages, err := command.CombinedOutput()
	require.NoError(t, err, string(messages))
	require.Empty(t, string(messages))
	bundled, err := os.ReadFile(metafile)
	require.NoError(t, err)
	files, err := fs.Glob(embedded, "page/*.js")
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, string(bundled), `"`+file+`"`, "no module imports this file")
	}
}

// The policy forbids inline scripts and styles, and Trusted Types forbid HTML from texts.
func TestPageNeedsNoInlineCode(t *testing.T) {
	files, err := fs.Glob(embedded, "page/*")
	require.NoError(t, err)
	for _, file := range files {
		data, err := fs.ReadFile(embedded, file)
		require.NoError(t, err)
		text := string(data)
		for _, forbidden := range []string{
			"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://", "localStorage", "document.cookie",
			"setAttribute('style'", "style=\"", "javascript:",
		} {
			text := strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
			require.NotContains(t, text, forbidden, file)
		}
		if path.Ext(file) == ".html" {
			require.NotRegexp(t, `\son\w+=`, text)
			require.NotRegexp(t, `<script[^>]*>\s*\S[^<]*</script>`, text)
		}
	}
}
