package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"
)

// OnceValid is how long the one-time code opens the page.
const OnceValid = time.Minute

// secrets are the token of the page, which each request carries in a header, and the code that the browser exchanges for it once.
type secrets struct {
	token, code string
	now         func() time.Time
	issued      time.Time

	mu sync.Mutex
	// exchanged is closed when the code was exchanged.
	exchanged chan struct{}
	used      bool
}

func newSecrets(now func() time.Time) *secrets {
	return &secrets{token: random(), code: random(), now: now, issued: now(), exchanged: make(chan struct{})}
}

// random returns 256 random bits as text. crypto/rand never fails: it ends the process instead.
func random() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits)
	return base64.RawURLEncoding.EncodeToString(bits)
}

// is compares a text with a secret in constant time.
func is(text, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(text), []byte(secret)) == 1
}

// exchange returns the token for the one-time code. A wrong code leaves the right one valid.
func (s *secrets) exchange(code string) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used || s.now().Sub(s.issued) > OnceValid || !is(code, s.code) {
		return "", false
	}
	s.used = true
	close(s.exchanged)
	return s.token, true
}
