package forecast

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// Scene is the state of a cluster in a film.
type Scene uint8

// The scenes.
const (
	SceneWaiting Scene = iota
	SceneInFlight
	SceneDegraded
	SceneSucceeded
	SceneFailed
	// SceneRestoring means that the rollout was aborted, and that the cluster does not run the older revision yet.
	SceneRestoring
)

// Frame holds the changes at one time of a film.
type Frame struct {
	// At is the time since the start of the rollout.
	At time.Duration
	// Clusters are the places of the changed clusters in the fleet, in the order of the placementRefs and groups. Scenes are their scenes.
	Clusters []int
	Scenes   []Scene
}

// Film simulates one run, and returns its frames. Each cluster begins with SceneWaiting. It asks before each
// pass whether to go on. The input must be valid.
func Film(in *Input, index int, alive func() bool) (Result, []Frame, error) {
	r := newRun(in, index)
	scenes, frames := make([]Scene, len(r.clusters)), []Frame(nil)
	take := func() {
		frame := Frame{At: r.now.Sub(epoch)}
		for i := range r.clusters {
			if scene := r.scene(&r.clusters[i]); scene != scenes[i] {
				scenes[i] = scene
				frame.Clusters, frame.Scenes = append(frame.Clusters, i), append(frame.Scenes, scene)
			}
		}
		if len(frame.Clusters) > 0 {
			frames = append(frames, frame)
		}
	}
	r.watch = func(*run, *rollout.Plan) { take() }
	result, err := r.play(alive)
	take()
	return result, frames, err
}

func (r *run) scene(c *cluster) Scene {
	_, failed := r.s.Records.Failures[c.name]
	switch {
	case r.s.Aborted && c.written && c.backAt.IsZero():
		return SceneRestoring
	case r.s.Aborted:
		return SceneSucceeded
	case failed:
		return SceneFailed
	case !c.written:
		return SceneWaiting
	case !c.work.SucceededSince.IsZero():
		return SceneSucceeded
	case meta.IsStatusConditionTrue(c.work.Object.Status.Conditions, workv1.WorkDegraded):
		return SceneDegraded
	}
	return SceneInFlight
}
