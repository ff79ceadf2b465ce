package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/internal/hostiletest"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// TestDataForThePage: responses, errors and news for the page have no character that a browser interprets or hides.
func TestDataForThePage(t *testing.T) {
	const text = hostiletest.Text
	check := func(data string) {
		var read any
		require.NoError(t, json.Unmarshal([]byte(data), &read), data)
		visit(t, read)
	}
	answered, refused, told := httptest.NewRecorder(), httptest.NewRecorder(), httptest.NewRecorder()
	reply(answered, map[string]any{text: []any{text, &Preview{Diff: text}}}, nil)
	check(answered.Body.String())
	refuse(refused, 400, text)
	check(refused.Body.String())
	b := boardOf(func() (string, error) { return text, nil }, func(text string) (any, *view.Objects) {
		return &picture{Groups: []view.Group{{Clusters: []view.Cluster{{Name: text}}}}, Head: head{Fleet: &view.Fleet{Why: text}}}, nil
	})
	(&Server{hub: &fakeHub{}, now: time.Now}).tell(told, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), b)
	require.Contains(t, told.Body.String(), `"groups"`)
	check(told.Body.String())
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
