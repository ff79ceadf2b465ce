// Package docs runs the commands of the documentation with a real kubectl, page by page, on a hub that OCM's own operator set up, with
// OCM's agents on its clusters and this project's binary as the operator's Deployment. The results of the commands are checked on the
// objects.
package docs
