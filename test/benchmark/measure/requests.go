package measure

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Requests counts requests by verb and resource: "PATCH manifestworks/status".
type Requests map[string]int

// groups are the API groups whose requests count. Requests to other groups are internal to the API server.
var groups = sets.New("work.open-cluster-management.io", "cluster.open-cluster-management.io", "apps", "events.k8s.io")

// Minus returns the requests of a later count that an earlier count does not have. It omits zero counts.
func (r Requests) Minus(earlier Requests) Requests {
	difference := Requests{}
	for what, n := range r {
		if n != earlier[what] {
			difference[what] = n - earlier[what]
		}
	}
	for what, n := range earlier {
		if _, known := r[what]; !known && n != 0 {
			difference[what] = -n
		}
	}
	return difference
}

// ServedRequests returns all requests that an API server has served so far, for all clients. Watches don't count, because the API server
// counts a watch when it ends.
func ServedRequests(ctx context.Context, client *http.Client, server string) (Requests, error) {
	metrics, err := Scrape(ctx, client, server+"/metrics", "apiserver_request_total")
	if err != nil {
		return nil, err
	}
	return servedRequests(metrics), nil
}

func servedRequests(metrics []Metric) Requests {
	requests := Requests{}
	for _, m := range metrics {
		if groups.Has(m.Labels["group"]) && m.Labels["verb"] != "WATCH" {
			requests[describe(m.Labels["verb"], m.Labels["resource"], m.Labels["subresource"])] += int(m.Value)
		}
	}
	return requests
}

func describe(verb, resource, subresource string) string {
	what := verb + " " + resource
	if subresource != "" {
		what += "/" + subresource
	}
	return what
}

// Counter counts the requests that pass through its transports: the benchmark's own, which are not the controller's.
type Counter struct {
	mu       sync.Mutex
	requests Requests
}

// NewCounter counts from zero.
func NewCounter() *Counter { return &Counter{requests: Requests{}} }

// Requests returns the requests that were served so far.
func (c *Counter) Requests() Requests {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.requests)
}

// verbs maps verbs to their names in an API server's metrics, if these differ by more than case.
var verbs = map[string]string{"create": "POST", "update": "PUT"}

// Wrap returns a transport whose requests are counted. It is for rest.Config.Wrap.
func (c *Counter) Wrap(inner http.RoundTripper) http.RoundTripper {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(req)
		info, infoErr := resolver.NewRequestInfo(req)
		if err != nil || infoErr != nil || !groups.Has(info.APIGroup) || info.Verb == "watch" {
			return response, err
		}
		verb, other := verbs[info.Verb]
		if !other {
			verb = strings.ToUpper(info.Verb)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests[describe(verb, info.Resource, info.Subresource)]++
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
