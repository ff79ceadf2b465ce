obj.spec.paused = false
return obj
