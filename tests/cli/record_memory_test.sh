# record_memory_test.sh - assay record --memory: exact counts, owners, leaks, processes, and a program that notices nothing.
. "$(dirname "$0")/lib.sh"
case $(uname -s) in Linux) ;; *) finish; exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
cd "$dir" || exit 2
mkdir tmp
export TMPDIR="$dir/tmp"
cc=${CC:-cc}
$cc -g -O1 -fno-optimize-sibling-calls -D_GNU_SOURCE -pthread -w -o heap "$here/programs/heap.c" || exit 2
line=$(grep -n 'LEAK' "$here/programs/heap.c" | head -1 | cut -d: -f1)

record() { "$ASSAY" record --memory --store none --quiet "$@"; } # [options] -- command
# The number of a fact of the last record; "null" where it has none.
fact() { python3 -c 'import json, sys
v = json.load(open("r.json"))["groups"]["allocations"]["facts"][sys.argv[1]]["metric"].get("value")
print("null" if v is None else "%d" % v)' "allocations.$1"; }
# All rows of a table, one per line: text and numbers separated by |.
rows() { python3 -c 'import json, sys
t = json.load(open("r.json"))["groups"]["allocations"]["tables"].get(sys.argv[1], {"rows": []})
for r in t["rows"]:
    print("|".join(str(c["value"] if isinstance(c, dict) else c) for c in r))' "$1"; }
is() { # key value ...
    while [ $# -gt 0 ]; do
        local got
        got=$(fact "$1") || return 1
        [ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }
        shift 2
    done
}
of() { # mode key value ...: records the program and compares
    local mode=$1
    shift
    record --json r.json -- ./heap "$mode" >out 2>err || { cat err; return 1; }
    grep -qx 'done' out || { echo "the program's own output is not there"; return 1; }
    is "$@"
}

t "every allocation is counted, and its bytes" of known allocs 1000 frees 1000 bytes 500500 peak 500500 live_end 0 blocks_end 0 peak_owned 500500 events_left 0
t "a block that is resized again and again" of chain allocs 1 resizes 65 frees 1 peak 6500 live_end 0 peak_owned 6500
t "aligned blocks of every kind" of aligned allocs 6 frees 6 bytes 3740 peak 3740 live_end 0
threads_case() { of threads || return 1; [ "$(fact allocs)" -ge 4000 ] && [ "$(fact frees)" -ge 4000 ] && [ "$(fact peak)" = "$(fact peak_owned)" ] && rows calls | grep -q '^work|heap.c:[0-9]*|4000|400000|'; }
t "four threads, and blocks that another thread frees" threads_case
t "a free of a block from before is told apart" of before allocs 0 frees 0 unknown_frees 1
t "mapped memory, cut in the middle and given back" of maps maps 1 live_end 0 mapped_end 0 peak 40960 peak_owned 40960

owners_case() { of owners peak 100000 peak_owned 100000 live_end 0 allocs 3 || return 1; rows peak | grep -q '^owner_a|.*|60000|' && rows peak | grep -q '^owner_b|.*|40000|' && [ "$(rows peak | wc -l)" = 2 ]; }
t "the owners of the peak are those that had memory then, and add up to it" owners_case
leak_case() { of leak leaks 1 blocks_end 1000 live_end 64000 || return 1; rows leaks; rows leaks | grep -q "^leaky|heap.c:$line|"; }
t "a planted leak is found, with its function and its line" leak_case
none_case() { of "$1" leaks 0 && [ -z "$(rows leaks)" ]; }
t "a clean program has none" none_case known
t "nor has one whose cache fills up and stays" none_case fills-up

forks_case() { of forks || return 1; rows processes; rows processes | grep -qE '^heap\|[0-9.]+\|70000' && rows processes | grep -qE '^heap\|[0-9.]+\|5000'; }
t "a child of fork has counts of its own" forks_case
exec_case() { record --json r.json -- ./heap exec ./heap owners >out 2>err || return 1; rows processes; is peak 100000 && rows processes | grep -q '|1111|'; }
t "a program that becomes another one is two" exec_case
shell_case() { record --json r.json -- sh -c './heap known; ./heap owners' >out 2>err || return 1; [ "$(grep -c done out)" = 2 ] && rows processes | grep -q '|500500' && rows processes | grep -q '|100000'; }
t "programs that a shell starts are recorded" shell_case

# --- Programs that end badly ---
crash_case() {
    record --json r.json --trace r.trace -- ./heap crash >out 2>err
    [ $? = 5 ] || { echo "exit code is not 5"; return 1; }
    cat err
    is allocs 1001 frees 1000 peak 500500 live_end 12345 peak_owned 500500 && rows live | grep -q '^owner_b|.*|12345|'
}
t "a program that crashes leaves all its counts" crash_case
kill_case() { # what ends: program or assay
    rm -f r.trace
    "$ASSAY" record --memory --store none --quiet --json r.json --trace r.trace -- ./heap waits >out 2>err &
    local assay=$! tries=0
    until grep -q ready out 2>/dev/null; do sleep 0.1; tries=$((tries + 1)); [ $tries -lt 300 ] || return 1; done
    sleep 0.5
    local program
    program=$(pgrep -P $assay -x heap) || return 1
    case $1 in
    program) kill -KILL "$program" ;;
    assay) kill -KILL $assay ;;
    ask) kill -INT $assay ;;
    esac
    wait $assay
    local code=$?
    kill -KILL "$program" 2>/dev/null
    [ "$1" = assay ] || [ $code = 5 ] || [ $code = 130 ] || { echo "exit code $code"; return 1; }
    "$ASSAY" report r.trace --json r.json --quiet >/dev/null 2>&1 || "$ASSAY" report r.trace --json r.json >/dev/null || return 1
    rows live
    rows live | grep -q '^owner_b|.*|54321|'
}
t "a program that is killed leaves what it had" kill_case program
t "an interrupted record is kept" kill_case ask
t "what was recorded is in the file when assay itself is killed" kill_case assay

# --- What cannot be recorded ---
if $cc -static -O1 -D_GNU_SOURCE -pthread -w -o heap-static "$here/programs/heap.c" 2>/dev/null; then
    t "a static program is refused, and why" refuses 5 "linked statically" record --memory --store none -- ./heap-static known
fi
if [ "$(id -u)" = 0 ]; then
    cp heap heap-setuid && chown 65534 heap-setuid && chmod u+s heap-setuid
    t "a setuid program is refused, and why" refuses 5 "setuid" record --memory --store none -- ./heap-setuid known
fi
t "a program that runs already is refused, and why" refuses 5 "when the program starts" record --memory --store none --pid $$
t "a missing library is named" bash -c "ASSAY_PRELOAD_LIBRARY=/nowhere/x.so '$ASSAY' record --memory --store none -- ./heap known 2>&1 | grep -q libassay-preload.so"

# --- The program notices nothing ---
same_case() { # command...: its output with and without, on both streams
    "$@" >plain.out 2>plain.err
    record --json r.json -- "$@" >with.out 2>with.err || { cat with.err; return 1; }
    head -c "$(wc -c <plain.out)" with.out | cmp - plain.out || return 1 # behind it comes the one line of assay
    [ "$(tail -c +$(($(wc -c <plain.out) + 1)) with.out | wc -l)" -le 1 ] || return 1
    [ ! -s plain.err ] || grep -qFf plain.err with.err
}
cat >script.py <<'P'
import json, sys
d = [{"a%d" % i: [i] * 10} for i in range(500)]
print(len(json.dumps(d)), file=sys.stdout); print("also this", file=sys.stderr)
P
t "the output of python3 is what it was" same_case /usr/bin/env python3 script.py
t "the output of git is what it was" same_case git --version
t "the output of a pipeline of a shell is what it was" same_case sh -c 'seq 2000 | sort -n -r | head -3; exit 3'
t "the exit code of the program is in the record" of known exit_code 7
preload_case() { LD_PRELOAD=libm.so.6 record --json r.json -- sh -c 'echo "$LD_PRELOAD"' >out && grep -q 'libassay-preload.so:libm.so.6' out; }
t "what the user preloads comes along" preload_case

# --- Timers instead of the kernel's sampler ---
time_case() {
    ASSAY_WITHOUT=perf "$ASSAY" record --store none --quiet --json r.json -- ./heap "$@" >out 2>err || { cat err; return 1; }
    grep -qx 'done' out
}
shares_case() {
    time_case shares || return 1
    python3 -c 'import json, sys
t = json.load(open("r.json"))["groups"]["hotspots"]["tables"]["functions"]
at = [c["key"] for c in t["columns"]].index("total_share")
s = {r[0]: r[at]["value"] for r in t["rows"]}
print(s)
sys.exit(0 if abs(s["burn_a"] - .7) < .03 and abs(s["burn_b"] - .3) < .03 else 1)'
}
t "timers find the shares of a program that has known ones" shares_case
taken_case() { time_case takes-signal && grep -q "SIGPROF" r.json; }
t "a program that uses the signal of the timers is told of" taken_case

t "nothing is left behind" bash -c '[ -z "$(ls -A tmp)" ]'
finish
