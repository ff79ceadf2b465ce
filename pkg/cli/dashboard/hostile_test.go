package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/hostiletest"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// TestDataForThePage: what the page reads of an answer, an error or an event has no character that a browser obeys or hides.
func TestDataForThePage(t *testing.T) {
	const text = hostiletest.Text
	check := func(data string) {
		var read any
		require.NoError(t, json.Unmarshal([]byte(data), &read), data)
		visit(t, read)
	}
	answered, refused, sent := httptest.NewRecorder(), httptest.NewRecorder(), httptest.NewRecorder()
	reply(answered, map[string]any{text: []any{text, &Preview{Diff: text}}}, nil)
	check(answered.Body.String())
	refuse(refused, 400, text)
	check(refused.Body.String())
	(&stream{w: sent, connection: http.NewResponseController(sent)}).send("set",
		&picture{Groups: []view.Group{{Clusters: []view.Cluster{{Name: text}}}}, Head: head{Fleet: &view.Fleet{Why: text}}})
	_, data, found := strings.Cut(sent.Body.String(), "data: ")
	require.True(t, found)
	check(data)
}

func visit(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		hostiletest.Check(t, "data", strings.ReplaceAll(v, "\n", " "))
	case []any:
		for _, child := range v {
			visit(t, child)
		}
	case map[string]any:
		for key, child := range v {
			visit(t, key)
			visit(t, child)
		}
	}
}
