package cloudevents

import (
	"strconv"
	"time"

	"github.com/bwmarrin/snowflake"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
)

// maxLate is the longest time by which a report may arrive after a newer one. Brokers do not keep reports while the hub is disconnected.
const maxLate = time.Minute

// isLater reports whether a report with the given sequence ID is later than an earlier report. An agent derives its sequence IDs from the
// clock at the time the agent starts. If an ID is far behind, the agent has restarted, and its clock was wrong before or after the
// restart. If the hub ignored such reports, the cluster would fail.
func isLater(earlier, sequence string) bool {
	later, err := utils.CompareSnowflakeSequenceIDs(earlier, sequence)
	if err != nil || later {
		return err == nil
	}
	return timeOf(earlier).Sub(timeOf(sequence)) > maxLate
}

// timeOf returns the time that a sequence ID contains, or the zero time if the ID is not valid.
func timeOf(sequence string) time.Time {
	id, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(snowflake.ParseInt64(id).Time())
}
