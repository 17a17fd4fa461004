#!/bin/sh
# step NAME [BODY]: writes "begin NAME ATTEMPT PID" into the ledger, does BODY (shell), then writes "end …", or "fail …" if
# BODY failed, and exits as BODY did. Killed in between it writes nothing more. "overlap …" means that an earlier step of
# that name was still alive. In BODY:
#   hold [GATE]   waits until the test opens the gate (NAME where none is given)
#   meet NAME…    waits until the steps of these names have begun
name=$1
body=${2:-:}

note() { echo "$1 $name ${ONWARD_ATTEMPT:--} $$" >> "$TESTKIT_LEDGER"; }
hold() { until [ -e "$TESTKIT_GATES/${1:-$name}" ]; do sleep 0.01; done; }
meet() { for other; do until grep -q "^begin $other " "$TESTKIT_LEDGER"; do sleep 0.01; done; done; }

# The start time of a process that lives; nothing for one that is gone. Together with the id it names one process only.
born() {
    { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 0
    set -f
    set -- ${stat##*) }
    set +f
    case $1 in Z | X) ;; *) echo "${20}" ;; esac
}

# Writes itself down first and looks for others then: of two that start at once at least one sees the other.
live=$TESTKIT_LIVE/$name
mkdir -p "$live"
born $$ > "$live/$$"
for other in "$live"/*; do
    pid=${other##*/}
    if [ "$pid" != $$ ]; then
        since=$(cat "$other" 2>/dev/null)
        if [ -n "$since" ] && [ "$since" = "$(born "$pid")" ]; then note overlap; fi
    fi
done

note begin
(eval "$body")
code=$?
rm -f "$live/$$"
if [ $code = 0 ]; then note end; else note fail; fi
exit $code
