obj.status.abortedTime = nil
return obj
