local deleting = obj.metadata.deletionTimestamp ~= nil
local paused = obj.spec.paused == true
local status = obj.status or {}
local aborted = status.abortedTime ~= nil
local current = status.currentRevision or ""
-- Without an older revision there is nothing to go back to.
local abortable = not aborted and current ~= "" and current ~= status.updateRevision
return {
  abort = {disabled = deleting or not abortable},
  retry = {disabled = deleting or not aborted},
  pause = {disabled = deleting or paused},
  resume = {disabled = deleting or not paused},
}
