package dashboard

import (
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

// Picture is one ManifestWorkReplicaSet at one time, as the page shows it.
type Picture struct {
	Head Head
	// Groups divide the cells into parts, in the order in which the hub rolls out to them.
	Groups []Group
	Cells  []Cell
}

// Group is a decision group of a placementRef. Its cells follow those of the group before.
type Group struct {
	Placement string `json:"placement"`
	Name      string `json:"name,omitempty"`
	Size      int    `json:"size"`
}

// Head is everything except the cells. Times are Unix seconds; zero means unknown.
type Head struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	State     string         `json:"state"`
	Since     int64          `json:"since,omitempty"`
	Summary   string         `json:"summary"`
	Why       string         `json:"why,omitempty"`
	Reached   string         `json:"reached,omitempty"`
	Alarms    []view.Alarm   `json:"alarms,omitempty"`
	Then      []Fact         `json:"then,omitempty"`
	Estimate  *Estimate      `json:"estimate,omitempty"`
	Causes    []Cause        `json:"causes"`
	Revisions []Revision     `json:"revisions"`
	Events    []Event        `json:"events"`
	Bars      []view.Bar     `json:"bars"`
	Notes     []string       `json:"notes"`
	Offers    []view.Offer   `json:"offers"`
	Counts    map[string]int `json:"counts"`
	Selected  int            `json:"selected"`
}

// Estimate is the expected end of a rollout.
type Estimate struct {
	Wave        int64 `json:"wave"`
	Rollout     int64 `json:"rollout"`
	EachSeconds int64 `json:"eachSeconds"`
	Clusters    int   `json:"clusters"`
}

// Cause is a cause of failures.
type Cause struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Clusters int    `json:"clusters"`
}

// Revision is a revision of the history.
type Revision struct {
	Number      int64  `json:"number"`
	Hash        string `json:"hash"`
	State       string `json:"state"`
	Update      bool   `json:"update,omitempty"`
	Current     bool   `json:"current,omitempty"`
	Now         int32  `json:"now"`
	Reached     *int32 `json:"reached,omitempty"`
	Started     int64  `json:"started,omitempty"`
	Ended       int64  `json:"ended,omitempty"`
	AbortReason string `json:"abortReason,omitempty"`
	ChangeCause string `json:"changeCause,omitempty"`
	CreatedBy   string `json:"createdBy,omitempty"`
	Stored      bool   `json:"stored,omitempty"`
}

// Event is an entry of the timeline.
type Event struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
	Bad  bool   `json:"bad,omitempty"`
}

// Story is the past and the expected future of one cluster.
type Story struct {
	Cluster Cell   `json:"cluster"`
	Past    []Fact `json:"past"`
	Future  []Fact `json:"future"`
	Assumed string `json:"assumed,omitempty"`
}

// Fact is an event of a cluster.
type Fact struct {
	At   int64  `json:"at,omitempty"`
	Text string `json:"text"`
}

// pictureOf returns the picture of some objects.
func pictureOf(o *view.Objects) *Picture {
	fleet, clusters := view.Of(o), view.Clusters(o)
	p := &Picture{Head: headOf(o, fleet)}
	p.fill(view.GroupsOf(o, clusters), clusters, fleet.Causes)
	for i := range p.Cells {
		p.Head.Counts[p.Cells[i].State]++
	}
	return p
}

func headOf(o *view.Objects, f *view.Fleet) Head {
	h := Head{
		Namespace: f.Namespace, Name: f.Name, State: string(f.State), Since: unix(f.Since), Summary: f.Summary, Why: f.Why,
		Reached: reachedText(f.Reached), Notes: append([]string{}, f.Notes...), Bars: append([]view.Bar{}, f.Bars...),
		Counts: map[string]int{}, Selected: view.Selected(o.ReplicaSet), Offers: view.Offers(o),
		Causes: []Cause{}, Revisions: []Revision{}, Events: []Event{}, Then: factsOf(f.Then), Alarms: f.Alarms,
	}
	if e := f.Estimate; e != nil {
		h.Estimate = &Estimate{Wave: unix(e.Wave), Rollout: unix(e.Rollout), EachSeconds: int64(e.Each.Seconds()), Clusters: e.Clusters}
	}
	for i := range f.Causes {
		c := &f.Causes[i]
		h.Causes = append(h.Causes, Cause{Reason: string(c.Reason), Message: c.Message, Clusters: len(c.Clusters)})
	}
	for i := range f.Revisions {
		r := &f.Revisions[i]
		h.Revisions = append(h.Revisions, Revision{
			Number: r.Number, Hash: r.Hash, State: string(r.State), Update: r.Update, Current: r.Current, Now: r.Now, Reached: r.Reached,
			Started: unix(r.Started), Ended: unix(r.Ended), AbortReason: r.AbortReason, ChangeCause: r.ChangeCause, CreatedBy: r.CreatedBy,
			Stored: r.Stored,
		})
	}
	for _, e := range view.Timeline(o) {
		h.Events = append(h.Events, Event{At: unix(e.At), Text: e.Text, Bad: e.Bad})
	}
	if f.State == workv1alpha1.StatePaused && !f.Since.IsZero() {
		h.Events = append(h.Events, Event{At: unix(f.Since), Text: "the rollout was paused"})
	}
	return h
}

func storyOf(s *view.Story) *Story {
	return &Story{Cluster: cellOf(&s.Cluster), Past: factsOf(s.Past), Future: factsOf(s.Future), Assumed: s.Assumed}
}

func factsOf(facts []view.Fact) []Fact {
	out := make([]Fact, 0, len(facts))
	for i := range facts {
		out = append(out, Fact{At: unix(facts[i].At), Text: facts[i].Text})
	}
	return out
}

func unix(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Unix()
}
