package plugin

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/open-cluster-management-io/work-rollback/pkg/preflight"
)

// The results of a check.
const (
	checkOK      = "ok"
	checkWarn    = "warn"
	checkFail    = "fail"
	checkUnknown = "unknown"
)

// diagnosis is the result of one check of the hub.
type diagnosis struct {
	Result  string `json:"result"`
	Check   string `json:"check"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// doctor reads a hub. It writes nothing.
type doctor struct {
	*options
	*clients
	// hub is the namespace of the hub.
	hub string
	// check is the current check, and needs is the permission that it requires of the user.
	check, needs string
	found        []diagnosis
	// accounts are the ServiceAccounts of the installed hubs, and sets are the facts about the ManifestWorkReplicaSets, once they are read.
	accounts []string
	sets     *survey
}

// begins records the current check and the permission that it requires of the user.
func (d *doctor) begins(check, needs string) { d.check, d.needs = check, needs }

func (d *doctor) ok(format string, args ...any)           { d.add(checkOK, "", format, args...) }
func (d *doctor) warn(remedy, format string, args ...any) { d.add(checkWarn, remedy, format, args...) }
func (d *doctor) fail(remedy, format string, args ...any) { d.add(checkFail, remedy, format, args...) }

func (d *doctor) add(result, remedy, format string, args ...any) {
	d.found = append(d.found, diagnosis{Result: result, Check: d.check, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// applyDeploy is the remedy for everything that deploy/ installs in addition to the image. It applies only deploy/base, because deploy/
// also has the ClusterManager, which Helm or a GitOps tool may own.
const applyDeploy = "kubectl apply --server-side --force-conflicts -k deploy/base"

// applyChart is the remedy for everything that deploy/chart installs.
const applyChart = "helm upgrade work-rollback deploy/chart --reset-then-reuse-values --take-ownership, in the namespace of the hub"

func newDoctor(o *options) *cobra.Command {
	to, hub, leaving := &output{}, "", false
	cmd := &cobra.Command{
		Use: "doctor", GroupID: groupAdmin, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Check the installation of a hub, and print the remedies",
		Long: "Check the installation of a hub, and print the remedies. The command only reads.\n" +
			"The exit code is 1 if a check failed. Warnings, and checks that you lack permission for, do not affect it.",
		Example: `  # Check the hub
  kubectl mwrs doctor

  # Check what must be resolved before OCM's own hub takes over
  kubectl mwrs doctor --leaving`,
		RunE: o.connected(func(ctx context.Context, c *clients, _ []string) error {
			return (&doctor{options: o, clients: c, hub: hub}).run(ctx, to, leaving)
		}),
	}
	to.addFlag(cmd)
	cmd.Flags().StringVar(&hub, "hub-namespace", hubNamespace, "The namespace of the hub's ServiceAccount and Lease")
	cmd.Flags().BoolVar(&leaving, "leaving", false,
		"Instead of checking the installation, check for problems to resolve before OCM's own hub takes over")
	return cmd
}

func (d *doctor) run(ctx context.Context, to *output, leaving bool) error {
	checks := []func(context.Context) error{
		d.crd, d.oneHub, d.rights, d.leader, d.refused, d.version, d.ocm, d.webhook, d.metrics,
	}
	if leaving {
		checks = []func(context.Context) error{d.leaving}
	}
	d.found = []diagnosis{}
	for _, check := range checks {
		switch err := check(ctx); {
		case apierrors.IsForbidden(err):
			d.add(checkUnknown, "ask for the permission, or for the result of this command", "you can't %s", d.needs)
		case err != nil:
			return fmt.Errorf("%s: %w", d.needs, err)
		}
	}
	if err := d.printDiagnoses(d.found, to); err != nil {
		return err
	}
	if slices.ContainsFunc(d.found, func(d diagnosis) bool { return d.Result == checkFail }) {
		return &exitError{code: 1}
	}
	return nil
}

func (o *options) printDiagnoses(all []diagnosis, to *output) error {
	if to.isSet() {
		return to.print(o, all)
	}
	out := newPrinter(o.Out, screenOf(o.Out))
	result, check := 0, 0
	for i := range all {
		result, check = max(result, len(all[i].Result)), max(check, len(all[i].Check))
	}
	for i := range all {
		text := all[i].Message
		if all[i].Remedy != "" {
			text += "; remedy: " + all[i].Remedy
		}
		out.prose(fmt.Sprintf("%-*s   %-*s   ", result, all[i].Result, check, all[i].Check), text)
	}
	return out.err
}

// leaving checks what must be resolved before OCM's own hub takes over.
func (d *doctor) leaving(ctx context.Context) error {
	d.begins("leaving", "list manifestworkreplicasets, manifestworks and placementdecisions in all namespaces")
	objects, err := preflight.List(ctx, d.objects, d.metadatas)
	if err != nil {
		return err
	}
	for _, f := range preflight.Leaving(objects) {
		d.check = string(f.Reason)
		add := d.warn
		if f.Severity == preflight.Error {
			add = d.fail
		}
		add(f.Remedy, "%s: %s", f.Object, f.What)
	}
	if len(d.found) == 0 {
		d.ok("nothing to resolve in %d ManifestWorkReplicaSets", len(objects.ReplicaSets))
	}
	return nil
}
