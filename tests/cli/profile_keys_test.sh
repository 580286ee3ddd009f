# profile_keys_test.sh - sections of keys, requirement profiles, presets, and what an interrupted profile keeps.
. "$(dirname "$0")/lib.sh"
replay=$(cd "$(dirname "$0")/../replay" && pwd)
cd "$dir" || exit 2
fast="--runs 40 --store none --roofs off"

# --- Sections ---
only() { # SECTION key other
    assay profile mlp-small --only "$1" $fast --json k.json -q 2>/dev/null &&
        python3 -c "
import json, sys
p = json.load(open('k.json'))['profile']
assert list(p) == ['$1'], list(p)
assert all(m['kind'] for m in p['$1'].values())
assert '$2' in p['$1']"
}
t "--only compute has the compute keys alone" only compute tflops
t "--only memory has the memory keys alone" only memory bandwidth
t "--only hardware has the hardware keys alone" only hardware power_usage
t "--only prints its keys with their kinds on one screen" bash -c "\"$ASSAY\" profile mlp-small --only compute $fast | grep -q 'time_mean.*measured'"
t "--quick measures 100 runs" bash -c "\"$ASSAY\" profile mlp-small --quick --store none --json - | python3 -c \"
import json, sys
d = json.load(sys.stdin)
assert d['groups']['latency']['facts']['latency.runs']['metric']['value'] == 100
assert sorted(d['profile']) == ['compute', 'memory', 'stream']\""
t "--quick and --only do not go together" refuses 2 "leave out --only, or --quick" profile mlp-small --quick --only compute
t "--interval is for --realtime" refuses 2 "--interval is for --realtime" profile mlp-small --interval 1s
realtime() {
    assay profile mlp-small --realtime --interval 50ms --time 150ms --roofs off >live.txt || return 1
    grep -c '^update [0-9]*: time_mean' live.txt | grep -qx '[2-9]\|[1-9][0-9]' || { cat live.txt; return 1; }
}
t "--realtime prints one line per interval in a pipe" realtime
t "--realtime keeps nothing and refuses to" refuses 2 "shows and keeps nothing" profile mlp-small --realtime --json x.json
t "an engine that is not there is refused with a reason" bash -c "\"$ASSAY\" profile mlp-small --enable-ne $fast --sections profile | grep -q 'asked for, and refused'"
t "--batches makes a table over batch sizes" bash -c "\"$ASSAY\" profile mlp-small --batches 1,2 $fast --json - | python3 -c \"
import json, sys
t = json.load(sys.stdin)['groups']['profile.compute']['tables']['sweep']
assert [r[0]['value'] for r in t['rows']] == [1, 2]\""

# --- What is missing says why ---
without() { # WORD key words
    ASSAY_WITHOUT=$1 assay profile mlp-small $fast --json w.json -q 2>/dev/null &&
        python3 -c "
import json
m = json.load(open('w.json'))['groups']['sensors']['facts']['sensors.$2']['metric']
assert m['value'] is None and m['kind'] == 'unavailable' and '''$3''' in m['reason'], m"
}
t "without a PMU the counters say so" without pmu instructions "without a PMU"
t "with perf forbidden they say what to do" without perf instructions "perf_event_paranoid"
t "a container without PSI says so" without psi pressure.memory "CONFIG_PSI"
t "without RAPL energy says so" without rapl energy.package "RAPL"
t "a word of ASSAY_WITHOUT that is unknown is refused" env ASSAY_WITHOUT=pum bash -c "\"$ASSAY\" profile mlp-small $fast 2>&1 | grep -q \"holds 'pum'\""
replayed() {
    ASSAY_REPLAY="$replay/server" assay profile mlp-small --time 60ms --store none --roofs off --json r.json -q 2>/dev/null &&
        python3 -c "
import json
h = json.load(open('r.json'))['profile']
assert h['hardware']['temperature']['value'] >= 61 and 'replay' in h['hardware']['temperature']['source']
assert h['memory']['cache_hit_rate']['value'] == 99 and h['memory']['cache_hit_rate']['kind'] == 'derived', h['memory']['cache_hit_rate']
assert h['memory']['l1_hit_rate']['value'] == 98
assert h['hardware']['power_usage']['value'] > 0"
}
[ "$(uname)" != Linux ] || t "a recording of counters becomes a hit rate, marked as replay" replayed
t "without valgrind --counters is one sentence" env ASSAY_WITHOUT=valgrind bash -c "\"$ASSAY\" profile mlp-small $fast --counters cachegrind 2>&1 | grep -q 'needs valgrind, which is not installed'"

# --- Requirement profiles ---
judges() { # code words args...
    local code=$1 words=$2
    shift 2
    "$ASSAY" "$@" >j.out 2>j.err
    [ $? = "$code" ] || { cat j.out j.err; echo "exit code not $code"; return 1; }
    grep -qF -- "$words" j.out || { cat j.out; return 1; }
}
t "a network that does not reach a profile exits with 1" judges 1 "fail" profile mlp-small $fast --require M1-Ultra
t "a target above what the chip can do is impossible" judges 1 "impossible" profile mlp-small $fast --require M1-Pro:target
cat >mine.json <<'JSON'
{"schema": "assay.requirements/1", "name": "mine", "levels": [{"name": "all", "rows": [
  {"key": "latency.median", "direction": "budget", "value": 1e12, "unit": "ns"},
  {"key": "num_kernels", "direction": "floor", "value": 1, "unit": "1"}]}]}
JSON
t "a profile of the user's own passes with exit code 0" judges 0 "pass" profile mlp-small $fast --require mine.json
sed 's/budget/ceiling/' mine.json >bad.json
t "a bad profile is refused before anything is measured" refuses 2 'bad.json: level all, row 1: "direction" is "ceiling"' profile mlp-small --require bad.json
t "an unknown profile is refused with the nearest" refuses 2 'did you mean "M1-Max"?' profile mlp-small --require M1-Mac
t "devices are judged, too" bash -c "\"$ASSAY\" devices --require M1-Ultra; c=\$?; [ \$c = 0 ] || [ \$c = 1 ]"
t "devices write the verdicts to JSON" bash -c "\"$ASSAY\" devices --require M1 --json - | python3 -c \"
import json, sys
r = json.load(sys.stdin)['requirements']
assert [x['direction'] for x in r['rows']] == ['floor', 'floor', 'budget']\""
t "list profiles names them" says "M1-Ultra" list profiles
t "list keys names the keys" says "compute.tflops" list keys
preset() {
    assay profile cfc --preset M1-Pro --seq 4 $fast --json p.json -q 2>p.err || return 1
    grep -q "preset M1-Pro fills in: batch=64, units=128" p.err || { cat p.err; return 1; }
    python3 -c "
import json
n = json.load(open('p.json'))['notes']
assert n['plan.batch'] == '64' and n['plan.dim.seq'] == '4' and 'backbone_units=64' in n['model.source'], n
assert 'batch=64' in n['run.preset']"
}
t "a preset fills in what was not given, and the report tells" preset

# --- Interrupted ---
interrupted() { # SIGNAL code
    rm -f i.trace i.err
    "$ASSAY" profile mlp-small --time 60s --trace i.trace --store none --roofs off >i.out 2>i.err &
    local pid=$! waited=0
    while [ "$(stat -c %s i.trace 2>/dev/null || echo 0)" -lt 20000 ] && [ $waited -lt 200 ]; do sleep 0.1; waited=$((waited + 1)); done
    kill -"$1" $pid
    wait $pid 2>/dev/null
    local got=$?
    [ $got = "$2" ] || { cat i.err; echo "exit code $got, not $2"; return 1; }
    assay report i.trace --json i.json -q >/dev/null 2>&1 || assay report i.trace --json i.json >/dev/null || return 1
    python3 -c "
import json
d = json.load(open('i.json'))
assert d['groups']['latency']['facts']['latency.runs']['metric']['value'] > 0
assert d['profile']['compute']['time_mean']['value'] > 0
assert '$1' != 'KILL' or d['notes']['trace.complete'].startswith('no'), d['notes']['trace.complete']"
}
t "a profile that is killed keeps its record, which says that it is partial" interrupted KILL 137
t "Ctrl-C keeps what was measured and exits with 5" interrupted INT 5
t "SIGTERM keeps what was measured and exits with 5" interrupted TERM 5
finish
