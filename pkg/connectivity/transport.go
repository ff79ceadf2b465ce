package connectivity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// sourceOf returns the path at which an API server lists and watches a collection in all namespaces.
func sourceOf(collection schema.GroupVersionResource) source {
	if collection.Group == "" {
		return source(path.Join("/api", collection.Version, collection.Resource))
	}
	return source(path.Join("/apis", collection.Group, collection.Version, collection.Resource))
}

// Hear watches the transport of all clients that are created from a configuration after this call. A proxy may serve
// the API server under a path prefix; the paths of collections then begin with that prefix.
func (c *Connection) Hear(config *rest.Config) error {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("the API server's URL %q: %w", config.Host, err)
	}
	config.Wrap(c.under(path.Join("/", server.Path)))
	return nil
}

// under watches a transport to an API server whose paths begin with a prefix.
func (c *Connection) under(prefix string) transport.WrapperFunc {
	return func(inner http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
			response, err := inner.RoundTrip(request)
			c.observe(request, listens(request, prefix), response, err)
			return response, err
		})
	}
}

func (c *Connection) observe(request *http.Request, from source, response *http.Response, err error) {
	if err != nil && (errors.Is(err, context.Canceled) || request.Context().Err() != nil) {
		return // The client itself ended the request.
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// An API server that does not have the collection answers 404.
	c.noteRefusal(from, err == nil && (response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusNotFound))
	switch {
	case !isFailure(from, response, err) || c.refused(from):
		c.succeeded(from)
	case from == anyRequest:
		c.failing = true
	default:
		c.down[from] = true
	}
}

// isFailure reports whether a request shows that its source cannot be heard.
func isFailure(from source, response *http.Response, err error) bool {
	switch {
	case err != nil:
		return true
	case from != anyRequest:
		// A starting server briefly refuses requests that it allows later. A refused request does not fill a cache.
		return response.StatusCode >= http.StatusBadRequest
	}
	return response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout
}

// listens returns the collection that a request lists or watches for an informer, and anyRequest for all other requests.
func listens(request *http.Request, prefix string) source {
	query := request.URL.Query()
	if request.Method == http.MethodGet && (query.Has("watch") || query.Has("resourceVersion") || query.Has("limit")) {
		return source(path.Join("/", strings.TrimPrefix(request.URL.Path, prefix)))
	}
	return anyRequest
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
