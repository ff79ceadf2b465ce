package dashboard

import (
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// tokenHeader carries the token. A page of another origin can set this header only after a preflight request, which the server always
// rejects.
const tokenHeader = "X-Dashboard-Token"

// policy is the Content-Security-Policy of all answers: the page runs only files of this server, and sends requests only there.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard checks each request before any other handler.
type guard struct {
	// hosts are the values of the Host header that the server answers to. A request with any other value is the result of DNS rebinding.
	hosts []string
	token string
	// use records that a request with the token arrived.
	use func()
}

// guarded returns a handler that adds the security headers to all answers, and rejects requests from other pages.
func (g *guard) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if status, problem := g.judge(r); problem != "" {
			header.Set("Connection", "close") // A rejected client does not keep its connection.
			refuse(w, status, problem)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// judge returns why a request is rejected. The reason is empty if the request is allowed.
func (g *guard) judge(r *http.Request) (int, string) {
	if problem := g.foreign(r); problem != "" {
		return http.StatusForbidden, problem
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		return g.unauthorized(r)
	}
	return 0, ""
}

// foreign returns why a request comes neither from the page nor from a browser's address bar. The reason is empty otherwise.
func (g *guard) foreign(r *http.Request) string {
	if !g.ours(r.Host) {
		return "the Host header does not name this server"
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !g.ourOrigin(origins[0]) {
		return "the Origin header names another page"
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "" || site == "same-origin" || site == "none":
	case r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Method == http.MethodGet: // A link. The page has no data.
	default:
		return "the request comes from another page"
	}
	return ""
}

// ours reports whether a Host header names this server. The comparison is exact: a host with a trailing dot is another origin.
func (g *guard) ours(host string) bool { return slices.Contains(g.hosts, host) }

func (g *guard) ourOrigin(origin string) bool {
	host, http := strings.CutPrefix(origin, "http://")
	return http && g.ours(host)
}

// unauthorized returns why a request for data or a change is rejected. The reason is empty if the request is allowed.
func (g *guard) unauthorized(r *http.Request) (int, string) {
	if r.Method == http.MethodPost {
		if r.Header.Get("Origin") == "" {
			return http.StatusForbidden, "the Origin header is missing"
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return http.StatusUnsupportedMediaType, "the Content-Type is not application/json"
		}
	}
	if tokens := r.Header.Values(tokenHeader); len(tokens) != 1 || subtle.ConstantTimeCompare([]byte(tokens[0]), []byte(g.token)) != 1 {
		return http.StatusUnauthorized, "the token is missing or wrong: open the address that the command printed"
	}
	g.use()
	return 0, ""
}

// hostsOf returns the Host headers that name a listener.
func hostsOf(address net.Addr) []string {
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil
	}
	return []string{net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port)}
}
