package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/controlplane"
	"github.com/open-cluster-management-io/work-rollback/internal/sandbox/process"
)

// PodCommand returns the command with which a binary of this machine runs as the container of a Deployment, as a kubelet would run it: its
// arguments, its environment variables, its volumes of Secrets and empty directories, and the token of its ServiceAccount. Two things
// differ from a Pod. A file that is mounted at /x/y is at <directory of the Deployment>/x/y; TMPDIR points to the files under /tmp. And
// because client-go reads the token of a Pod from one fixed path of the machine, the arguments end with --kubeconfig, which names a file
// with that token. A Pod also has its own address; callers add flags that keep ports apart.
func PodCommand(ctx context.Context, group *process.Group, hub *controlplane.APIServer, deployment *appsv1.Deployment, binary string) (process.Command, error) {
	var none process.Command
	spec := &deployment.Spec.Template.Spec
	if len(spec.Containers) != 1 {
		return none, fmt.Errorf("the Deployment %s has %d containers: only one can be run here", deployment.Name, len(spec.Containers))
	}
	container := &spec.Containers[0]
	pod := &pod{deployment: deployment, dir: group.Path(hub.Name, "pods", deployment.Name)}
	variables, err := pod.environment(container)
	if err != nil {
		return none, err
	}
	words := append(expand(container.Command, variables), expand(container.Args, variables)...)
	if len(words) == 0 {
		return none, fmt.Errorf("the Deployment %s has no command, so only its image can run it", deployment.Name)
	}
	client, err := kubernetes.NewForConfig(hub.RESTConfig())
	if err != nil {
		return none, fmt.Errorf("creating a client for %s: %w", hub.Name, err)
	}
	if err := pod.mount(ctx, client, container); err != nil {
		return none, err
	}
	account, err := hub.ServiceAccountConfig(ctx, deployment.Namespace, spec.ServiceAccountName)
	if err != nil {
		return none, err
	}
	kubeconfig := filepath.Join(pod.dir, "kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, hub.Name, account); err != nil {
		return none, err
	}
	command := process.Command{Name: deployment.Name, Path: binary, Args: append(words[1:], "--kubeconfig="+kubeconfig)}
	for name, value := range variables {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Env = append(command.Env, "TMPDIR="+filepath.Join(pod.dir, "tmp"))
	return command, nil
}

// pod contains the files and settings of a Deployment on this machine.
type pod struct {
	deployment *appsv1.Deployment
	dir        string
}

func (p *pod) environment(container *corev1.Container) (map[string]string, error) {
	variables := map[string]string{}
	for _, variable := range container.Env {
		value := variable.Value
		if source := variable.ValueFrom; source != nil {
			switch {
			case source.FieldRef != nil && source.FieldRef.FieldPath == "metadata.name":
				value = p.deployment.Name + "-0"
			case source.FieldRef != nil && source.FieldRef.FieldPath == "metadata.namespace":
				value = p.deployment.Namespace
			default:
				return nil, fmt.Errorf("the Deployment %s reads the variable %s from a source that only a kubelet can read: extend PodCommand", p.deployment.Name, variable.Name)
			}
		}
		variables[variable.Name] = value
	}
	return variables, nil
}

// expand replaces $(NAME), as a kubelet does.
func expand(words []string, variables map[string]string) []string {
	pairs := make([]string, 0, 2*len(variables))
	for name, value := range variables {
		pairs = append(pairs, "$("+name+")", value)
	}
	replacer := strings.NewReplacer(pairs...)
	expanded := make([]string, len(words))
	for i, word := range words {
		expanded[i] = replacer.Replace(word)
	}
	return expanded
}

// mount creates the container's volumes.
func (p *pod) mount(ctx context.Context, client kubernetes.Interface, container *corev1.Container) error {
	if err := os.MkdirAll(filepath.Join(p.dir, "tmp"), 0o700); err != nil {
		return fmt.Errorf("creating the directory of the Deployment %s: %w", p.deployment.Name, err)
	}
	volumes := map[string]corev1.VolumeSource{}
	for _, volume := range p.deployment.Spec.Template.Spec.Volumes {
		volumes[volume.Name] = volume.VolumeSource
	}
	for _, mount := range container.VolumeMounts {
		var files map[string][]byte
		switch source := volumes[mount.Name]; {
		case source.EmptyDir != nil:
		case source.Secret != nil:
			secret, err := client.CoreV1().Secrets(p.deployment.Namespace).Get(ctx, source.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("reading what the Deployment %s mounts at %s: %w", p.deployment.Name, mount.MountPath, err)
			}
			files = secret.Data
		default:
			return fmt.Errorf("the Deployment %s mounts a volume at %s that is neither a Secret nor empty: extend PodCommand", p.deployment.Name, mount.MountPath)
		}
		if err := writeFiles(filepath.Join(p.dir, mount.MountPath), files); err != nil {
			return fmt.Errorf("writing what the Deployment %s mounts at %s: %w", p.deployment.Name, mount.MountPath, err)
		}
	}
	return nil
}

func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
