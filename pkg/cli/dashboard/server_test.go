package dashboard

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// fakeHub is a hub that counts the requested actions.
type fakeHub struct {
	mu      sync.Mutex
	acted   []Action
	objects *view.Objects
	err     error
	rows    []view.Row
	since   time.Time
}

func (h *fakeHub) Scope() string { return "namespace default" }

func (h *fakeHub) List(context.Context) Followed[[]view.Row] {
	return func() ([]view.Row, error) { return h.rows, nil }
}

func (h *fakeHub) Follow(context.Context, string, string) Followed[*view.Objects] {
	return func() (*view.Objects, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.objects, h.err
	}
}

func (h *fakeHub) set(objects *view.Objects, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects, h.err = objects, err
}

func (h *fakeHub) Contact() (time.Time, string) { return h.since, "" }

func (h *fakeHub) Preview(_ context.Context, a *Action, _ *view.Objects) (*Preview, error) {
	return &Preview{Effect: view.Effect{Verb: a.Verb, Question: "sure?"}}, nil
}

func (h *fakeHub) Act(_ context.Context, a *Action, confirmed string) (string, error) {
	if confirmed != "sure?" {
		return "", ErrChanged
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acted = append(h.acted, *a)
	return "done", nil
}

func (h *fakeHub) Report(context.Context, string, string) ([]byte, error) {
	return []byte("<!DOCTYPE html>"), nil
}

func (h *fakeHub) actions() []Action {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Action{}, h.acted...)
}

// served is a server that listens.
type served struct {
	t   *testing.T
	hub *fakeHub
	*Server
}

func serve(t *testing.T, readOnly bool) *served {
	t.Helper()
	hub := &fakeHub{objects: fleetOf(3), rows: []view.Row{{Namespace: "default", Name: "web", State: "Complete"}}}
	server, err := Listen(t.Context(), hub, 0, readOnly, time.Now)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return &served{t, hub, server}
}

// request sends a request of the page, with changes.
func (s *served) request(method, path, body string, changes ...func(*http.Request)) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, strings.TrimSuffix(s.base(), "/")+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set(tokenHeader, s.token)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Origin", strings.TrimSuffix(s.base(), "/"))
		r.Header.Set("Content-Type", "application/json")
	}
	for _, change := range changes {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func header(key, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set(key, value)
		if value == "" {
			r.Header.Del(key)
		}
	}
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

const (
	actPath = "/api/sets/default/web/act"
	abort   = `{"verb":"abort","reason":"leaks","confirmed":"sure?"}`
)

// Requests that do not come from the page, or lack its token, do nothing (CSRF, DNS rebinding, guessing).
func TestForeignRequests(t *testing.T) {
	s := serve(t, false)
	port := s.listener.Addr().String()[strings.LastIndex(s.listener.Addr().String(), ":"):]
	for name, test := range map[string]struct {
		status  int
		changes []func(*http.Request)
	}{
		"no token":                     {401, []func(*http.Request){header(tokenHeader, "")}},
		"wrong token":                  {401, []func(*http.Request){header(tokenHeader, "!"+s.token[1:])}},
		"beginning of the token":       {401, []func(*http.Request){header(tokenHeader, s.token[:20])}},
		"two tokens":                   {401, []func(*http.Request){func(r *http.Request) { r.Header.Add(tokenHeader, s.token) }}},
		"token as a cookie":            {401, []func(*http.Request){header(tokenHeader, ""), header("Cookie", tokenHeader+"="+s.token)}},
		"no origin":                    {403, []func(*http.Request){header("Origin", "")}},
		"another origin":               {403, []func(*http.Request){header("Origin", "http://evil.example")}},
		"opaque origin":                {403, []func(*http.Request){header("Origin", "null")}},
		"another port of the host":     {403, []func(*http.Request){header("Origin", "http://127.0.0.1:1")}},
		"https":                        {403, []func(*http.Request){header("Origin", "https://127.0.0.1"+port)}},
		"rebound name":                 {403, []func(*http.Request){host("evil.example" + port), header("Origin", "http://evil.example"+port)}},
		"rebound name, our origin":     {403, []func(*http.Request){host("evil.example" + port)}},
		"name with our address before": {403, []func(*http.Request){host("127.0.0.1.evil.example" + port)}},
		"no port":                      {403, []func(*http.Request){host("127.0.0.1")}},
		"another port":                 {403, []func(*http.Request){host("127.0.0.1:1")}},
		"another site":                 {403, []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}},
		"same site, other port":        {403, []func(*http.Request){header("Sec-Fetch-Site", "same-site")}},
		"form":                         {415, []func(*http.Request){header("Content-Type", "text/plain")}},
		"form of the browser":          {415, []func(*http.Request){header("Content-Type", "application/x-www-form-urlencoded")}},
	} {
		t.Run(name, func(t *testing.T) {
			answer := s.request(http.MethodPost, actPath, abort, test.changes...)
			require.Equal(t, test.status, answer.StatusCode)
			require.True(t, answer.Close, "the connection ends")
			require.Empty(t, answer.Header.Get("Access-Control-Allow-Origin"))
			require.Empty(t, s.hub.actions())
		})
	}
	require.Equal(t, 200, s.request(http.MethodPost, actPath, abort).StatusCode)
	require.Equal(t, 200, s.request(http.MethodPost, actPath, abort, host("localhost"+port), header("Origin", "http://localhost"+port)).StatusCode)
	require.Len(t, s.hub.actions(), 2)
}

// Reading requires the token too, on each path below /api/. A preflight request permits nothing.
func TestReadingRequiresTheToken(t *testing.T) {
	s := serve(t, false)
	for _, path := range []string{
		"/api/list", "/api/sets/default/web/picture", "/api/sets/default/web/why/c1",
		"/api/sets/default/web/plan", "/api/sets/default/web/report", "/api/nothing", "//api/list", "/./api/list", "/x/../api/list",
	} {
		answer := s.request(http.MethodGet, path, "", header(tokenHeader, ""))
		require.Contains(t, []int{401, 404}, answer.StatusCode, path)
	}
	answer := s.request(http.MethodOptions, actPath, "", header("Origin", "http://evil.example"), header("Access-Control-Request-Method", "POST"))
	require.Equal(t, 403, answer.StatusCode)
	for key := range answer.Header {
		require.False(t, strings.HasPrefix(key, "Access-Control-"), key)
	}
	require.Equal(t, 404, s.request(http.MethodGet, actPath, "").StatusCode)
}

// All responses have the security headers, even errors.
func TestHeaders(t *testing.T) {
	s := serve(t, false)
	for _, answer := range []*http.Response{
		s.request(http.MethodGet, "/", "", header(tokenHeader, "")), s.request(http.MethodGet, "/main.js", ""), s.request(http.MethodGet, "/nothing", ""),
		s.request(http.MethodGet, "/api/list", "", header(tokenHeader, "")), s.request(http.MethodGet, "/", "", host("evil.example")),
		s.request(http.MethodGet, "/api/sets/default/web/report", ""),
	} {
		csp := answer.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
			require.Contains(t, csp, part)
		}
		require.NotContains(t, csp, "unsafe")
		require.NotContains(t, csp, "*")
		for key, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			require.Equal(t, value, answer.Header.Get(key), key)
		}
		require.Empty(t, answer.Header.Get("Set-Cookie"))
		if answer.StatusCode != http.StatusNotFound { // It has no data to protect.
			require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
		}
	}
}

// The server listens on 127.0.0.1 only. If a port is in use, the error names the flag to change.
func TestListens(t *testing.T) {
	s := serve(t, false)
	require.True(t, strings.HasPrefix(s.listener.Addr().String(), "127.0.0.1:"))
	var port int
	for _, digit := range strings.TrimPrefix(s.listener.Addr().String(), "127.0.0.1:") {
		port = port*10 + int(digit-'0')
	}
	_, err := Listen(t.Context(), s.hub, port, false, time.Now)
	require.ErrorContains(t, err, "--port")
}

func TestReadOnly(t *testing.T) {
	s := serve(t, true)
	require.Equal(t, 403, s.request(http.MethodPost, actPath, abort).StatusCode)
	require.Equal(t, 403, s.request(http.MethodPost, "/api/sets/default/web/preview", `{"verb":"abort"}`).StatusCode)
	require.Empty(t, s.hub.actions())
	require.Equal(t, 200, s.request(http.MethodGet, "/api/sets/default/web/report", "").StatusCode)
}

// An action requires the question that the user confirmed, and JSON without unknown fields.
func TestAct(t *testing.T) {
	s := serve(t, false)
	for body, status := range map[string]int{
		`{"verb":"abort"}`:                           400,
		`{"verb":"abort","confirmed":"other"}`:       409,
		`{"verb":"abort","confirmed":"sure?","x":1}`: 400,
		`[]`: 400,
		`{"verb":"abort","reason":"` + strings.Repeat("x", maxBody) + `"}`: 400,
	} {
		require.Equal(t, status, s.request(http.MethodPost, actPath, body).StatusCode, body[:min(60, len(body))])
	}
	require.Empty(t, s.hub.actions())
	require.Equal(t, 200, s.request(http.MethodPost, actPath, abort).StatusCode)
	require.Equal(t, []Action{{Namespace: "default", Name: "web", Verb: view.VerbAbort, Reason: "leaks"}}, s.hub.actions())
}

// TestNews: the page gets the picture, and gets it again when it has changed.
func TestNews(t *testing.T) {
	s := serve(t, false)
	get := func(seen string) (found news) {
		answer := s.request(http.MethodGet, "/api/sets/default/web/picture?seen="+seen, "")
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&found))
		return found
	}
	first := get("")
	var before, after picture
	require.NoError(t, json.Unmarshal(first.Data, &before))
	require.Len(t, before.Groups[0].Clusters, 3)
	require.Equal(t, "default", before.Head.Namespace)
	require.Equal(t, "namespace default", first.Scope)
	require.NotEmpty(t, get("another").Data)
	require.Empty(t, get(first.Version).Data)
	require.Equal(t, first.Version, get(first.Version).Version)

	s.hub.set(fleetOf(3, "c2"), nil)
	var second news
	require.Eventually(t, func() bool { second = get(first.Version); return second.Data != nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, json.Unmarshal(second.Data, &after))
	require.Equal(t, rollout.PhaseInFlight, after.Groups[0].Clusters[1].State)
	require.Equal(t, "Progressing=True: waiting for Pods", after.Groups[0].Clusters[1].Message)

	s.hub.set(nil, ErrNotReady)
	require.Eventually(t, func() bool { return get(second.Version).Version == "" }, time.Minute, 10*time.Millisecond)
	require.Empty(t, get("").Error)
	s.hub.set(nil, ErrDeleted)
	require.Eventually(t, func() bool { return get("").Deleted }, time.Minute, 10*time.Millisecond)
	body, err := io.ReadAll(s.request(http.MethodGet, "/api/sets/default/web/why/c1", "").Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "does not exist")
}
