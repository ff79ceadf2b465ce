obj.status.abortedTime = os.date("!%Y-%m-%dT%H:%M:%SZ")
return obj
