package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/metadata"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/worklist"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
)

// finder returns the completions of an argument or a flag. args are the arguments before it.
type finder func(ctx context.Context, c *clients, args []string) ([]string, error)

// completing returns a completion function that offers the results of a finder.
func (o *options) completing(find finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := o.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := find(cmd.Context(), c, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// findNames finds the ManifestWorkReplicaSets for the first argument, and nothing for further arguments.
func findNames(ctx context.Context, c *clients, args []string) ([]string, error) {
	if len(args) > 0 {
		return nil, nil
	}
	return namesOf(ctx, c.metadatas.Resource(workv1alpha1.ManifestWorkReplicaSetResource).Namespace(c.namespace))
}

func findNamespaces(ctx context.Context, c *clients, _ []string) ([]string, error) {
	return namesOf(ctx, c.metadatas.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")))
}

// namesOf returns the names of objects. It lists only their metadata, because a template can have hundreds of kilobytes.
func namesOf(ctx context.Context, client metadata.ResourceInterface) ([]string, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// findClusters finds the ManifestWorkReplicaSet for the first argument, and for the next one the clusters that have its ManifestWorks.
func findClusters(ctx context.Context, c *clients, args []string) ([]string, error) {
	if len(args) != 1 {
		return findNames(ctx, c, args)
	}
	works, err := worklist.Metadata(ctx, c.metadatas, workv1alpha1.WorkSelector(c.namespace, args[0]))
	if err != nil {
		return nil, err
	}
	clusters := sets.New[string]()
	for i := range works {
		clusters.Insert(works[i].Cluster())
	}
	return sets.List(clusters), nil
}

// findRetried finds the ManifestWorkReplicaSet for the first argument, and for the others its failed clusters that the arguments do not
// name yet.
func findRetried(ctx context.Context, c *clients, args []string) ([]string, error) {
	if len(args) == 0 {
		return findNames(ctx, c, args)
	}
	return inSet(func(set *workv1alpha1.ManifestWorkReplicaSet) (failed []string) {
		for i := range set.Status.Failures {
			if cluster := set.Status.Failures[i].Cluster; !slices.Contains(args[1:], cluster) {
				failed = append(failed, cluster)
			}
		}
		return failed
	})(ctx, c, args)
}

// inSet returns a finder that searches the ManifestWorkReplicaSet that the first argument names.
func inSet(find func(*workv1alpha1.ManifestWorkReplicaSet) []string) finder {
	return func(ctx context.Context, c *clients, args []string) ([]string, error) {
		if len(args) == 0 {
			return nil, nil
		}
		set, err := c.set(ctx, args[0])
		if err != nil {
			return nil, err
		}
		return find(set), nil
	}
}

// revisionNumbers returns the numbers of the revisions with their descriptions.
func revisionNumbers(set *workv1alpha1.ManifestWorkReplicaSet) (numbers []string) {
	for _, r := range view.Revisions(&view.Objects{ReplicaSet: set}) {
		numbers = append(numbers, fmt.Sprintf("%d\t%s %s", r.Number, r.State, plain.Line(r.ChangeCause)))
	}
	return numbers
}

// findContexts finds the contexts of the kubeconfig.
func (o *options) findContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	config, err := o.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// revisionFlag adds a flag with the number of a revision.
func (o *options) revisionFlag(cmd *cobra.Command, to *int64, name, usage string) {
	cmd.Flags().Int64Var(to, name, 0, usage)
	completes(cmd, name, o.completing(inSet(revisionNumbers)))
}

func completes(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // The flag does not exist: a bug.
	}
}

// choice is a flag with one of a few values.
type choice struct {
	value *string
	of    []string
}

// String implements pflag.Value.
func (c *choice) String() string { return *c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// Set implements pflag.Value.
func (c *choice) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return fmt.Errorf("use %s", either(c.of))
	}
	*c.value = value
	return nil
}

// choiceFlag adds a flag with one of a few values.
func choiceFlag(cmd *cobra.Command, to *string, name, short, usage string, of ...string) {
	cmd.Flags().VarP(&choice{to, of}, name, short, usage+": "+either(of))
	completes(cmd, name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// either lists the values of a choice.
func either(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// stateNames are the states in the words of the flag.
func stateNames() []string {
	var names []string
	for _, state := range view.States() {
		names = append(names, strings.ToLower(string(state)))
	}
	return names
}

// completeStates completes the last state in a list.
func completeStates(_ *cobra.Command, _ []string, part string) ([]string, cobra.ShellCompDirective) {
	before := part[:strings.LastIndexByte(part, ',')+1]
	names := stateNames()
	for i := range names {
		names[i] = before + names[i]
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
