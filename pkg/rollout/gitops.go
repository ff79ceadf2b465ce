package rollout

import "strings"

// keepOptions are what a work says to Argo CD: whoever tracks applications by label takes a work with copied labels for a resource that
// left Git, and pruning would delete every work of the fleet (R9).
var keepOptions = map[string]string{
	"argocd.argoproj.io/sync-options":    "Prune=false",
	"argocd.argoproj.io/compare-options": "IgnoreExtraneous",
}

// WorkAnnotations are the annotations that keep GitOps tools from deleting a work, for one that has some already: options that others set
// stay.
func WorkAnnotations(existing map[string]string) map[string]string {
	wanted := make(map[string]string, len(keepOptions))
	for key, option := range keepOptions {
		wanted[key] = withOption(existing[key], option)
	}
	return wanted
}

func withOption(options, wanted string) string {
	switch {
	case strings.TrimSpace(options) == "":
		return wanted
	case hasOption(options, wanted):
		return options
	default:
		return options + "," + wanted
	}
}

// isKept reports whether a work has the annotations of WorkAnnotations.
func isKept(annotations map[string]string) bool {
	for key, option := range keepOptions {
		if !hasOption(annotations[key], option) {
			return false
		}
	}
	return true
}

func hasOption(options, wanted string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if strings.TrimSpace(option) == wanted {
			return true
		}
	}
	return false
}

// isToolLabel reports whether a label is one by which a GitOps tool tracks what it applied. It applied no work, so that a work does not get
// it from its owner.
func isToolLabel(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && (domain == "argocd.argoproj.io" || strings.HasSuffix(domain, ".toolkit.fluxcd.io"))
}
