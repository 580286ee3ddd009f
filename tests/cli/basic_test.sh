# basic_test.sh - what every verb prints by default: one screen of 25 lines and 80 columns, and the words of it.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
if strip -o small "$ASSAY" 2>/dev/null; then ASSAY=$dir/small; fi # each baseline reads all of the program, which is mostly debug information
store=no
if has_store; then store=yes; fi
need_store() { [ $store = yes ]; }

# What differs from machine to machine and from day to day is masked before golden() masks the numbers.
still() { # command...
    "$@" 2>&1 | perl -pe '
        s/\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?/DATE/g; s/\d{4}-\d\d-\d\d/DAY/g; s/(cpu: ).*/$1MACHINE/; s/_(avx512|avx2|neon|scalar|wide)\b/_ISA/g;
        s/\b[0-9a-f]{16}\b/FINGERPRINT/g'
    return 0
}
fits() { # code command...: this exit code, and one screen
    local code=$1 got
    shift
    "$@" >f.out 2>f.err
    got=$?
    [ $got = "$code" ] || { cat f.out f.err; echo "exit code $got, expected $code"; return 1; }
    perl -CSD -ne 'chomp; if (length > 80) { print "line $. has ", length, " columns: $_\n"; $bad = 1 }
                   END { if ($. > 25) { print "$. lines\n"; $bad = 1 } exit $bad }' f.out && return
    cat f.out
    return 1
}

# --- Material: a wide bench, a deep model, many runs, a suite with its baseline -------------------------------------------
sizes=$(seq -s, -f '%gx4' 1 200)
deep=8$(printf 'x8%.0s' $(seq 250))
null="--devices null:*=5us"
for i in $(seq 300); do
    printf '{"cell": "compute", "count": "alarms", "hit": false}\n{"cell": "compute", "count": "power", "hit": true}\n'
done >counted.jsonl
"$ASSAY" profile mlp-small --roofs off --runs 50 --store none --json run.json >/dev/null || exit 2
if need_store; then
    for i in $(seq 20); do speaker 100000 "prog$i"; done
    "$ASSAY" baseline save main $(for i in $(seq 20); do echo --bin "./prog$i"; done) --budget 20ms >/dev/null || exit 2
    for i in $(seq 25); do "$ASSAY" baseline promote main "b$i" && "$ASSAY" baseline save main --bin ./prog1 --budget 20ms; done >/dev/null || exit 2
    "$ASSAY" baseline promote b25 main >/dev/null || exit 2
    seq 100 | xargs -P2 -I{} "$ASSAY" bench softmax --sizes 4x4 $null --runs 3 --store many.db >/dev/null || exit 2
fi

# --- Every verb fits one screen --------------------------------------------------------------------------------------------
walk() { # VERB: its commands
    case $1 in
    run) t "run" fits 0 assay run mlp-small --batch 2 && t "run of a long output" fits 0 assay run mlp:sizes=4x3000 ;;
    plan) t "plan" fits 0 assay plan cnn-bn && t "plan of 300 layers" fits 0 assay plan "mlp:sizes=$deep" --compile off && t "plan, op by op" fits 0 assay plan cnn-residual --compile off ;;
    profile) t "profile" fits 0 assay profile mlp-small --roofs off --runs 50 --store none ;;
    train) t "train" fits 0 assay train mlp:sizes=2x8x4 --data synthetic:spirals,n=128 --val 25% --epochs 2 --store none ;;
    tune) t "tune" fits 0 assay tune mlp:sizes=2x8x4 --threads 1,2 && t "tune of the rate" fits 0 assay tune mlp:sizes=2x8x4 --lr --data synthetic:spirals,n=128 --batch 8 &&
        t "tune of recomputation" fits 0 assay tune mlp:sizes=16x64x64x64x64x8 --recompute --batch 64 --runs 3 --progress never &&
        t "tune of the precision" fits 0 assay tune mlp:sizes=64x256x128x64x10 --precision --batch 64 --runs 3 --progress never --data synthetic:digits,n=128 --preprocess flatten --steps 4 ;;
    report) t "report" fits 0 assay report run.json ;;
    list) t "list" fits 0 assay list ;;
    version) t "version" fits 0 assay version ;;
    doctor) t "doctor" fits 0 assay doctor ;;
    devices) t "devices" fits 0 assay devices && t "devices with limits" fits 0 assay devices --device null:limit.fma.f32=1e9,limit.read.dram=1e10 ;;
    export) t "export" fits 0 assay export mlp-small --onnx m.onnx ;;
    wiring) t "wiring" fits 0 assay wiring autoncp:units=28,out=4 --input 20 && t "a small wiring" fits 0 assay wiring full:units=8,out=4 ;;
    bench) t "bench of 200 cases" fits 0 assay bench softmax --sizes "$sizes" $null --runs 3 --store none && t "bench of one" fits 0 assay bench mlp-small $null --runs 3 --store none ;;
    record) t "record" bash -c "'$ASSAY' record --store none -- true >rec.out 2>&1 || [ \$? = 5 ]; [ \$(wc -l <rec.out) -le 25 ]" ;; # 5: no recorder here
    noise) t "noise" fits 0 assay noise --budget 200ms --store none ;;
    selftest) t "selftest" fits 0 assay selftest --stats --cells compute --state counted.jsonl ;;
    compare) ;; # compare_golden_test.sh
    completion) ;; # a script for a shell, not text for people
    baseline) need_store || return 0; t "baseline list" fits 0 assay baseline list && t "baseline show" fits 0 assay baseline show b1 ;;
    check) need_store || return 0; t "check" fits 0 assay check --baseline b1 --budget 20s ;;
    history) need_store || return 0; t "history" fits 0 assay history --store many.db && t "history of a case" fits 0 assay history "softmax/4/f32/null:*=5us" --store many.db ;;
    runs) need_store || return 0; t "runs list" fits 0 assay runs list --store many.db && t "runs show" fits 0 assay runs show 1 --store many.db ;;
    *) t "$1 has its default output walked here" false ;;
    esac
}
for verb in $("$ASSAY" list verbs | awk '{print $1}'); do walk "$verb"; done

# --- What they say ------------------------------------------------------------------------------------------------------------
t "plan" golden plan still assay plan cnn-bn
t "plan of a deep model says how many others there are" says "491 others" plan "mlp:sizes=$deep" --compile off
cat >slow.json <<'END'
{"format": "assay.model/1", "name": "slow", "inputs": [{"name": "x", "dtype": "f32", "shape": [64, 64]}],
 "nodes": [{"op": "Det", "name": "det", "in": ["x"], "out": ["y"]}], "outputs": ["y"]}
END
t "plan of what has no fast kernel says so" says "% of the work is in assay's reference code, not in a fast kernel" plan slow.json
t "plan --report detailed names every kernel that lost" says "Why these kernels" plan mlp-small --report detailed
t "run" golden run still assay run mlp-small --device null
t "run says where it wrote" says "Written: y to y.npy." run mlp-small --output y.npy
t "run is silent where standard output is taken" bash -c "'$ASSAY' run mlp-small --json - | head -c 1 | grep -q '{'"
t "run --report detailed prints the values" says "y: f32[2,10]" run mlp-small --batch 2 --report detailed
t "bench" golden bench still assay bench softmax --sizes 4x4,8x8 $null --runs 3 --store none
t "bench of 200 cases says how many more" says "192 more: --report detailed" bench softmax --sizes "$sizes" $null --runs 3 --store none
t "devices says what each engine is" says "computes nothing" devices
t "devices tells limits that were given" bash -c "'$ASSAY' devices --device null:limit.fma.f32=1e9,limit.read.dram=1073741824 | grep -q '  1.00 GFLOP/s .* 1.00 GiB/s'"
t "devices says how limits are had" says "How fast they can be at most is not measured yet" devices --device cpu
t "devices --report detailed lists engines" says "engines:" devices --report detailed
t "doctor says what can be measured" says "Can be measured here" doctor
t "doctor names the clock" says "per reading" doctor
t "doctor --report detailed has every sensor" says "memory.resident" doctor --report detailed
t "doctor --json - is one object" says '"schema": "assay.doctor/1"' doctor --json -
t "doctor --json FILE writes it whole" bash -c "'$ASSAY' doctor --json d.json && grep -q '\"unavailable\"' d.json"
t "noise says first what can be told apart" bash -c "'$ASSAY' noise --budget 1s --store none | sed -n 3p | grep -qE 'This machine can tell [0-9.e-]+ % apart in 1 s'"
t "noise has its best choice in the JSON" bash -c "'$ASSAY' noise --budget 500ms --store none --json - | grep -q '\"best\"'"
t "version" says "how many" version
t "version --report detailed names kernels" says "gemm_f32_wide" version --report detailed
t "list counts topics" says "every option of every verb" list
t "list --all lists them" says "kernels:" list --all
t "list TOPIC --all is a mistake" refuses 2 "--all goes with list alone" list ops --all
if script -qec true /dev/null >/dev/null 2>&1; then # a terminal of 80 columns
    t "a list is broken at words on a terminal" bash -c "script -qec \"stty cols 80; '$ASSAY' list sensors --no-pager\" /dev/null | tr -d '\r' | awk 'length > 80 { bad = 1 } /^cpu.time/ { seen = 1 } END { exit bad || !seen }'"
fi
t "a list has one line per row in a pipe" bash -c "[ \$('$ASSAY' list sensors | wc -l) = \$('$ASSAY' list sensors --json - | grep -c '\"state\"') ]"
t "selftest" golden selftest still assay selftest --stats --cells compute --state counted.jsonl
t "selftest --report detailed has bounds" says "95 % bounds" selftest --stats --cells compute --state counted.jsonl --report detailed
t "a wiring's table is detail" bash -c "'$ASSAY' wiring full:units=4,out=2 >w && '$ASSAY' wiring full:units=4,out=2 --report detailed >v && [ \$(wc -l <v) -gt \$(wc -l <w) ]"
if need_store; then
    t "runs list shows the newest" bash -c "'$ASSAY' runs list --store many.db | sed -n 4p | grep -q '^   100  '"
    t "and says how many are older" says "82 older: --all" runs list --store many.db
    t "runs list --all shows all" bash -c "[ \$('$ASSAY' runs list --all --store many.db | wc -l) = 101 ]"
    t "--all goes with list" refuses 2 "--all goes with runs list" runs show 1 --all
    t "--report goes with show" refuses 2 "--report goes with runs show" runs list --report detailed
    t "runs show --report detailed has everything" says "samples" runs show 1 --report detailed --store many.db
    t "history lists cases" golden history still assay history --store many.db
    t "history of a case" golden history-case still assay history "softmax/4/f32/null:*=5us" --store many.db
    t "baseline list" says "7 more: --all" baseline list
    t "baseline list --all shows all" bash -c "[ \$('$ASSAY' baseline list --all | wc -l) = 25 ]"
    t "baseline show --report detailed names the files" says "lower quartile" baseline show b1 --report detailed
    t "check passes" golden check-pass still assay check --baseline b1 --budget 20s --progress never
    speaker 112000 prog7
    speaker 90000 prog8
    t "check fails" golden check-fail still assay check --baseline b1 --budget 20s --progress never
    t "and says so first" bash -c "'$ASSAY' check --baseline b1 --budget 20s | sed -n 3p | grep -qF 'FAIL: 1 of 20 slower: ./prog7 by 12 % (12 to 12)'"
    t "its exit code is 1" fits 1 assay check --baseline b1 --budget 20s
    t "--fail-on lets it pass" bash -c "'$ASSAY' check --baseline b1 --budget 20s --fail-on critical | tr -s '\n ' ' ' | grep -q 'PASS: 1 of 20 slower.*--fail-on critical lets it pass'"
    printf '#!/bin/sh\necho "out of paper" >&2\nexit 7\n' >prog7
    t "a case that fails is named with its words" golden check-incomplete still assay check --baseline b1 --budget 20s --progress never
    t "what is unresolved is named" golden check-unresolved still assay check --baseline main --budget 1ms --alpha 0.000001 --progress never
fi
finish
