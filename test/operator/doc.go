// Package operator tests the work hub in its real environment: on a hub that OCM's ClusterManager operator set up, as the Deployment that
// the operator writes, with the permissions from the operator and deploy/. All parts are OCM's or this project's. Only the kubelet is
// simulated.
package operator
