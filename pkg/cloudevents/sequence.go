package cloudevents

import (
	"strconv"
	"time"

	"github.com/bwmarrin/snowflake"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
)

// maxLate is how much later than its successor a report may arrive. No broker keeps reports for a hub that is away.
const maxLate = time.Minute

// isLater reports whether the sequence ID of a report is later than the one of an earlier report. An agent takes its sequence IDs from the
// clock that it had at its start. An ID that is far behind comes from another process of the agent, and one of the two clocks was wrong. If
// the hub ignored such reports, their cluster would fail (R11).
func isLater(earlier, sequence string) bool {
	later, err := utils.CompareSnowflakeSequenceIDs(earlier, sequence)
	if err != nil || later {
		return err == nil
	}
	return timeOf(earlier).Sub(timeOf(sequence)) > maxLate
}

// timeOf returns the time in a sequence ID; zero if it has none.
func timeOf(sequence string) time.Time {
	id, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(snowflake.ParseInt64(id).Time())
}
