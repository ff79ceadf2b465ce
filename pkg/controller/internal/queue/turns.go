package queue

// turns is the order of a lane. The tenants take turns, and each tenant's objects are served in the order in which they
// were added. A tenant with a thousand objects delays another tenant by one pass, not by a thousand. The workqueue that
// uses it calls it from one goroutine at a time.
type turns struct {
	keys    map[string][]string
	tenants []string
	length  int
}

func newTurns() *turns { return &turns{keys: map[string][]string{}} }

// Touch implements workqueue.Queue.
func (t *turns) Touch(string) {}

// Len implements workqueue.Queue.
func (t *turns) Len() int { return t.length }

// Push implements workqueue.Queue.
func (t *turns) Push(key string) {
	tenant := tenantOf(key)
	if len(t.keys[tenant]) == 0 {
		t.tenants = append(t.tenants, tenant)
	}
	t.keys[tenant] = append(t.keys[tenant], key)
	t.length++
}

// Pop implements workqueue.Queue.
func (t *turns) Pop() string {
	tenant := t.tenants[0]
	t.tenants = t.tenants[1:]
	key := t.keys[tenant][0]
	if t.keys[tenant] = t.keys[tenant][1:]; len(t.keys[tenant]) > 0 {
		t.tenants = append(t.tenants, tenant)
	} else {
		delete(t.keys, tenant)
	}
	t.length--
	return key
}
