package rollout

import (
	"fmt"
	"strings"
)

// undoes reports whether the rollout goes back: its revision was the current one before, and is older than today's current one. Such a
// rollout is not aborted by itself: one cluster that says nothing would take the whole fleet back to what was left (R12).
func (s *Snapshot) undoes() bool {
	return s.Current != nil && s.Current.Hash != s.Update.Hash && s.Update.WasCurrent && s.Update.Age.MayPrecede(s.Current.Age)
}

// withheld is why a failed undo is not aborted, and what to do.
func (s *Snapshot) withheld() string {
	return fmt.Sprintf("failureStrategy AbortAll does not apply to an undo: revision %s was the stable one before revision %s, and the hub does not return to %s by itself; "+
		"fix these clusters, or return every cluster to %s: %s", s.Update.Name, s.Current.Name, s.Current.Name, s.Current.Name, AbortCommand(s.Owner))
}

// AbortCommand is how a person aborts a rollout of the owner with this label value.
func AbortCommand(owner string) string {
	namespace, name, _ := strings.Cut(owner, ".")
	return fmt.Sprintf(`kubectl -n %s patch mwrs %s --subresource=status --type=merge -p '{"status":{"abortedTime":"'$(date -u +%%FT%%TZ)'"}}'`, namespace, name)
}
