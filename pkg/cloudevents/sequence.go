package cloudevents

import (
	"strconv"
	"time"

	"github.com/bwmarrin/snowflake"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
)

// agentSkew is how far an agent's clock may be ahead of the hub's while the order of its sequence IDs still counts.
const agentSkew = time.Minute

// isLater reports whether the sequence ID of a report is later than the one of an earlier report. An agent takes its sequence IDs from the
// clock that it had at its start. If that clock was ahead, and was right at the agent's next start, the new IDs are smaller. They count as
// later, or the hub would ignore the agent for hours, and its cluster would fail (R11).
func isLater(earlier, sequence string, now time.Time) bool {
	later, err := utils.CompareSnowflakeSequenceIDs(earlier, sequence)
	if err != nil || later {
		return err == nil
	}
	latest := now.Add(agentSkew)
	return timeOf(earlier).After(latest) && !timeOf(sequence).After(latest)
}

// timeOf returns the time in a sequence ID; zero if it has none.
func timeOf(sequence string) time.Time {
	id, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(snowflake.ParseInt64(id).Time())
}
