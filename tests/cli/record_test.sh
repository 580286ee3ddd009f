# record_test.sh - assay record: shares that are known, sleeping, threads, children, crashes, stops, and what is left when assay is killed.
. "$(dirname "$0")/lib.sh"
case $(uname -s) in Linux) ;; *) finish; exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
cd "$dir" || exit 2
cc=${CC:-cc}
$cc -g -O1 -fno-omit-frame-pointer -D_GNU_SOURCE -pthread -w -o work "$here/programs/work.c" || exit 2
strip -o bare work

# --- Bad input: one sentence, and nothing is left behind ---
t "no command" refuses 2 "needs a command" record
t "a command that is not there" refuses 2 "no-such-program" record --store none -- no-such-program
t "a command that is not there leaves no trace" bash -c "'$ASSAY' record --store none --trace x.trace -- ./nothing 2>/dev/null; [ ! -e x.trace ]"
t "a process that is not there" refuses 2 "4194303" record --store none -p 4194303
t "a command and a process" refuses 2 "not both" record --store none -p 1 -- true
t "a rate that cannot be had" refuses 2 "--rate" record --store none --rate 1000000 -- true
without() { ASSAY_WITHOUT=perf,timer refuses 5 "perf: ASSAY_WITHOUT" record --store none -- ./work code 0; }
t "no recorder at all: exit code 5, and why" without

# --- Whether anything can be recorded here at all ---
if ! "$ASSAY" record --store none --quiet --json r.json -- ./work code 0 >out 2>why; then
    echo "nothing can be recorded here: $(cat why)"
    finish
    exit
fi
recorder=$(python3 -c 'import json; print(json.load(open("r.json"))["notes"]["record.recorder"])')
echo "recorded by $recorder"

fact() { python3 -c 'import json, sys
v = json.load(open("r.json"))["groups"]["record"]["facts"][sys.argv[1]]["metric"].get("value")
print("null" if v is None else "%.4f" % v)' "record.$1"; }
row() { python3 -c 'import json, sys
t = json.load(open("r.json"))["groups"]["hotspots"]["tables"]["functions"]
keys = [c["key"] for c in t["columns"]]
for r in t["rows"]:
    if r[keys.index("function")] == sys.argv[1]:
        c = r[keys.index(sys.argv[2])]
        print(c["value"] if isinstance(c, dict) else c)
        break
else:
    print("none")' "$1" "$2"; }
holds() { python3 -c "import sys; sys.exit(not ($1))" || { echo "not so: $1"; return 1; }; }
record() { "$ASSAY" record --store none --quiet --json r.json "$@"; }

# --- Shares that are known ---
shares() { # [options]: 50, 30 and 20 % within 3 points, of at least 1500 samples
    record --rate 4000 "$@" -- ./work shares 7000 >out || return 1
    grep -qx 'done' out || { echo "the program's own output is not there"; return 1; }
    holds "$(fact samples) >= 1500" && holds "abs($(row half_of_it self_share) - .5) < .03" &&
        holds "abs($(row third_part self_share) - .3) < .03" && holds "abs($(row fifth_part self_share) - .2) < .03"
}
t "shares of 50, 30 and 20 % are found within 3 points" shares
t "the interval of a share holds it" bash -c "python3 -c '
import json
t = json.load(open(\"r.json\"))[\"groups\"][\"hotspots\"][\"tables\"][\"functions\"]
k = [c[\"key\"] for c in t[\"columns\"]].index(\"self_share\")
m = t[\"rows\"][0][k]
assert m[\"kind\"] == \"measured\" and m[\"n\"] >= 1500 and m[\"lo\"] < m[\"value\"] < m[\"hi\"], m'"
t "a function has its source and line" bash -c "[ '$(row half_of_it source)' = work.c:$(grep -n '^WORK(half_of_it)' "$here/programs/work.c" | cut -d: -f1) ]"
t "the program used its CPU time and did not sleep" holds "$(fact waits) < .2"
if [ "$recorder" = perf ]; then
    t "by unwind tables, as it is by itself, the callers are whole" holds "$(fact cut_share) < .02 and $(row main total_share) > .95"
    t "the same shares by frame pointers" shares --call-graph fp
fi

# --- Others ---
sleeps() { record -- ./work sleeps >out && holds "$(fact waits) > .5 and $(fact runs) < .5"; }
t "a program that sleeps is not called compute-bound" sleeps
t "no bottleneck of compute is found in it" bash -c "python3 -c '
import json
t = json.load(open(\"r.json\"))[\"groups\"][\"bottlenecks\"][\"tables\"][\"bottlenecks\"]
keys = [c[\"key\"] for c in t[\"columns\"]]
for r in t[\"rows\"]:
    if r[keys.index(\"rule\")] in (\"compute\", \"bandwidth\"):
        assert r[keys.index(\"state\")] != \"found\", r'"
threads() { # the same work takes other times on another CPU, when its neighbours differ; the two are all that there is
    record --rate 2000 -- ./work threads 4000 >out && holds "$(fact threads) >= 2" && holds "$(row left_thread self_share) > .3" &&
        holds "$(row right_thread self_share) > .3" && holds "$(row left_thread self_share) + $(row right_thread self_share) > .94"
}
t "threads are seen, each with its function" threads
child() { record --rate 2000 -- ./work child 2000 && holds "$(row half_of_it self_share) > .4"; }
[ "$recorder" != perf ] || t "a child that becomes another program is followed" child
code() { record -- ./work code 3 && [ "$(fact exit_code)" = 3.0000 ]; }
t "the exit code of the program is told, and is not ours" code
bare() { record --rate 2000 -- ./bare shares 2000 >out && holds "$(row '[unknown]' self_share) > .9" && [ "$(row '[unknown]' object)" = bare ]; }
t "a program without names is recorded, by its file" bare
crash() {
    record --rate 2000 --trace c.trace -- ./work crash 1000 2>err
    [ $? = 5 ] || { echo "exit code is not 5"; return 1; }
    grep -q "signal 11" err && holds "$(row half_of_it self_share) > .3 and $(fact signal) == 11" && "$ASSAY" report c.trace | grep -q "partial"
}
t "of a program that crashes all is kept, and the report says so" crash
screen() { "$ASSAY" record --store none -- ./work code 0 >out 2>&1; [ "$(wc -l <out)" -le 25 ] && grep -q "of the time, waits" out; }
t "the first screen fits and says how much it ran and waited" screen

# --- Stopped, attached, killed ---
until_grown() { local i; for i in $(seq 300); do [ -s "$1" ] && [ "$(stat -c %s "$1")" -gt "${2:-20000}" ] && return; sleep .1; done; echo "$1 does not grow"; return 1; }
interrupted() { # signal
    "$ASSAY" record --store none --trace i.trace --json r.json -- ./work runs >out 2>err &
    local pid=$!
    until_grown i.trace 12000 || { kill $pid; return 1; }
    kill -"$1" $pid
    wait $pid
    [ $? = 5 ] || { echo "exit code is not 5"; return 1; }
    grep -q "stopped\|signal" err && holds "$(row half_of_it self_share) > .3" && "$ASSAY" report i.trace | grep -q "partial"
}
t "SIGINT keeps what was recorded" interrupted INT
rm -f i.trace
t "SIGTERM keeps what was recorded" interrupted TERM
attached() {
    ./work runs >ready &
    local pid=$! status=0
    record --rate 2000 --time 1s -p $pid || status=1
    kill -0 $pid || { echo "the program did not survive"; status=1; }
    kill $pid
    wait $pid 2>/dev/null
    [ $status = 0 ] && holds "$(row half_of_it self_share) > .4"
}
[ "$recorder" != perf ] || t "a program that runs is recorded, and left alone" attached
killed() {
    "$ASSAY" record --store none --trace k.trace -- ./work runs >out 2>err &
    local pid=$! child
    until_grown k.trace 12000 || { kill $pid; return 1; }
    child=$(pgrep -P $pid)
    kill -KILL $pid
    wait $pid 2>/dev/null
    kill $child 2>/dev/null
    "$ASSAY" report k.trace >out 2>err && "$ASSAY" report k.trace --json r.json 2>err || { cat err; return 1; }
    grep -q "The record has no end" out && grep -q "partial" out && holds "$(row half_of_it self_share) > .3" && [ "$(fact runs)" = null ]
}
t "when assay is killed, its trace is readable" killed
fallback() { # without the kernel's sampler: another one, or exit code 5; and the reason
    ASSAY_WITHOUT=perf "$ASSAY" record --store none --report detailed -- ./work code 0 >out 2>err
    local got=$?
    [ $got = 0 ] || [ $got = 5 ] || { echo "exit code $got"; return 1; }
    grep -q "perf: ASSAY_WITHOUT" out err
}
t "without the kernel's sampler the reason is told" fallback
finish
