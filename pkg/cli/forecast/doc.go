// Package forecast looks ahead: it runs the hub's own decision code (rollout.Decide) against a simulated fleet and a simulated clock.
//
// It is pure: it has no client and no clock, and its random numbers come from a seed. The same input, seed and run index give the same
// result. docs/contributing/simulation.md describes the model for users.
//
//	What is simulated? What must a caller provide?         input.go
//	What does each cluster do with a revision?             fates.go
//	How does a pass of the hub act on the fleet?           run.go; fleet.go: the ManifestWorks and the agents; stage.go: what all runs share
//	What do many runs show, and how exactly?               stats.go
//	What would change the result?                          variants.go
//	In which waves does a rollout continue?                waves.go
//	What happens if no cluster reports anything new?       outlook.go
package forecast
