#!/bin/bash
# deed WORD...: the work of one attempt, with one effect. Every line goes into the ledger of effects, which lies outside the
# project and is only ever appended to:
#
#   WHAT RUN PHASE ATTEMPT KEY PID BORN MICROSECONDS
#
# `begin` and `end` (or `fail`) are the main process, `effect` is the one thing that must not happen twice, `overlap` says that
# a process of another attempt of the same phase was alive. Words:
#
#   for=MS     works so long        child    the effect is done by a child, in the background
#   closes     closes every descriptor it inherited        session  ... by a child in a session of its own
#   deaf       hears neither INT nor TERM                  orphan   ... by a grandchild whose parent has gone
#   leaves     leaves a process behind when it is done     bare     ... by a child with an emptied environment
#   posts      merges into the state of its run            fails, limited, replans  do so the first time
#   output=K=V gives out a value                           file=PATH  leaves a file
#
# All of it stands in one group: bash reads it whole before it closes the descriptor that it reads from.
{
started() { # PID: when it was born; nothing for one that is gone
    local stat
    { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 0
    set -f -- ${stat##*) }
    set +f
    case $1 in Z | X) ;; *) born=${20} ;; esac
}

note() { printf '%s %s %s %s %s %s %s %s\n' "$1" "$run" "$phase" "$attempt" "$key" $$ "$own" "${EPOCHREALTIME/[.,]/}" >> "$RIG/ledger"; }

# Writes itself down first and looks for others then: of two that start at once at least one sees the other.
enter() {
    local other rest
    born= ; started $$ ; own=$born
    slug=$run~${phase//\//%}
    echo "$own" > "$RIG/live/$slug~$attempt~$$"
    for other in "$RIG/live/$slug~"*; do
        rest=${other##*/}
        rest=${rest#"$slug~"}
        [ "${rest%%~*}" != "$attempt" ] || continue
        born= ; started "${rest##*~}"
        [ -n "$born" ] && [ "$born" = "$(cat "$other" 2>/dev/null)" ] && note "overlap:${rest%%~*}"
    done
}

leave() { rm -f "$RIG/live/$slug~$attempt~$$"; }

# True the first time that this run gets here.
first() { mkdir "$RIG/once/$run~${phase//\//%}~$1" 2>/dev/null; }

pause() { # MILLISECONDS
    local ms=$1
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

if [ "$1" = __child ]; then
    run=$2 phase=$3 attempt=$4 key=$5
    enter
    pause "$6"
    note effect
    : > "$RIG/once/$run~${phase//\//%}~$attempt~did"
    pause "$6"
    leave
    exit 0
fi

run=$ONWARD_RUN phase=$ONWARD_PHASE attempt=$ONWARD_ATTEMPT key=$ONWARD_KEY
ms=60 by=self ends= outputs=()
for word; do
    case $word in
        for=*) ms=${word#for=} ;;
        output=*) outputs+=("${word#output=}") ;;
        file=*) file=${word#file=} ;;
        closes) closes=1 ;;
        deaf) trap '' INT TERM ;;
        leaves) leaves=1 ;;
        posts) posts=1 ;;
        child | session | orphan | bare) by=$word ;;
        fails | limited | replans) ends=$word ;;
        *) echo "deed: what is $word?" >&2; exit 64 ;;
    esac
done

if [ -n "$closes" ]; then
    for fd in /proc/$$/fd/*; do
        fd=${fd##*/}
        if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
    done
fi

enter
note begin
pause $((ms / 3))
if [ -n "$ends" ] && first "$ends"; then
    note fail
    leave
    case $ends in
        limited) echo "retry-after: 1"; exit 75 ;;
        replans) echo "this needs more"; exit 79 ;;
        *) exit 3 ;;
    esac
fi
if [ -n "$posts" ]; then
    word="p$attempt-$$"
    if echo "{\"posts\":{\"$word\":\"$word\"}}" | onward state merge - > /dev/null 2>&1; then note "posted:$word"; fi
fi
self=("$0" __child "$run" "$phase" "$attempt" "$key" $((ms / 3)))
did=$RIG/once/$run~${phase//\//%}~$attempt~did
case $by in
    self) note effect ;;
    child) "${self[@]}" & wait $! || failed=$? ;;
    session) setsid "${self[@]}" & wait $! || failed=$? ;;
    bare) env -i PATH="$PATH" RIG="$RIG" TESTKIT_TOKEN="$TESTKIT_TOKEN" RIG_OF="$run $phase $attempt" "${self[@]}" & wait $! || failed=1 ;;
    orphan)
        (setsid "${self[@]}" &)
        for _ in {1..100}; do [ -e "$did" ] && break; sleep 0.03; done
        [ -e "$did" ] || failed=1
        ;;
esac
if [ -n "$failed" ]; then
    note fail
    leave
    # As a shell does: one whose child was killed says by which signal.
    if [ "$failed" -gt 128 ]; then exit "$failed"; fi
    exit 4
fi
pause $((ms / 3))
# The project may just be renamed: what could not be given out was not done.
for pair in "${outputs[@]}"; do echo "$pair" >> "$ONWARD_OUTPUT" || { note fail; leave; exit 9; }; done
if [ -n "$file" ]; then echo "$run $attempt" > "$file"; fi
if [ -n "$leaves" ]; then setsid sleep 1.5 > /dev/null 2>&1 & fi
note end
leave
exit 0
}
