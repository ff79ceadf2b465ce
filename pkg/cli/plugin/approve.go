package plugin

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

func newApprove(o *options) *cobra.Command {
	flags := &actOptions{}
	cmd := o.acting(view.VerbApprove, flags, &cobra.Command{
		Short: "Approve a revision for a decision group that is waiting for it",
		Long: "Approve the revision being rolled out for a decision group with approval: Required.\n" +
			"The approval applies to this revision only. Your user name is recorded. Without --group, approve the only group that\n" +
			"waits.",
		Example: `  # Approve the group that waits
  kubectl mwrs approve web

  # Approve a group before it has its turn
  kubectl mwrs approve web --group stores`,
	})
	cmd.Flags().StringVar(&flags.Group, "group", "", "The groupName, or the groupIndex, of the group to approve")
	completes(cmd, "group", o.completing(inSet(view.Unapproved)))
	flags.addYes(cmd)
	return cmd
}

func newReject(o *options) *cobra.Command {
	flags := &actOptions{}
	cmd := o.acting(view.VerbAbort, flags, &cobra.Command{
		Use: "reject NAME --reason REASON", Args: cobra.ExactArgs(1), ValidArgsFunction: o.completing(findNames),
		Short: "Reject the revision being rolled out: abort its rollout, with a reason",
		Long: "Reject the revision being rolled out, instead of approving it for the next group. This aborts the rollout, as the\n" +
			"abort command does: the hub writes the current revision to every cluster at once. The spec does not change. The reason\n" +
			"and your user name are recorded on the revision.",
		Example: `  kubectl mwrs reject web --reason='canary shows errors'`,
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if flags.Reason == "" {
			return errors.New("--reason is required")
		}
		return validReason(flags.Reason)
	}
	cmd.Flags().StringVar(&flags.Reason, "reason", "", "The reason for the rejection, at most 256 bytes")
	flags.addYes(cmd)
	return cmd
}
