package rule

import (
	"github.com/open-cluster-management-io/work-rollback/pkg/handover"
)

const strategyField = ".rolloutStrategy"

// strategyCheck returns the check of a condition on each strategy e.
func strategyCheck(surprising string) Check {
	return Check{
		Holds: "!variables.strategies.exists(e, " + surprising + ")",
		Field: item(refsPath, firstIn("variables.strategies", "e", surprising)) + " + '" + strategyField + "'",
	}
}

const (
	noDeadline  = "e.config.?progressDeadline.orValue('') in ['', 'None']"
	soaks       = "[e.config.?minSuccessTime.orValue('0')].exists(v, v.matches(" + goDuration + ") && !v.startsWith('-') && v.matches(" + notZero + "))"
	toleratesIt = "string(e.config.?maxFailures.orValue(0)) == '100%' && size(e.config.?mandatoryDecisionGroups.orValue([])) == 0"
)

// NeverFails is about AbortAll with a strategy under which no late or degraded cluster fails.
var NeverFails = Rule{
	Text: "AbortAll does not abort because of late or degraded clusters while progressDeadline is None: " +
		"set a progressDeadline such as 10m",
	Checks: []Check{strategyCheck("e.aborts && " + noDeadline)},
}

// SoakIgnored is about a soak without a subsequent batch.
var SoakIgnored = Rule{
	Text: "minSuccessTime has no effect with type All, because there is no next batch that could wait: " +
		"use Progressive or ProgressivePerGroup, or remove the field",
	Checks: []Check{strategyCheck("e.part == 'all' && " + soaks)},
}

// ToleratesAllAndAborts is about AbortAll with a strategy under which all clusters may fail.
var ToleratesAllAndAborts = Rule{
	Text:   "AbortAll never aborts while maxFailures tolerates the failure of every cluster: use less than 100%%",
	Checks: []Check{strategyCheck("e.aborts && " + toleratesIt)},
}

// ToleratesAll is about a strategy under which all clusters may fail.
var ToleratesAll = Rule{
	Text:   "maxFailures tolerates the failure of every cluster, so nothing stops a bad rollout: use less than 100%%",
	Checks: []Check{strategyCheck("!e.aborts && " + toleratesIt)},
}

// prevents returns a rule about a pruneStrategy that keeps nothing.
func prevents(problem, holds string) Rule {
	return Rule{
		Text: KeepsNothing + problem,
		Checks: []Check{{
			Holds: "object.spec.?pruneStrategy.orValue('') != 'WhenAvailable' || " + holds,
			Field: "'spec.pruneStrategy'",
		}},
	}
}

// KeepsNothing is the beginning of the texts about a pruneStrategy that keeps nothing.
const KeepsNothing = "WhenAvailable keeps nothing: "

const orphans = "variables.template.?deleteOption.?propagationPolicy.orValue('') == 'Orphan'"

// OrphansPrevent is about a template whose objects are orphaned.
var OrphansPrevent = prevents(handover.OrphansPrevent, "!("+orphans+")")

// CompletionPrevents is about a template that runs to completion. Only the first reason is named.
var CompletionPrevents = prevents(handover.CompletionPrevents,
	orphans+" || !variables.configs.exists(c, c.?conditionRules.orValue([]).exists(r, r.condition == 'Complete'))")

// Secret is about a Secret in the template, because more users can read the history than the Secret.
var Secret = Rule{
	Text: "everyone who can read ControllerRevisions, for example with the role view, can read this Secret, " +
		"even after it is removed: use an ExternalSecret, a SealedSecret or the name of a Secret that the clusters have",
	Checks: []Check{kindCheck("secrets", "m.kind == 'Secret' && !m.apiVersion.contains('/')")},
}

// NoHealth is about AbortAll without condition rules that make agents report a failing workload.
var NoHealth = Rule{
	Text: "without a conditionRule for Progressing or Degraded a cluster succeeds as soon as its objects exist, " +
		"so AbortAll does not see a workload that fails",
	Checks: []Check{{
		Variables: []Variable{{"aborts", "variables.strategies.exists(e, e.aborts)"}},
		Holds: "!variables.aborts || " +
			"variables.configs.exists(c, c.?conditionRules.orValue([]).exists(r, r.condition in ['Progressing', 'Degraded']))",
		Field: "'spec.manifestWorkTemplate.manifestConfigs'",
	}},
}

// UndecidedGate is about a success gate whose condition comes from a condition rule, without a rule for Progressing in
// the same manifestConfig. work.Gate does not decide in this case. The text names the condition.
var UndecidedGate = Rule{
	Text: "the success gate %s does not fail a cluster before the progressDeadline, because False may mean that there is no result yet: " +
		"add a rule for Progressing to this entry that is False once the result is known",
	Checks: []Check{{
		Variables: []Variable{
			{"gates", "variables.refs.map(r, r.?rolloutStrategy.?successGates.orValue([])" +
				".filter(g, g.?mode.orValue('') != 'Report').map(g, g.conditionType))"},
			{"undecided", "variables.configs.map(c, [c.?conditionRules.orValue([])].map(rs, rs.exists(r, r.condition == 'Progressing') ? [] : " +
				"rs.filter(r, variables.gates.exists(g, r.condition in g)).map(r, string(r.condition)))[0])"},
		},
		Holds: "variables.undecided.all(u, size(u) == 0)",
		Field: item(configsPath, undecidedIndex) + " + '.conditionRules'",
		Args:  []string{"variables.undecided[" + undecidedIndex + "][0]"},
	}},
}

var undecidedIndex = firstIn("variables.undecided", "u", "size(u) > 0")

// ReturnsAborted warns about AbortAll if a GitOps tool writes the template.
var ReturnsAborted = Rule{
	Text: "a GitOps tool writes the template, so it may again apply a template whose rollout was aborted: " +
		"use Hold, which keeps it aborted until a user retries it, or Retry to roll it out again without this warning",
	Checks: []Check{{
		Holds: "!variables.aborts || object.spec.?abortedRevisionPolicy.hasValue() || " +
			"![object.metadata.?annotations.orValue({}), object.metadata.?labels.orValue({})].exists(m, " +
			"m.exists(k, k.matches('^(argocd[.]argoproj[.]io|.*[.]toolkit[.]fluxcd[.]io)/')))",
		Field: "'spec.abortedRevisionPolicy'",
	}},
}

// kindCheck returns the check of a condition on each manifest m.
func kindCheck(name, surprising string) Check {
	return Check{
		Variables: []Variable{{name, "variables.manifests.filter(m, " + surprising + ")"}},
		Holds:     "size(" + variable(name) + ") == 0",
		Field:     item(manifestsPath, "variables.manifests.indexOf("+variable(name)+"[0])"),
	}
}

// AbortWhilePaused is about a pause during an abort.
var AbortWhilePaused = Rule{
	Text: "an abort is in progress, and the pause stops it: clusters that are not rolled back yet keep the revision " +
		"whose rollout was aborted, until spec.paused is false",
	Checks: []Check{{
		Holds: "oldObject == null || !object.spec.?paused.orValue(false) || !oldObject.?status.?abortedTime.hasValue() || " +
			"oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'Progressing' && c.reason == 'RolloutAborted')",
		Field: "'spec.paused'",
	}},
}
