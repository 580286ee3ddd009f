# options_test.sh - no option is inert: every option of every verb is given once, and the program fails when nobody read it.
. "$(dirname "$0")/lib.sh"
corpus=$(cd "$(dirname "$0")/../fuzz/corpus/runs" && pwd)
sources=$(cd "$(dirname "$0")/../../src" && pwd)
cd "$dir" || exit 2
if strip -o small "$ASSAY" 2>/dev/null; then ASSAY=$dir/small; fi # each baseline reads all of the program, which is mostly debug information
names() { # "words" args...: does not succeed, and says the words somewhere
    local words=$1
    shift
    ! "$ASSAY" "$@" >n.out 2>&1 && grep -qF -- "$words" n.out
}
"$ASSAY" run mlp:sizes=10x784 --batch 2 --output x.npy >/dev/null || exit 2
"$ASSAY" profile mlp-small --roofs off --runs 50 --json run.json --trace t.trace >/dev/null || exit 2

printf 'softmax size=4x4\n' >suite.txt
arm="'$ASSAY' selftest --arm compute"
null="--devices null:gemm=5us,null:gemm=9us" # two arms whose time is told
league="mlp:sizes=2x8x4 --vary optimizer=sgd,adam --store none" # candidates that learn
store=yes
if "$ASSAY" runs import "$corpus/none.json" 2>&1 | grep -q "built without SQLite"; then
    store=no
else
    "$ASSAY" runs import "$corpus/none.json" --store s.db >/dev/null || exit 2
    speaker 100000 told
    "$ASSAY" baseline save main --bin ./told --budget 50ms --store s.db >/dev/null || exit 2
fi
"$ASSAY" compare mlp-small $null --budget 50ms --store none --json cmp.json >/dev/null || exit 2
for i in $(seq 300); do # trials that were counted already, so that none is left to be done
    printf '{"cell": "compute", "count": "alarms", "hit": false}\n{"cell": "compute", "count": "power", "hit": true}\n'
done >counted.jsonl
cp counted.jsonl state.jsonl

arguments() { # the rest of a command line that works for a verb
    case $1 in
    run) echo "mlp-small" ;;
    plan) echo "mlp-small" ;;
    profile) echo "mlp-small --roofs off --runs 50" ;;
    report) echo "run.json" ;;
    list) echo "ops" ;;
    export) echo "mlp-small --onnx out.onnx" ;;
    wiring) echo "autoncp:units=8,out=2" ;;
    bench) echo "mlp-small --devices null --runs 5 --warmup 1 --store none" ;;
    compare) echo "mlp-small $null --budget 50ms --store none" ;;
    baseline) echo "save $2 mlp-small --devices null:gemm=5us --budget 50ms --store s.db" ;;
    check) echo "--baseline main --budget 50ms --store s.db" ;;
    history) echo "--store s.db" ;;
    noise) echo "--budget 100ms --store none" ;;
    runs) echo "list" ;;
    train) echo "mlp:sizes=2x8x4 --data synthetic:spirals,n=64 --steps 3 --batch 8 --store none" ;;
    tune) echo "mlp:sizes=2x8x4 --lr --data synthetic:spirals,n=64 --store none" ;;
    selftest) echo "--stats --cells compute --state counted.jsonl" ;;
    esac
}
"$ASSAY" list options >rows
while read -r verb option value example _; do
    case $store-$verb in no-baseline|no-check|no-history|no-runs) continue ;; esac
    case $verb-$option in
    record-pid) # of a process that is there
        sleep 60 & sleeper=$!
        t "$verb --$option is read" bash -c "'$ASSAY' record --store none --time 50ms -p $sleeper || [ \$? = 5 ]"
        kill $sleeper
        continue ;;
    record-memory|record-quiet) t "$verb --$option is read" bash -c "'$ASSAY' record --store none --$option -- true || [ \$? = 5 ]"; continue ;;
    record-store) t "$verb --$option is read" bash -c "'$ASSAY' record --store s.db -- true || [ \$? = 5 ]"; continue ;;
    record-export-all) t "$verb --$option is read" bash -c "'$ASSAY' record --store none --chrome c.json --$option -- true || [ \$? = 5 ]"; continue ;;
    record-*) t "$verb --$option is read" bash -c "'$ASSAY' record --store none --$option '$example' -- true || [ \$? = 5 ]"; continue ;; # 5: no recorder here
    profile-counters) # 5: valgrind is not there, or cannot run this build (a sanitiser)
        t "$verb --$option is read" bash -c "'$ASSAY' $verb $(arguments $verb) --$option '$example' || [ \$? = 5 ]"; continue ;;
    train-epochs) t "$verb --$option is read" assay train mlp:sizes=2x8x4 --data synthetic:spirals,n=64 --batch 8 --store none --epochs 2; continue ;;
    train-batch) t "$verb --$option is read" assay train mlp:sizes=2x8x4 --data synthetic:spirals,n=64 --steps 3 --store none --batch 4; continue ;;
    train-freeze|train-group) t "$verb --$option is read" assay $verb $(arguments $verb) --$option "$(echo "$example" | sed 's/fc1\*/fc1.weight/')"; continue ;;
    train-loss) t "$verb --$option is read" assay train mlp:sizes=1x8x1 --data synthetic:linear,n=64,features=1 --batch 8 --steps 3 --store none --loss mae; continue ;;
    train-resume) t "$verb --$option is read" refuses 2 "none.json" $verb $(arguments $verb) --resume none.json; continue ;;
    train-checkpoint-every|train-keep) t "$verb --$option is read" assay $verb $(arguments $verb) --checkpoint ck-$option --$option "$example"; continue ;;
    train-seq) t "$verb --$option is read" refuses 2 "seq" $verb $(arguments $verb) --seq 3; continue ;;
    train-dim) t "$verb --$option is read" refuses 2 "nosuch" $verb $(arguments $verb) --dim nosuch=3; continue ;;
    train-store) [ $store = no ] || t "$verb --$option is read" assay $verb $(arguments $verb) --store s.db; continue ;;
    train-memory-budget) t "$verb --$option is read" refuses 2 "which is more than --memory-budget 100" $verb $(arguments $verb) --memory-budget 100; continue ;;
    tune-lr|tune-data) t "$verb --$option is read" assay $verb $(arguments $verb); continue ;;
    tune-batch|tune-memory-budget) t "$verb --$option is read" assay tune mlp:sizes=2x8x4 --batch --memory-budget 8MiB --store none; continue ;;
    tune-threads) t "$verb --$option is read" refuses 2 "two or more numbers" tune mlp:sizes=2x8x4 --threads 1,1; continue ;;
    tune-freeze|tune-group) t "$verb --$option is read" assay $verb $(arguments $verb) --$option "$(echo "$example" | sed 's/fc1\*/fc1.weight/')"; continue ;;
    tune-loss) t "$verb --$option is read" assay tune mlp:sizes=1x8x1 --lr --data synthetic:linear,n=64,features=1 --loss mae --store none; continue ;;
    tune-budget|tune-runs|tune-margin|tune-alpha) t "$verb --$option is read" assay tune mlp:sizes=2x8x8x4 --recompute 0,2 --batch 4 --store none --runs 2 --$option "$([ $option = runs ] && echo 3 || echo "$example")"; continue ;;
    tune-steps) t "$verb --$option is read" assay tune mlp:sizes=2x8x8x4 --recompute 0,2 --batch 4 --store none --runs 2 --data synthetic:spirals,n=64 --steps 3; continue ;;
    tune-store) [ $store = no ] || t "$verb --$option is read" assay $verb $(arguments $verb) --store s.db; continue ;;
    tune-seq|tune-dim) t "$verb --$option is read" refuses 2 "" $verb $(arguments $verb) --$option $([ $option = seq ] && echo 3 || echo nosuch=3); continue ;;
    baseline-train|baseline-optimizer|baseline-loss|baseline-recompute|baseline-precision|baseline-accumulate)
        t "$verb --$option is read" assay baseline save of-$option mlp-small --train --optimizer adam --recompute 0 --devices null --budget 50ms --store s.db; continue ;;
    plan-train|profile-train|bench-train|compare-train) t "$verb --$option is read" assay $verb $(arguments $verb) --train; continue ;;
    plan-freeze|profile-freeze|plan-group|profile-group) t "$verb --$option is read" assay $verb $(arguments $verb) --train --$option "$(echo "$example" | sed 's/fc1\*/fc1.weight/')"; continue ;;
    plan-optimizer|plan-loss|plan-accumulate|plan-clip|plan-clip-value|plan-precision|plan-recompute|\
    profile-optimizer|profile-loss|profile-accumulate|profile-clip|profile-clip-value|profile-precision|profile-recompute|\
    bench-optimizer|bench-loss|bench-accumulate|bench-precision|bench-recompute|\
    compare-optimizer|compare-loss|compare-accumulate|compare-precision|compare-recompute)
        t "$verb --$option is read" assay $verb $(arguments $verb) --train --$option "$example"; continue ;;
    compare-preprocess|compare-loader|compare-data|compare-val|compare-seeds|compare-schedule|compare-clip|compare-clip-value|compare-grow-batch|compare-metrics|compare-diverged)
        t "$verb --$option is read" assay $verb $league --steps 3 $([ $option = data ] || echo --data synthetic:spirals,n=64) --$option "$example"; continue ;;
    compare-epochs|compare-steps) t "$verb --$option is read" assay $verb $league --data synthetic:spirals,n=64 --$option 2; continue ;;
    compare-freeze|compare-group) t "$verb --$option is read" assay $verb $league --data synthetic:spirals,n=64 --steps 3 --$option "$(echo "$example" | sed 's/fc1\*/fc1.weight/')"; continue ;;
    compare-device) t "$verb --$option is read" assay compare mlp-small --vary batch=1,2 --device null --budget 50ms --store none; continue ;;
    compare-vary) t "$verb --$option is read" assay compare mlp-small --device null --vary batch=1,2 --budget 50ms --store none; continue ;;
    compare-devices) t "$verb --$option is read" assay $verb $(arguments $verb); continue ;;
    compare-store|bench-store) [ $store = no ] || t "$verb --$option is read" assay $verb $(arguments $verb) --store s.db; continue ;;
    report-export-all) t "$verb --$option is read" assay report t.trace --chrome c.json --export-all; continue ;;
    *-export-all) t "$verb --$option is read" assay $verb $(arguments $verb) --chrome c.json --export-all; continue ;;
    report-chrome|report-perfetto|report-speedscope|report-folded|report-pprof|report-callgrind|report-openmetrics|report-prometheus)
        t "$verb --$option is read" assay report t.trace --$option "$example"; continue ;;
    report-store) [ $store = no ] || t "$verb --$option is read" assay report 1 --store .assay/runs.db; continue ;;
    compare-bin) t "$verb --$option is read" assay compare --bin "$arm" --bin "$arm:1" --budget 50ms --store none; continue ;;
    compare-from) t "$verb --$option is read" assay compare --from cmp.json; continue ;;
    baseline-suite) t "$verb --$option is read" assay baseline save of-suite --suite suite.txt --budget 50ms --store s.db; continue ;;
    baseline-bin) t "$verb --$option is read" assay baseline save of-bin --bin "$arm" --budget 50ms --store s.db; continue ;;
    bench-suite) t "$verb --$option is read" assay bench --suite suite.txt --devices null --runs 5 --store none; continue ;;
    bench-weights) t "$verb --$option is read" names w.safetensors bench mlp-small --devices null --runs 5 --store none --weights w.safetensors; continue ;;
    baseline-weights) t "$verb --$option is read" names w.safetensors $verb $(arguments $verb of-weights) --weights w.safetensors; continue ;;
    bench-speak) t "$verb --$option is read" bash -c "'$ASSAY' bench mlp-small --devices null --speak </dev/null"; continue ;;
    selftest-arm) t "$verb --$option is read" bash -c "'$ASSAY' selftest --arm compute </dev/null"; continue ;;
    baseline-all) t "$verb --$option is read" assay baseline list --all --store s.db; continue ;;
    baseline-report) t "$verb --$option is read" assay baseline show main --report detailed --store s.db; continue ;;
    list-all) t "$verb --$option is read" assay list --all; continue ;;
    runs-report) t "$verb --$option is read" assay runs show 1 --report detailed --store s.db; continue ;;
    bench-devices|baseline-devices) example=null ;; # the CPU would have its roofs measured
    esac
    case $verb-$option in
    *-seq) t "$verb --$option is read" assay $verb $(arguments $verb of-seq | sed 's/mlp-small/cfc:input=3,units=4/') --seq 3; continue ;;
    *-timespans) t "$verb --$option is read" refuses 2 "ts.npy" $verb cfc:input=3,units=4 --timespans ts.npy; continue ;;
    run-state-in) t "$verb --$option is read" refuses 2 "h.npy" run cfc:input=3,units=4 --state-in h.npy; continue ;;
    run-state-out) t "$verb --$option is read" assay run cfc:input=3,units=4 --state-out h2.npy; continue ;;
    run-stream) t "$verb --$option is read" bash -c "'$ASSAY' run mlp-small --stream </dev/null"; continue ;;
    run-rate|run-deadline|run-format) t "$verb --$option is read" bash -c "'$ASSAY' run mlp-small --stream --$option $example </dev/null"; continue ;;
    export-c|export-name|export-libm) t "$verb --$option is read" assay export cfc:input=3,units=4 --c out --$option "$example"; continue ;;
    wiring-input) t "$verb --$option is read" assay $verb $(arguments $verb) --input 3; continue ;;
    wiring-crc) t "$verb --$option is read" assay $verb $(arguments $verb) --crc; continue ;;
    esac
    case $option in
    realtime) t "$verb --$option is read" assay profile mlp-small --roofs off --realtime --interval 50ms --time 50ms; continue ;;
    interval) t "$verb --$option is read" assay profile mlp-small --roofs off --realtime --time 50ms --interval 50ms; continue ;;
    quick|enable-ne|track-unified|track-bandwidth) t "$verb --$option is read" assay $verb $(arguments $verb of-$option) --$option; continue ;;
    counters) command -v valgrind >/dev/null || continue ;; # not everybody has it; the sentence is tested elsewhere
    text|all|winograd|samples|cross-machine|stats|full|quiet) t "$verb --$option is read" assay $verb $(arguments $verb of-$option) --$option; continue ;;
    onnx)
        case $verb in
        list) t "$verb --$option is read" refuses 2 "m.onnx" list ops --onnx m.onnx ;;
        *) t "$verb --$option is read" assay $verb mlp-small --onnx m2.onnx ;;
        esac
        continue ;;
    weights) t "$verb --$option is read" refuses 2 "w.safetensors" $verb $(arguments $verb) --weights w.safetensors; continue ;;
    dim) t "$verb --$option is read" assay $verb $(arguments $verb of-dim) --dim batch=3; continue ;;
    time) t "$verb --$option is read" assay $verb mlp-small --roofs off --time 50ms; continue ;;
    roofs) t "$verb --$option is read" assay $verb mlp-small --runs 50 --roofs off; continue ;;
    measure) continue ;; # takes seconds: roofs_test.sh gives it, and would fail too if nobody read it
    esac
    t "$verb --$option is read" assay $verb $(arguments $verb of-$option) --$option "$example"
done <rows
# A struct is read as a whole, so reading proves little: each member must also be used where the work is.
find "$sources" -name '*.c' ! -name '*_test.c' -exec cat {} + | tr '\n' ' ' >all.c
grep -oE 'AS_MEMBER(_OR_UNSET)?\([^()]*\)' all.c | tr -d ' ' | awk -F, '{print $4}' | tr -d ')' | sed 's/.*\.//' | sort -u >members
sed -E 's/AS_MEMBER(_OR_UNSET)?\([^()]*\)//g' all.c >used.c
while read -r member; do
    t "the member $member is used" grep -qE -- "(->|\.)$member([^a-zA-Z0-9_]|\$)" used.c
done <members
t "there are members to test" [ "$(wc -l <members)" -gt 40 ]
t "there are options to test" [ "$(wc -l <rows)" -gt 20 ]
finish
