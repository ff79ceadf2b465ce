// Package cloudevents carries ManifestWorks to OCM's work agents over a broker (MQTT) or a gRPC server, with sdk-go's source client.
//
// An API server keeps works; a broker does not. So this package does what an API server would do for the rest of the hub:
//
//   - It keeps the works in memory (store), counts generations, and rejects a patch that was decided on an older version (client).
//   - After a restart the memory is empty. The hub asks the agents for their works (link). Each agent reports the metadata and the status
//     of its works; the content is that of the revision whose hash a work has (restore). No decision is made until the agents have reported
//     as many works as the ManifestWorkReplicaSets had, or until a timeout (Driver.Restore).
//   - It reports to the Connection when the broker is unreachable, and when it is reachable again (R11).
//
// docs/cloudevents.md lists the differences that remain.
package cloudevents
