// Package cloudevents carries ManifestWorks to OCM's work agents over a broker (MQTT) or a gRPC server, with sdk-go's codec and options.
//
// An API server stores works; a broker does not. So this package does what an API server would do for the rest of the hub:
//
//   - It keeps the works in memory (store), counts generations, and rejects a patch that is based on an older version (client).
//   - After a restart the memory is empty. The hub asks the agents for their works (link). Each agent reports the metadata and the status
//     of its works; the content comes from the revision whose hash a work has (restore). No decision is made until the agents have reported
//     as many works as the ManifestWorkReplicaSets had, or until a timeout (Driver.Restore).
//   - It reports to the Connection when the broker is unreachable, and when it is reachable again.
//
// The store has a record for each work, and an entry for each cluster. A broker may lose events, so the driver tracks
// each write until its work has settled (confirmTask). These are the states of a work:
//
//	                report of its             available, not
//	write ─► written ─ generation ─► confirmed ─ progressing ─► settled ◄──────────┐
//	          │                          ▲                         │             report
//	      sent again,                    │                     all agents          │
//	 its agent is there                  │                     are asked           │
//	          └──────► unreached ─ report of its generation        └──► unanswered ┘
//
// While a work is in a state:
//
//   - written: without a report for 15 seconds, the work is sent again and its agent is asked. Each pause is twice as long as the last. A
//     deleted work stays in this state until its agent reports that it is gone.
//   - confirmed: if the cluster is in progress for a long time, its agent is asked.
//   - settled: nothing is done. The record has no write.
//   - unanswered: if the agent does not report, it has lost the work or is offline. The work is sent again, like a written one.
//   - unreached: the work is sent again, and a condition and a metric name its cluster.
//
// A write moves a work from any state to written. Nothing is done while a report of the work waits to be processed, or while the broker is
// unreachable.
//
// docs/cloudevents.md lists the differences that remain.
package cloudevents
