package dashboard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"
)

// onceValid is how long the one-time code opens the page.
const onceValid = time.Minute

// secrets are the token of the page, which each request carries in a header, and the code that the browser exchanges for it once. Only the
// code appears in the arguments of the browser's process, where other users of the machine can see it.
type secrets struct {
	token string
	now   func() time.Time

	mu     sync.Mutex
	once   string
	issued time.Time
}

func newSecrets(now func() time.Time) *secrets {
	return &secrets{token: random(), once: random(), now: now, issued: now()}
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
	if s.now().Sub(s.issued) > onceValid || !is(code, s.once) {
		return "", false
	}
	s.once = ""
	return s.token, true
}
