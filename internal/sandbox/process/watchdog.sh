# Started as: sh -c <this> watchdog <directory>. Reads "add <pid>" and "del <pid>" lines until
# the process at the other end of standard input is gone, then cleans up after it.
trap '' INT TERM HUP
pids=' '
while read -r what pid; do
  case $what in
  add) pids="$pids$pid " ;;
  del) pids="${pids%% $pid *} ${pids#* $pid }" ;;
  esac
done
for pid in $pids; do
  kill -9 "$pid" 2>/dev/null
done
# A dying process may still write files: wait for each process before removing its directory. A dead process that its
# new parent has not collected yet still counts as running, so the wait is bounded.
tries=0
for pid in $pids; do
  while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
done
rm -rf -- "$1"
