// Package cloudevents carries ManifestWorks to OCM's work agents over a broker (MQTT) or a gRPC server, with sdk-go's source client.
//
// An API server keeps works; a broker does not. So this package does what an API server would do for the rest of the hub:
//
//   - It keeps the works in memory (store), counts generations, and refuses a patch that was decided on an older version (client).
//   - After a restart the memory is empty. The agents are asked what they have (link); each reports the metadata and the status of its
//     works, not their content, which is that of the revision whose hash a work has (restore). Until as many works are known again as
//     the ManifestWorkReplicaSets had, for some time at most, nothing is decided (Driver.Restore).
//   - It reports to the Connection when the broker is away, and when it is back (R11).
//
// What it can't make up for is in docs/cloudevents.md.
package cloudevents
