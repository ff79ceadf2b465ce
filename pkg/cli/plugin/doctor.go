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
}

// applyDeploy is the remedy for everything that deploy/ installs beside the image. All of deploy/ would also write the ClusterManager,
// which Helm or a GitOps tool may own.
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

  # Check what to settle before OCM's own hub takes over
  kubectl mwrs doctor --leaving`,
		RunE: o.connected(func(ctx context.Context, c *clients, _ []string) error {
			return (&doctor{options: o, clients: c, hub: hub}).run(ctx, to, leaving)
		}),
	}
	to.addFlag(cmd)
	cmd.Flags().StringVar(&hub, "hub-namespace", hubNamespace, "The namespace of the hub's ServiceAccount and Lease")
	cmd.Flags().BoolVar(&leaving, "leaving", false, "Check what to settle before OCM's own hub takes over, instead of the installation")
	return cmd
}

func (d *doctor) run(ctx context.Context, to *output, leaving bool) error {
	checks := []func(context.Context) ([]diagnosis, error){
		d.crd, d.oneHub, d.rights, d.yourRights, d.leader, d.refused, d.version, d.ocm, d.webhook, d.lostFields, d.metrics,
	}
	if leaving {
		checks = []func(context.Context) ([]diagnosis, error){d.leaving}
	}
	all := []diagnosis{}
	for _, check := range checks {
		found, err := check(ctx)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err := d.printDiagnoses(all, to); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(d diagnosis) bool { return d.Result == checkFail }) {
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

// one returns a list of one diagnosis.
func one(result, check, message, remedy string) []diagnosis {
	return []diagnosis{{Result: result, Check: check, Message: message, Remedy: remedy}}
}

// unreadable returns the diagnosis for a check that lacks permission, and any other error as it is.
func unreadable(check, request string, err error) ([]diagnosis, error) {
	if apierrors.IsForbidden(err) {
		return one(checkUnknown, check, "you can't "+request, "ask for the permission, or for the result of this command"), nil
	}
	return nil, fmt.Errorf("%s: %w", request, err)
}

// leaving checks what to settle before OCM's own hub takes over.
func (d *doctor) leaving(ctx context.Context) (all []diagnosis, err error) {
	objects, err := preflight.List(ctx, d.objects, d.metadatas)
	if err != nil {
		return unreadable("leaving", "list manifestworkreplicasets, manifestworks and placementdecisions in all namespaces", forbiddenIn(err))
	}
	for _, f := range preflight.Leaving(objects) {
		result := checkWarn
		if f.Severity == preflight.Error {
			result = checkFail
		}
		all = append(all, diagnosis{Result: result, Check: string(f.Reason), Message: f.Object + ": " + f.What, Remedy: f.Remedy})
	}
	if len(all) == 0 {
		all = one(checkOK, "leaving", fmt.Sprintf("nothing to settle in %d ManifestWorkReplicaSets", len(objects.ReplicaSets)), "")
	}
	return all, nil
}

// forbiddenIn returns the part of a joined error that reports a missing permission, or the error itself.
func forbiddenIn(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // Only the outermost error is a join.
		for _, part := range joined.Unwrap() {
			if !apierrors.IsForbidden(part) {
				return part
			}
		}
		return joined.Unwrap()[0]
	}
	return err
}
