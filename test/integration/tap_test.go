package integration

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// tap sits on a connection of an agent. It records the requests that passed, and can delay some of them, as a slow network or a slow API
// server does.
type tap struct {
	inner http.RoundTripper

	mu      sync.Mutex
	passed  []request
	holds   []*hold
	watched []watched
}

// request is a request that passed.
type request struct {
	method, path string
	watch        bool
	body         []byte
	// status is the status code of the response.
	status int
}

type matcher func(*request) bool

// hold delays requests until it is released.
type hold struct {
	matches  matcher
	once     sync.Once
	released chan struct{}
	catches  sync.Once
	// caught is closed when the first request waits.
	caught chan struct{}
	// answer returns the response to a request that was held. If it is nil, the server answers the request.
	answer func(*http.Request) *http.Response
}

// watched is a function that is called around a request.
type watched struct {
	matches matcher
	around  func(pass func() (accepted bool))
}

// hold delays matching requests after this call.
func (t *tap) hold(matches matcher) *hold {
	h := &hold{matches: matches, released: make(chan struct{}), caught: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds = append(t.holds, h)
	return h
}

// release lets the waiting requests and all later requests through.
func (h *hold) release() { h.once.Do(func() { close(h.released) }) }

// refuse releases the hold, but the waiting requests get an error instead of a response.
func (h *hold) refuse() {
	h.answer = func(r *http.Request) *http.Response {
		return &http.Response{
			StatusCode: http.StatusInternalServerError, Request: r, Header: http.Header{"Content-Type": {"text/plain"}},
			Body: io.NopCloser(strings.NewReader("the test refuses it")),
		}
	}
	h.release()
}

// around lets a function decide when a request passes.
func (t *tap) around(matches matcher, do func(pass func() (accepted bool))) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watched = append(t.watched, watched{matches, do})
}

// accepted returns the requests that passed and that the server accepted.
func (t *tap) accepted(matches matcher) []request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []request
	for i := range t.passed {
		if t.passed[i].status < http.StatusMultipleChoices && matches(&t.passed[i]) {
			found = append(found, t.passed[i])
		}
	}
	return found
}

func (t *tap) wrap(inner http.RoundTripper) http.RoundTripper {
	t.inner = inner
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	seen := &request{method: r.Method, path: r.URL.Path, watch: r.URL.Query().Has("watch")}
	if r.Body != nil && r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		seen.body = body
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := t.wait(r, seen)
	if err != nil || answer != nil {
		return answer, err
	}
	var response *http.Response
	pass := func() bool {
		if response, err = t.inner.RoundTrip(r); err != nil {
			return false
		}
		seen.status = response.StatusCode
		t.mu.Lock()
		defer t.mu.Unlock()
		t.passed = append(t.passed, *seen)
		return seen.status < http.StatusMultipleChoices
	}
	for _, w := range t.aroundOf(seen) {
		inner := pass
		pass = func() (accepted bool) {
			w.around(func() bool { accepted = inner(); return accepted })
			return accepted
		}
	}
	pass()
	return response, err
}

func (t *tap) aroundOf(seen *request) []watched {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.watched), func(w watched) bool { return !w.matches(seen) })
}

// wait delays a request while a hold matches it.
func (t *tap) wait(r *http.Request, seen *request) (*http.Response, error) {
	t.mu.Lock()
	holds := slices.Clone(t.holds)
	t.mu.Unlock()
	for _, h := range holds {
		select {
		case <-h.released:
			continue
		default:
		}
		if !h.matches(seen) {
			continue
		}
		h.catches.Do(func() { close(h.caught) })
		select {
		case <-h.released:
			if h.answer != nil {
				return h.answer(r), nil
			}
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return nil, nil
}

// matchers of requests

// reads matches the agent's reads of one ConfigMap, on its own cluster.
func reads(object string) matcher {
	return func(r *request) bool {
		return r.method == http.MethodGet && strings.HasSuffix(r.path, "/configmaps/"+object)
	}
}

// writes matches the agent's writes of one ConfigMap, on its own cluster.
func writes(object string) matcher {
	return func(r *request) bool {
		return (r.method == http.MethodPut || r.method == http.MethodPatch) && strings.HasSuffix(r.path, "/configmaps/"+object)
	}
}

// watches matches watches of ConfigMaps.
func watches(r *request) bool { return r.watch && strings.Contains(r.path, "/configmaps") }

// reports matches the agent's reports to the hub.
func reports(says func(*workv1.ManifestWorkStatus) bool) matcher {
	return func(r *request) bool {
		if r.method != http.MethodPatch || !strings.HasSuffix(r.path, "/status") || !strings.Contains(r.path, "/manifestworks/") {
			return false
		}
		var patch workv1.ManifestWork
		return json.Unmarshal(r.body, &patch) == nil && says(&patch.Status)
	}
}

// is matches a condition of a generation. An empty status stands for any status.
func is(conditionType string, status metav1.ConditionStatus, generation int64) func(*workv1.ManifestWorkStatus) bool {
	return func(s *workv1.ManifestWorkStatus) bool {
		found := meta.FindStatusCondition(s.Conditions, conditionType)
		return found != nil && found.ObservedGeneration == generation && (status == "" || found.Status == status)
	}
}
