package dashboard

import (
	"cmp"
	"slices"
	"time"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
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
	Headline  Headline       `json:"headline"`
	Why       string         `json:"why,omitempty"`
	Reached   string         `json:"reached,omitempty"`
	Alarms    []view.Alarm   `json:"alarms,omitempty"`
	Then      []Fact         `json:"then,omitempty"`
	Causes    []Cause        `json:"causes"`
	Revisions []Revision     `json:"revisions"`
	Events    []Event        `json:"events"`
	Bars      []view.Bar     `json:"bars"`
	Notes     []string       `json:"notes"`
	Offers    []view.Offer   `json:"offers"`
	Counts    map[string]int `json:"counts"`
	Selected  int            `json:"selected"`
}

// Headline is the state in one sentence, in which the page fills in the time.
type Headline struct {
	Before string     `json:"before"`
	At     int64      `json:"at,omitempty"`
	After  string     `json:"after,omitempty"`
	Level  view.Level `json:"level"`
}

// Cause is what keeps clusters from succeeding. Its cells have its index.
type Cause struct {
	State string `json:"state"`
	// Reason is the reason of a recorded failure; empty if the state tells it.
	Reason   string `json:"reason,omitempty"`
	Text     string `json:"text"`
	Clusters int    `json:"clusters"`
	// Since is when the first of the clusters came into this state, and At is when the first of them gets into the state Then.
	Since int64  `json:"since,omitempty"`
	Then  string `json:"then,omitempty"`
	At    int64  `json:"at,omitempty"`
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
		cell := &p.Cells[i]
		p.Head.Counts[cell.State]++
		if cell.Cause > 0 {
			p.Head.Causes[cell.Cause-1].add(cell)
		}
	}
	if fleet.State == workv1alpha1.StateAborted && p.Head.Counts[string(view.StateRestoring)] > 0 {
		p.Head.State = string(workv1alpha1.StateAborting) // The hub has written every ManifestWork, but not every agent has confirmed.
	}
	return p
}

func headOf(o *view.Objects, f *view.Fleet) Head {
	h := Head{
		Namespace: f.Namespace, Name: f.Name, State: string(f.State), Since: unix(f.Since), Why: f.Why,
		Headline: Headline{f.Headline.Before, unix(f.Headline.At), f.Headline.After, f.Headline.Level},
		Reached:  reachedText(f.Reached), Notes: append([]string{}, f.Notes...), Bars: append([]view.Bar{}, f.Bars...),
		Counts: map[string]int{}, Selected: view.Selected(o.ReplicaSet), Offers: view.Offers(o),
		Causes: []Cause{}, Revisions: []Revision{}, Events: []Event{}, Then: factsOf(f.Then), Alarms: f.Alarms,
	}
	for i := range f.Causes {
		c := &f.Causes[i]
		cause := Cause{State: string(c.State), Text: c.Told(), Clusters: len(c.Clusters)}
		if string(c.Reason) != cause.State {
			cause.Reason = string(c.Reason)
		}
		h.Causes = append(h.Causes, cause)
	}
	for i := range f.Revisions {
		r := &f.Revisions[i]
		h.Revisions = append(h.Revisions, Revision{
			Number: r.Number, Hash: r.Hash, State: string(r.State), Update: r.Update, Current: r.Current, Now: r.Now, Reached: r.Reached,
			Started: unix(r.Started), Ended: unix(r.Ended), AbortReason: r.AbortReason, ChangeCause: r.ChangeCause, CreatedBy: r.CreatedBy,
			Stored: r.Stored,
		})
	}
	for _, e := range slices.Backward(view.Timeline(o)) {
		h.Events = append(h.Events, Event{At: unix(e.At), Text: e.Text, Bad: e.Bad})
	}
	if f.State == workv1alpha1.StatePaused && !f.Since.IsZero() {
		h.Events = append(h.Events, Event{At: unix(f.Since), Text: "the rollout was paused"})
	}
	slices.SortStableFunc(h.Events, func(a, b Event) int { return cmp.Compare(b.At, a.At) }) // The newest first.
	return h
}

// add adds the times of a cluster that has the cause.
func (c *Cause) add(cell *Cell) {
	if cell.State != c.State {
		return
	}
	if cell.Since > 0 && (c.Since == 0 || cell.Since < c.Since) {
		c.Since = cell.Since
	}
	if cell.ChangesAt > 0 && (c.At == 0 || cell.ChangesAt < c.At) {
		c.At, c.Then = cell.ChangesAt, cell.Then
	}
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
