package rule

import "fmt"

// Common are the variables that the checks of all rules share.
var Common = []Variable{
	{"template", "object.spec.?manifestWorkTemplate.orValue({})"},
	{"oldTemplate", "oldObject == null ? {} : oldObject.?spec.?manifestWorkTemplate.orValue({})"},
	{"manifests", "variables.template.?workload.?manifests.orValue([])"},
	{"oldManifests", "variables.oldTemplate.?workload.?manifests.orValue([])"},
	{"configs", "variables.template.?manifestConfigs.orValue([])"},
	{"oldConfigs", "variables.oldTemplate.?manifestConfigs.orValue([])"},
	{"refs", "object.spec.?placementRefs.orValue([])"},
	{"oldRefs", "oldObject == null ? [] : oldObject.?spec.?placementRefs.orValue([])"},
	{"strategies", "variables.refs.map(r, " + strategyOf + ")"},
	{"oldStrategies", "variables.oldRefs.map(r, " + strategyOf + ")"},
}

// strategyOf is the part of a ref's strategy that its type uses.
const strategyOf = `[r.?rolloutStrategy.?type.orValue('All')].map(t, ` +
	`[t == 'Progressive' ? 'progressive' : t == 'ProgressivePerGroup' ? 'progressivePerGroup' : 'all'].map(p, {` +
	`'name': dyn(r.name), 'part': dyn(p), 'config': dyn(r.?rolloutStrategy[?p].orValue({})), ` +
	`'aborts': dyn(r.?rolloutStrategy.?failureStrategy.orValue('') in ['AbortAll', 'ReportAbort'])})[0])[0]`

const (
	manifestsPath = "spec.manifestWorkTemplate.workload.manifests"
	refsPath      = "spec.placementRefs"
	// goDuration matches the strings that time.ParseDuration can parse, and strings whose numbers are too large for it.
	goDuration = `'^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$'`
	// notZero matches durations that are not zero. Durations below a nanosecond are zero in Go.
	notZero = `'[1-9]'`
	// maxQuoted is the maximum number of quoted characters of a value, as in the webhook.
	maxQuoted = 300
)

func cut(text string) string {
	return fmt.Sprintf("[string(%s)].map(c, size(c) > %d ? c.substring(0, %d) + '…' : c)[0]", text, maxQuoted, maxQuoted)
}

func variable(name string) string { return "variables." + name }

// firstIn returns the index of the first entry in a list for which the condition is true.
func firstIn(list, entry, condition string) string {
	return fmt.Sprintf("%s.map(%s, %s).indexOf(true)", list, entry, condition)
}

// item returns the path of an entry in a list.
func item(path, index string) string { return fmt.Sprintf("'%s[' + string(%s) + ']'", path, index) }

// valueOf is the value of a field of one part of a strategy, and the condition under which it is bad.
type valueOf struct {
	// over is the list variable: refs or strategies. Each entry is e.
	over, oldOver string
	// name is the name of the Placement, part is the name of the strategy's part, value is the value, and bad is the
	// condition on the value v.
	name, part, value, bad string
	// shown is the text of a bad value. Two bad values with the same text are the same problem.
	shown string
	// condition is a condition on the entry.
	condition string
	field     string
}

// check returns the check of a field of all strategies. The name of the Placement, the part and the value identify a
// bad value. So a bad value stays an old problem even if the placementRefs have been reordered (the ratchet of package
// validate).
func (v valueOf) check(variableName string, args ...string) Check {
	if v.condition == "" {
		v.condition = "true"
	}
	problem := fmt.Sprintf("%s && (%s) ? [string(%s), string(%s), string(%s)] : []", v.condition, v.bad, v.name, v.part, v.shown)
	of := func(list string) string {
		return fmt.Sprintf("%s.map(e, [%s].map(v, %s)[0])", variable(list), v.value, problem)
	}
	old, found := variableName+"Before", variableName+"Now"
	index := firstIn(variable(found), "p", "size(p) > 0")
	check := Check{
		Variables: []Variable{
			{old, of(v.oldOver)},
			{found, fmt.Sprintf("[%s].map(now, now.map(p, size(p) > 0 && p in %s ? [] : p))[0]", of(v.over), variable(old))},
		},
		Holds: fmt.Sprintf("%s.all(p, size(p) == 0)", variable(found)),
		Field: fmt.Sprintf("%s + '.rolloutStrategy.' + %s[%s][1] + '.%s'", item(refsPath, index), variable(found), index, v.field),
	}
	for range args {
		check.Args = append(check.Args, fmt.Sprintf("%s[%s][2]", variable(found), index))
	}
	return check
}

// used returns a field of the part that the strategy's type uses.
func used(field, value, bad, shown string) valueOf {
	return valueOf{
		over: "strategies", oldOver: "oldStrategies", name: "e.name", part: "e.part", field: field, value: value, bad: bad, shown: shown,
	}
}
