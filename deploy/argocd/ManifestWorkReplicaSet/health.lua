if obj.metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "the object is being deleted"}
end
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "the hub has not observed this generation yet"}
end
for _, condition in ipairs(obj.status.conditions or {}) do
  if condition.type == "Stalled" and condition.status == "True" then
    return {status = "Degraded", message = condition.message}
  end
  if condition.type == "Reconciling" and condition.status == "True" then
    if obj.spec.paused then
      return {status = "Suspended", message = condition.message}
    end
    return {status = "Progressing", message = condition.message}
  end
end
return {status = "Healthy", message = "every selected cluster had this revision"}
