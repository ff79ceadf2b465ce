// Package worktest has a ManifestWork client for tests.
package worktest

import (
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	workfake "open-cluster-management.io/api/client/work/clientset/versioned/fake"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Client returns a client for an API server with some works.
func Client(works ...runtime.Object) *workfake.Clientset {
	return workfake.NewSimpleClientset(works...) //nolint:staticcheck // The API module generates no apply configurations.
}

// Answering returns a client that calls a function for requests with a verb ("*" for all).
func Answering(verb string, answer func(clienttesting.Action) (*workv1.ManifestWork, error)) *workfake.Clientset {
	client := Client()
	client.PrependReactor(verb, "manifestworks", func(action clienttesting.Action) (bool, runtime.Object, error) {
		work, err := answer(action)
		return true, work, err
	})
	return client
}

// Asked returns the number of requests with a verb.
func Asked(client *workfake.Clientset, verb string) (n int) {
	for _, action := range client.Actions() {
		if action.GetVerb() == verb {
			n++
		}
	}
	return n
}
