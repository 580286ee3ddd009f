# train_test.sh - training from the command line: lines, logs, run files, resume, Ctrl-C, a full disk, what is refused.
. "$(dirname "$0")/lib.sh"
set -m
cd "$dir" || exit 2
net=mlp:sizes=2x16x3
data="--data synthetic:spirals,n=200,seed=3 --val 20% --batch 16 --store none"
column() { sed -n "s/.*\"update\":\([0-9]*\),.*\"$1\":\([-0-9.e+]*\).*/\1 \2/p" "$2"; } # FIELD FILE: update and value

screen() { # a line per epoch and one screen: 25 lines of 80 columns
    "$ASSAY" train $net $data --epochs 2 >screen.out || return 1
    [ "$(grep -c '^epoch [12]: loss .*, validation .*, accuracy .* samples/s$' screen.out)" = 2 ] || return 1
    [ "$(wc -l <screen.out)" -le 27 ] && ! perl -CSD -ne 'chomp; print if length > 80' screen.out | grep -q . || return 1
    for word in "Trained for 20 updates" Accuracy "Validation loss" "began at" Speed Memory "Where the time went" Trustworthy; do
        grep -qF -- "$word" screen.out || { echo "missing: $word"; cat screen.out; return 1; }
    done
}
t "a line per epoch, and a first screen" screen
t "--every prints a line per so many updates" bash -c "'$ASSAY' train $net $data --steps 6 --every 2 | grep -c '^update' | grep -qx 3"
t "--quiet prints one line" bash -c "'$ASSAY' train $net $data --steps 6 --quiet | wc -l | grep -qx 1"
t "--log has one object per logged update and a summary" bash -c "'$ASSAY' train $net $data --steps 6 --every 1 --log a.jsonl -q >/dev/null && [ \$(wc -l <a.jsonl) = 7 ] && tail -1 a.jsonl | grep -q '\"summary\":\"complete\"'"
t "--log - is the log alone" bash -c "'$ASSAY' train $net $data --steps 4 --every 1 --log - | grep -vc '^{' | grep -qx 0"

timeline() { # the loader's threads beside the steps (one may have done all the work): in an exported timeline, in the page and in the report
    assay train $net $data --steps 20 --loader threads=2 --chrome t.json --html t.html --trace t.trace -q >/dev/null || return 1
    python3 -c 'import json, sys
events = json.load(open("t.json"))["traceEvents"]
tids = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
for lane, what in (("training loop", "forward, backward, update"), ("loader ", "preparing batches"), ("validation loader ", "preparing batches for evaluation")):
    mine = [tid for name, tid in tids.items() if name.startswith(lane)]
    if not any(e.get("tid") in mine and e["name"] == what for e in events):
        sys.exit(f"no span {what} of {lane}")' || return 1
    for words in 'aria-label="Timeline"' '>loader ' 'hidden behind steps and evaluation' 'steps and evaluation hid'; do
        grep -qF -- "$words" t.html || { echo "not in the page: $words"; return 1; }
    done
    assay report t.trace --report detailed >t.txt && grep -qE '^ *loader [12] ' t.txt
}
t "a timeline has the loader's threads beside the steps" timeline

# The same run, killed by steps: resumed losses are those of one that was not stopped.
assay train $net $data --steps 40 --every 1 --log whole.jsonl -q >/dev/null
resumed() { # options...
    rm -rf ck
    assay train $net $data --steps 40 --every 1 --log one.jsonl --checkpoint ck --checkpoint-every 7 --keep 20 -q "$@" >/dev/null || return 1
    rm ck/step-0000002[89]* ck/step-000000[34]*
    assay train $net $data --steps 40 --every 1 --log two.jsonl --checkpoint ck --resume ck -q --threads 2 "$@" >/dev/null || return 1
    column loss two.jsonl >two && [ "$(wc -l <two)" -gt 10 ] && column loss whole.jsonl >whole && [ "$(comm -23 <(sort two) <(sort whole))" = "" ]
}
t "a run goes on to the bit, with another number of threads" resumed
beside() { # a checkpoint is written by a thread of its own, from a copy; what the loop lost is told
    rm -rf b
    assay train $net $data --steps 40 --every 1 --log b.jsonl --checkpoint b --checkpoint-every 1 --chrome b.json --report detailed >b.out || return 1
    cmp <(column loss b.jsonl) <(column loss whole.jsonl) || return 1
    grep -q '^ *checkpoint copy ' b.out && grep -q 'writing checkpoints' b.out && grep -q '^ *checkpoint writer ' b.out || { cat b.out; return 1; }
    [ "$(grep -o 'writing a checkpoint' b.json | wc -l)" -ge 40 ]
}
t "checkpoints are written beside the training" beside
t "--keep leaves so many" bash -c "rm -rf k && '$ASSAY' train $net $data --steps 9 --checkpoint k --checkpoint-every 1 --keep 3 -q >/dev/null && [ \$(ls k/*.json | wc -l) = 3 ] && [ \$(ls -A k | wc -l) = 6 ]"
t "a folder with checkpoints is not overwritten" refuses 2 "has checkpoints of an earlier run" train $net $data --steps 9 --checkpoint k
t "the same command begins anew where there is none yet" assay train $net $data --steps 3 --checkpoint new --resume new

stopped() { # Ctrl-C: a checkpoint, a report, exit code 5
    rm -rf stop
    "$ASSAY" train $net $data --steps 100000000 --checkpoint stop --every 100 >stop.out 2>stop.err &
    local pid=$! code
    until [ -s stop.out ]; do sleep 0.05; done
    kill -INT $pid
    wait $pid
    code=$?
    cat stop.err
    [ $code = 5 ] && grep -q "stopped after" stop.err && grep -q "Where the time went" stop.out && ls stop/step-*.json >/dev/null
}
t "Ctrl-C writes a checkpoint and the report, exit code 5" stopped

killed() { # SIGKILL at some moments: always resumes
    rm -rf kill
    for i in 1 2 3 4 5; do
        "$ASSAY" train $net $data --steps 40 --every 1 --log k$i.jsonl --checkpoint kill --resume kill --checkpoint-every 5 -q >/dev/null 2>&1 &
        local pid=$!
        sleep "0.0$((i * 37 % 10))"
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
    done
    assay train $net $data --steps 40 --every 1 --log k6.jsonl --checkpoint kill --resume kill -q >/dev/null || return 1
    cat k?.jsonl >all.jsonl
    column loss all.jsonl | sort -u >killed && column loss whole.jsonl | sort >whole && cmp killed whole
}
t "killed at any moment, it goes on" killed

t "bad steps are refused" refuses 2 "give one of the two" train $net $data --steps 3 --epochs 2
t "no data" refuses 2 "train needs data to learn from" train $net
t "data that do not fit" refuses 2 "has 'x' of shape [2], but the input 'x'" train mlp:sizes=3x4x3 $data
t "more classes than answers" refuses 2 "classes, but mlp:sizes=2x4x1 answers with 1" train mlp:sizes=2x4x1 $data
t "a share of nothing" refuses 2 "the share must be more than 0%" train $net --data synthetic:spirals,n=200 --val 0% --store none
t "--batch auto measures the knee and says what it took and why, in one line" bash -c "'$ASSAY' train $net --data synthetic:spirals,n=200 --batch auto --steps 3 --store none --checkpoint ka --json ka.json >ka.out 2>ka.err &&
    [ \$(grep -c -- '--batch auto took [0-9]*: the' ka.err) = 1 ] && grep -q -- '--batch auto took' ka.json"
t "it fits the examples" bash -c "[ \$(sed -n 's/.*auto took \\([0-9]*\\):.*/\\1/p' ka.err) -le 200 ]"
t "a run that goes on keeps the size that was taken" bash -c "'$ASSAY' train $net --data synthetic:spirals,n=200 --batch auto --steps 6 --store none --checkpoint ka --resume ka >kb.out 2>kb.err &&
    grep -q 'the size of the checkpoint' kb.err && [ \$(sed -n 's/.*auto took \\([0-9]*\\):.*/\\1/p' ka.err) = \$(sed -n 's/.*auto took \\([0-9]*\\):.*/\\1/p' kb.err) ]"
t "--batch auto takes what fits" bash -c "'$ASSAY' train $net --data synthetic:spirals,n=200 --batch auto --memory-budget 100K --steps 2 --store none --every 1 --log auto.jsonl -q >/dev/null && grep -o '\"batch\":[0-9]*' auto.jsonl | head -1 | grep -qvx '\"batch\":32'"
t "a folder without a checkpoint" bash -c "mkdir empty && ! '$ASSAY' train $net $data --steps 3 --resume empty 2>&1 | grep -v 'has no checkpoint'"
t "--batch auto is for training" refuses 2 "auto does not apply here" run mlp-small --batch auto
t "--save takes a network's suffix" refuses 2 "expected a file that ends with .onnx or .safetensors" train $net $data --steps 3 --save x.bin

printf '{"model": "%s", "data": "synthetic:spirals,n=200,seed=3", "val": "20%%", "batch": 16, "store": "none", "steps": 40, "every": 1, "log": "file.jsonl", "freeze": ["fc1.bias"]}' $net >run.json
t "a run file" bash -c "'$ASSAY' train run.json -q >/dev/null && [ \$(wc -l <file.jsonl) = 41 ]"
t "the command line comes first" bash -c "'$ASSAY' train run.json --steps 5 -q >/dev/null && [ \$(wc -l <file.jsonl) = 6 ]"
printf '{"model": "x", "dat": "y"}' >bad.json
t "an unknown key of a run file" refuses 2 'unknown key "dat" (did you mean "data"?)' train bad.json
printf '{"model": "x", "data": {"a": 1}}' >bad.json
t "a value that is not one" refuses 2 '"data" must be a text' train bad.json

t "the saved network answers" bash -c "'$ASSAY' train $net $data --steps 9 --save t.onnx --save t.onnx -q >/dev/null && '$ASSAY' run t.onnx --batch 2 | grep -q f32"
if has_store; then
    t "the run is stored and reported again" bash -c "'$ASSAY' train $net --data synthetic:spirals,n=200 --steps 9 --store s.db -q >/dev/null && '$ASSAY' report 1 --store s.db | grep -q 'Trained for 9 updates' && '$ASSAY' report 1 --store s.db --html r.html && grep -q 'Loss of each update' r.html"
fi
not_finite() { # the example of the data is named
    printf '1,2,0\n3,4,1\n5,nan,2\n' >nan.csv
    ! "$ASSAY" train $net --data nan.csv --steps 3 --store none >nan.out 2>&1
}
t "a number that is not finite in the data is refused or named" not_finite

# No option is inert: each one of the verb changes bits (of the losses), bytes (what is written) or what is refused.  An option without a
# line here fails: add one that shows what it does.
base="train $net --data synthetic:spirals,n=200,seed=3 --val 20% --batch 16 --store none --steps 24 --every 1 -q"
losses() { assay $base --log o.jsonl "$@" >o.out 2>o.err && column loss o.jsonl; }
losses >base.losses || { echo "the base run fails"; cat o.err; }
other_bits() { losses "$@" >o.losses || { cat o.err; return 1; }; ! cmp -s base.losses o.losses; }
same_bits() { losses "$@" >o.losses && cmp base.losses o.losses; }
timed() { # AXIS: timespans, which the data have not, are 1; their sum is the length of the axis
    printf '{"format": "assay.model/1", "name": "timed", "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", 2]}, {"name": "timespans", "dtype": "f32", "shape": ["batch", "%s"]}],
 "params": [{"name": "w", "dtype": "f32", "shape": [2, 3], "random": {"fan_in": 2}}, {"name": "b", "dtype": "f32", "shape": [3], "values": [0, 0, 0]}],
 "constants": [{"name": "axes", "dtype": "i64", "shape": [1], "values": [1]}],
 "nodes": [{"op": "ReduceSum", "in": ["timespans", "axes"], "out": ["time"]}, {"op": "Gemm", "in": ["x", "w", "b"], "out": ["z"]},
           {"op": "Mul", "in": ["z", "time"], "out": ["y"]}], "outputs": ["y"]}' "$1"
}
long() { # AXIS: sums x over it
    printf '{"format": "assay.model/1", "name": "long", "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", "%s", 2]}],
 "params": [{"name": "w", "dtype": "f32", "shape": [2, 1], "random": {"fan_in": 2}}, {"name": "b", "dtype": "f32", "shape": [1], "values": [0]}],
 "constants": [{"name": "axes", "dtype": "i64", "shape": [1], "values": [1]}],
 "nodes": [{"op": "ReduceSum", "in": ["x", "axes"], "out": ["s"], "attrs": {"keepdims": 0}}, {"op": "Gemm", "in": ["s", "w", "b"], "out": ["y"]}],
 "outputs": ["y"]}' "$1"
}
effect() { # OPTION
    case $1 in
    data) other_bits --data synthetic:spirals,n=200,seed=4 ;;
    val) other_bits --val 40% ;;
    preprocess) other_bits --preprocess normalize ;;
    loader) other_bits --loader shuffle=off && same_bits --loader threads=0,prefetch=1 ;;
    loss) [ "$(assay train mlp:sizes=1x4x1 --data synthetic:linear,n=64,features=1 --steps 2 --every 1 --store none --log - --loss mae | head -1)" != \
        "$(assay train mlp:sizes=1x4x1 --data synthetic:linear,n=64,features=1 --steps 2 --every 1 --store none --log - --loss mse | head -1)" ] ;;
    metrics) losses --metrics f1 >o.losses && grep -q '"f1":' o.jsonl ;;
    epochs) assay train $net --data synthetic:spirals,n=200,seed=3 --batch 20 --store none --epochs 3 -q --log o.jsonl >o.out && tail -1 o.jsonl | grep -q '"updates":30' ;;
    steps) losses --steps 9 | wc -l | grep -qx 9 ;;
    batch) other_bits --batch 8 ;;
    memory-budget) refuses 2 "more than --memory-budget 1K" $base --memory-budget 1K ;;
    grow-batch) other_bits --grow-batch "epoch 2: 32" ;;
    accumulate) other_bits --accumulate 2 ;;
    optimizer) other_bits --optimizer sgd:lr=0.1 ;;
    schedule) other_bits --schedule "warmup 5 > cosine 0" ;;
    group) other_bits --group "fc1*:lr=0.1x" ;;
    freeze) other_bits --freeze "fc1*" ;;
    clip) other_bits --clip 0.01 --optimizer sgd:lr=0.1 && cp o.losses a.losses && losses --optimizer sgd:lr=0.1 >o.losses && ! cmp -s a.losses o.losses ;;
    clip-value) losses --clip-value 0.001 --optimizer sgd:lr=0.1 >a.losses && losses --optimizer sgd:lr=0.1 >o.losses && ! cmp -s a.losses o.losses ;;
    precision) other_bits --precision bf16-storage && other_bits --precision f16-storage ;;
    recompute) # the same bits in less memory
        deep="train mlp:sizes=2x64x64x64x64x64x64x3 --data synthetic:spirals,n=512 --batch 256 --steps 4 --every 1 --store none -q"
        assay $deep --json r0.json --log d0.jsonl >o.out && assay $deep --recompute 3 --json r2.json --log d2.jsonl >o.out || return 1
        [ "$(column loss d0.jsonl)" = "$(column loss d2.jsonl)" ] || { echo "other bits"; return 1; }
        held() { grep -A3 '"train.memory"' "$1" | sed -n 's/.*"value": \([0-9]*\).*/\1/p'; }
        [ "$(held r2.json)" -lt "$(held r0.json)" ] ;;
    checkpoint) rm -rf c1; losses --checkpoint c1 >o.losses && ls c1/*.json >o.out ;;
    checkpoint-every) rm -rf c1; losses --checkpoint c1 --checkpoint-every 5 --keep 99 >o.losses && ls c1/step-00000015.json >o.out ;;
    keep) rm -rf c1; losses --checkpoint c1 --checkpoint-every 1 --keep 1 >o.losses && [ "$(ls c1/*.json | wc -l)" = 1 ] ;;
    resume) rm -rf c1; losses --steps 24 --checkpoint c1 --checkpoint-every 5 --keep 9 >o.losses && rm o.jsonl && losses --resume c1/step-00000020.json | wc -l | grep -qx 4 ;;
    diverged) ! losses --steps 400 --optimizer sgd:lr=3 --diverged 1.01 >o.losses && losses --steps 400 --optimizer sgd:lr=3 --diverged 0 >o.losses ;;
    every) losses --every 6 | wc -l | grep -qx 6 ;; # 4, and the ends of two epochs
    log) rm -f x.jsonl; assay $base --log x.jsonl >o.out && [ -s x.jsonl ] ;;
    save) assay $base --save x.onnx >o.out && [ -s x.onnx ] && assay $base --save x.safetensors >o.out && [ -s x.safetensors ] ;;
    weights) assay $base --save x.safetensors >o.out && other_bits --weights x.safetensors ;;
    seq|dim) # an axis that the data say nothing about: its length is a factor of the answers
        local name=K a="--dim K=3" b="--dim K=5"
        [ $1 = dim ] || { name=seq a="--seq 3" b="--seq 5"; }
        timed $name >timed.json
        factor_losses() { assay train timed.json --data synthetic:spirals,n=64 --batch 8 --steps 3 --every 1 --store none -q --log o.jsonl "$@" >o.out 2>&1 && column loss o.jsonl; }
        factor_losses $a >a.losses && factor_losses $b >o.losses && factor_losses $a | cmp a.losses && ! cmp -s a.losses o.losses || return 1
        long seq >long.json # an axis of the data: the option may say the same, and is refused otherwise
        [ $1 = seq ] || { long K >long.json; a="--dim K=16" b="--dim K=50"; }
        [ $1 = dim ] || a="--seq 16" b="--seq 50"
        assay train long.json --data synthetic:adding,n=64 --batch 8 --steps 1 --store none -q $b >o.out &&
            refuses 2 "50" train long.json --data synthetic:adding,n=64 --batch 8 --steps 1 --store none -q $a ;;
    seed) other_bits --seed 9 ;;
    threads) same_bits --threads 2 && same_bits --threads 1 &&
        assay ${base% -q} --threads 2 | grep -q "CPU, 2 threads" && assay ${base% -q} --threads 1 | grep -q "CPU, 1 thread " ;;
    device) # another device runs the steps: null computes nothing, and its time is told, not measured
        other_bits --device null && assay $base --device null --trace x.trace >a.out && assay $base --device null >o.out && cmp a.out o.out || return 1
        grep -qaF '"device":"null"' x.trace && assay $base --trace x.trace >o.out && ! grep -qaF '"device":"null"' x.trace ;;
    winograd) # other kernels, and so other bits
        conv="train cnn-small --data synthetic:digits,n=64,size=28 --batch 16 --steps 4 --every 1 --store none -q"
        chosen() { grep -aoE '"kernel":"[a-z0-9]*conv_f32_winograd[a-z0-9_]*"' "$1" | wc -l; }
        assay $conv --trace a.trace --log a.jsonl >o.out && assay $conv --winograd --trace o.trace --log o.jsonl >o.out || return 1
        [ "$(chosen a.trace)" = 0 ] && [ "$(chosen o.trace)" -gt 0 ] && ! cmp -s <(column loss a.jsonl) <(column loss o.jsonl) ;;
    store) has_store || return 0; assay train $net --data synthetic:spirals,n=200 --steps 2 --store o.db -q >o.out && [ -s o.db ] ;;
    json|html|csv|markdown) assay $base --$1 x.$1 >o.out && [ -s x.$1 ] ;;
    trace) assay $base --trace x.trace >o.out && assay report x.trace | grep -q "Trained for 24 updates" ;;
    chrome|perfetto|speedscope|folded|pprof|callgrind|openmetrics|prometheus) rm -f x.$1; assay $base --$1 x.$1 >o.out && [ -s x.$1 ] ;;
    export-all) assay $base --chrome x.chrome --export-all >o.out && grep -q "waiting for data" x.chrome ;;
    sections) assay $base --json x.json --html x.html --sections train_run >o.out && [ -s x.html ] ;;
    report) [ "$(assay $base --report detailed | wc -l)" -gt 40 ] ;;
    colour) assay train $net $data --steps 2 --colour always | grep -q "$(printf '\033')" ;;
    *) echo "no line here shows what --$1 does"; return 1 ;;
    esac
}
for option in $("$ASSAY" list options | awk '$1 == "train" {print $2}'); do
    t "--$option has an effect" effect "$option"
done
finish
