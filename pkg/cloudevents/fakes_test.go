package cloudevents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
)

type fakeConnection struct {
	mu     sync.Mutex
	events []string
}

func (c *fakeConnection) Lost(name string) { c.note("lost " + name) }
func (c *fakeConnection) Back(name string, settle time.Duration) {
	c.note(fmt.Sprintf("back %s %s", name, settle))
}

func (c *fakeConnection) note(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, event)
}

func (c *fakeConnection) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// fakeOwners holds templates by "namespace/name/hash", owners by "namespace/name", and the clusters that an owner does not select by
// "namespace/name!cluster".
type fakeOwners map[string]*workv1.ManifestWorkSpec

func (o fakeOwners) Find(_ context.Context, claim Claim) (Owner, error) {
	key := claim.Namespace + "/" + claim.Name
	owner := Owner{Selection: Selected, Template: o[key+"/"+claim.Hash]}
	_, owner.Exists = o[key]
	if _, not := o[key+"!"+claim.Cluster]; not {
		owner.Selection, owner.Template = Unselected, nil
	}
	return owner, nil
}

func (o fakeOwners) Gone(_ context.Context, namespace, name string) (bool, error) {
	_, exists := o[namespace+"/"+name]
	return !exists, nil
}

// brokenOwners returns an error for every request.
type brokenOwners struct{}

func (brokenOwners) Find(context.Context, Claim) (Owner, error) {
	return Owner{}, errors.New("the API server is away")
}

func (brokenOwners) Gone(context.Context, string, string) (bool, error) {
	return false, errors.New("the API server is away")
}

// refusals counts the refused events by reason, and the other metrics by name.
type refusals struct {
	mu     sync.Mutex
	counts map[string]int
}

func newRefusals() *refusals { return &refusals{counts: map[string]int{}} }

func (r *refusals) EventResent()      {}
func (r *refusals) ReportsUnread(int) {}

func (r *refusals) AgentsUnreached(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts["unreached"] = n
}

func (r *refusals) EventSent(action string)   { r.count("sent " + action) }
func (r *refusals) EventReceived(kind string) { r.count("received " + kind) }

func (r *refusals) Reconnected() { r.count("reconnected") }

func (r *refusals) Connected(yes bool) { r.count(fmt.Sprint("connected ", yes)) }

func (r *refusals) EventRefused(reason string) { r.count(reason) }

func (r *refusals) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *refusals) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func (r *refusals) of(why Refusal) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[string(why)]
}
