package dashboard

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

// The browser loads the modules as they are. esbuild parses them and resolves each import, as a browser would.
func TestModules(t *testing.T) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"page/main.js"}, Bundle: true, Write: false, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelSilent,
		Metafile: true,
	})
	for _, message := range append(result.Errors, result.Warnings...) {
		t.Errorf("%+v: %s", message.Location, message.Text)
	}
	files, err := fs.Glob(embedded, "page/*.js")
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, result.Metafile, `"`+file+`"`, "no module imports this file")
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
