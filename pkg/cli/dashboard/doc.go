// Package dashboard serves a page for one user on localhost: a picture of the rollouts on a hub. It draws the same views as the commands of
// the plugin (package view). It acts through the plugin's own functions, which the caller passes as a Hub.
//
//	What does the page need from a hub?                       hub.go
//	Who may talk to the server?                               guard.go
//	Which requests are there?                                 server.go
//	What does the page know about one rollout?                picture.go
//	How does the page get the newest state?                   room.go
//	What does the browser run?                                page, embedded by assets.go
//
// The credentials of the kubeconfig stay in the process. docs/dashboard.md describes the page and its security for users.
package dashboard
