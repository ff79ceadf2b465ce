// Package operator shows the work hub where it is to run: on a hub that OCM's ClusterManager operator set up, as the Deployment that
// the operator writes, with the rights that the operator and deploy/ give it. All parts are OCM's own or this project's; only the
// kubelet is played.
package operator
