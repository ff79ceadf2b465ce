package cloudevents

import (
	"context"
	"encoding/json"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	eventtypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const (
	// maxEvent is the largest event from an agent, in bytes. The template in a report fits into the API server's limit of
	// 1.5 MB.
	maxEvent = 4 << 20
	// maxWorkMeta is the largest metadata of a work in an event, in bytes: the API server accepts 256 KiB of annotations.
	maxWorkMeta = 512 << 10
	// clusterBytes limits the memory for the events of a cluster that the hub has not processed yet.
	clusterBytes = 16 << 20
	// allBytes limits the memory for the events of all clusters together. Beyond this limit, each cluster may still use
	// assuredBytes.
	allBytes     = 128 << 20
	assuredBytes = 64 << 10
	// eventBytes is the memory for an event in addition to its data and its extensions.
	eventBytes = 2 << 10
	// turnEvents and turnBytes limit the number and size of a cluster's events that are read before the next cluster
	// has its turn.
	turnEvents = 32
	turnBytes  = 256 << 10
)

// letter is an event that waits to be read.
type letter struct {
	event cloudevents.Event
	size  int
}

// inbox holds the events of a cluster until they are read. Clusters take turns, so that a cluster that sends a lot does not delay the
// others.
type inbox struct {
	waiting []letter
	// came is the number of events that have arrived, and read is the number of events that were read.
	came, read int64
	// lost is true if an event was dropped for lack of memory while others waited.
	lost bool
}

// take reserves memory for a cluster, and reports whether enough was left. The caller holds mu.
func (s *store) take(c *cluster, n int) bool {
	used := c.bytes + n
	if used > clusterBytes || s.bytes+n > allBytes && used > assuredBytes {
		return false
	}
	c.bytes, s.bytes = used, s.bytes+n
	return true
}

// give releases memory. The caller holds mu.
func (s *store) give(c *cluster, n int) { c.bytes, s.bytes = c.bytes-n, s.bytes-n }

// post adds an event, and reports whether there was memory for it.
func (s *store) post(name string, l letter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	if !s.take(c, l.size) {
		c.lost = c.came > c.read
		return false
	}
	c.waiting = append(c.waiting, l)
	c.came++
	s.unread++
	return true
}

// nextLetter returns the next event of a cluster; false if there is none.
func (s *store) nextLetter(name string) (l letter, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	if len(c.waiting) == 0 {
		return letter{}, false
	}
	l, c.waiting[0] = c.waiting[0], letter{}
	c.waiting = c.waiting[1:]
	return l, true
}

// isRead records that an event of a cluster was read. It reports whether that was the last event and earlier events
// were dropped.
func (s *store) isRead(name string, l letter) (lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	s.give(c, l.size)
	c.read++
	s.unread--
	if c.read < c.came {
		return false
	}
	lost = c.lost
	c.waiting, c.lost = nil, false
	return lost
}

// mark returns a function that reports whether all events that a cluster has sent so far are read.
func (s *store) mark(name string) (isRead func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(name)
	came := c.came
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return c.read >= came
	}
}

// sizeOf returns the memory needed for an event, and the part of that memory used by the metadata of its work.
func sizeOf(event *cloudevents.Event) (size, meta int) {
	size = eventBytes + len(event.Data()) + len(event.ID()) + len(event.Source())
	for name, value := range event.Extensions() {
		text, _ := value.(string)
		if size += len(name) + len(text); name == eventtypes.ExtensionWorkMeta {
			meta = len(text)
		}
	}
	return size, meta
}

// costOf returns the approximate memory needed for a kept report.
func costOf(work *workv1.ManifestWork) int {
	data, err := json.Marshal(work)
	if err != nil {
		return maxEvent
	}
	return eventBytes + len(data)
}

// arrived queues an event from an agent until its cluster has its turn. It must not block, because the transport
// delivers one event at a time.
func (d *Driver) arrived(ctx context.Context, event cloudevents.Event) {
	cluster, ok := namedCluster(ctx, &event)
	size, meta := sizeOf(&event)
	why := Refusal("")
	switch {
	case !ok:
		why = RefusedCluster
	case size > maxEvent || meta > maxWorkMeta:
		why = RefusedSize
	case !d.store.post(cluster, letter{event, size}):
		why = RefusedQuota
	}
	if why != "" {
		d.refuse(ctx, why, cluster, "bytes", size)
		return
	}
	d.unread()
	d.tasks.Add(readTask{cluster})
}

// readTask reads events of a cluster, and lets other clusters have their turn.
type readTask struct{ cluster string }

func (t readTask) perform(ctx context.Context, d *Driver) (again time.Duration, err error) {
	for events, size := 0, 0; events < turnEvents && size < turnBytes; events++ {
		l, found := d.store.nextLetter(t.cluster)
		if !found {
			return 0, nil
		}
		d.read(ctx, t.cluster, &l.event)
		size += l.size
		if d.store.isRead(t.cluster, l) && d.mayAsk(t.cluster) {
			// Ask for the dropped events, because memory is available again.
			if err := d.link.ask(ctx, t.cluster); err != nil {
				klog.FromContext(ctx).V(2).Info("The agent was not asked again", "cluster", t.cluster, "error", err.Error())
			}
		}
	}
	d.tasks.Add(t)
	return 0, nil
}

// read checks an event from an agent, and processes it if the gate admits it.
func (d *Driver) read(ctx context.Context, cluster string, event *cloudevents.Event) {
	asks, why := d.gate.judge(cluster, event)
	if why != "" {
		d.refuse(ctx, why, cluster)
		return
	}
	d.store.hear(cluster)
	d.rush.note(cluster)
	if asks {
		d.metrics.EventReceived(ReceivedQuestion)
		d.sends.Add(answerTask{cluster})
		return
	}
	d.metrics.EventReceived(ReceivedReport)
	d.received(ctx, event, cluster)
}

// refuse counts and logs a dropped event.
func (d *Driver) refuse(ctx context.Context, why Refusal, cluster string, details ...any) {
	d.metrics.EventRefused(string(why))
	klog.FromContext(ctx).V(2).Info("Ignoring an event from an agent", append(details, "reason", why, "cluster", cluster)...)
}
