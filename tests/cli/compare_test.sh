# compare_test.sh - arms side by side: on the null device, whose time is told, verdicts are certain; what is not one is refused in a sentence.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
quick="--budget 100ms --store none --progress never"
model=mlp:sizes=8x4
arm="'$ASSAY' selftest --arm compute"
verdict() { # "words" args...: compare says the words, in its detailed report
    local words=$1
    shift
    says "$words" compare "$@" $quick --report detailed
}

t "twice the time is slower" verdict "SLOWER (critical)" $model --devices null:gemm=5us,null:gemm=10us
t "half the time is faster" verdict "FASTER" $model --devices null:gemm=10us,null:gemm=5us
t "the same time is the same" verdict "SAME" $model --devices null:gemm=5us,null:gemm=5us
t "4 % more is slower than a margin of 1 %" verdict "SLOWER (minor)" $model --devices null:gemm=100us,null:gemm=104us
t "and the same within a margin of 5 %" verdict "SAME" $model --devices null:gemm=100us,null:gemm=104us --margin 5%
t "two models" verdict "mlp-small against $model" $model mlp-small --device null
t "the same one twice is a test of the laboratory" verdict "$model (2) against $model" $model $model --device null
t "three arms are two comparisons" bash -c "'$ASSAY' compare $model --vary threads=1,2,3 --device null $quick --report detailed | grep -c SAME | grep -qx 2"
t "batches are judged per item: eight in the time of one are faster" verdict "ns/item -87.5 %" $model --vary batch=1,8 --device null:gemm=5us
t "and the times of a call stand beside" verdict "judged per item: calls of 1 and 8 items take 5.00 us and 5.00 us" $model --vary batch=1,8 --device null:gemm=5us
t "the guide takes latency per call and throughput per item" bash -c "
    '$ASSAY' compare $model --vary batch=1,8,32 --device null:gemm=5us $quick --report detailed >g.out && grep -q 'throughput *batch=32 *6.40 M/s' g.out && grep -q 'latency .*5.00 us' g.out"
t "a workload's batch is its items, too" verdict "judged per item" bench:cell --vary batch=1,8 --device null
t "a device with several operators is one arm" verdict "11.0 -> 19.0 us" mlp-small --vary device=null:gemm=5us,relu=1us,null:gemm=9us
for vary in threads=1,2 batch=1,8 compile=on,off precision=f32,f16 weights-as=f32,bf16 winograd=off,on; do
    t "--vary $vary" verdict "mlp-small by ${vary%%=*}" mlp-small --vary $vary
done
t "--vary takes a parameter of the model" verdict "sizes=8x8" mlp --vary sizes=8x4,8x8 --device null
t "a workload over devices, by size" verdict "32x32" bench:matmul --devices null:matmul=5us,null:matmul=9us --sizes 16x16,32x32
t "a workload by element type" verdict "dtype=f16" bench:matmul --vary dtype=f32,f16 --sizes 16x16
t "rows tell where the winner changes" verdict "won at every batch size" $model --devices null:gemm=5us,null:gemm=9us --vary batch=1,8
t "--metric shows bytes per second and the share of the limit" bash -c "'$ASSAY' compare $model --vary batch=1,8 --device null:gemm=5us $quick --metric bandwidth >m.out && grep -q 'Per second *bandwidth *of limit' m.out"
t "without --metric the first screen does not" bash -c "! '$ASSAY' compare $model --vary batch=1,8 --device null:gemm=5us $quick | grep -q 'Per second'"
t "an unknown metric is refused" refuses 2 "metric" compare $model --vary batch=1,8 --metric joules
t "exactly so many rounds" bash -c "'$ASSAY' compare $model --device null --vary batch=1,2 --runs 7 --warmup 0 --layout-of-memory fixed $quick --report detailed | grep -q '7 rounds'"

# --- Programs ---------------------------------------------------------------------------------------------------------
speaker 1000 once
speaker 2000 twice
t "programs that speak the line protocol" says "./twice is 2.00x slower than ./once" compare --bin ./once ./twice --budget 3s --store none
t "a load of our own speaks it too" says " -> " compare --bin "$arm" "$arm:1" --budget 300ms --store none --report detailed
t "one needs two or more candidates" refuses 2 "needs a second program" compare --bin "$arm" $quick
t "one that is not there" refuses 2 "cannot be started" compare --bin "$arm" ./nosuch $quick
t "one that does not speak" refuses 5 "its greeting" compare --bin "$arm" "echo hello" $quick
printf '#!/bin/sh\necho about to hang >&2\nsleep 100 & wait\n' >hang
chmod +x hang
t "one that never answers is ended and named" refuses 5 '"./hang": its greeting: timed out after 0.3 s; it said: about to hang' compare --bin "$arm" ./hang --timeout 300ms $quick
t "an option that says nothing about programs" refuses 2 "--threads does not apply" compare --bin "$arm" "$arm" --threads 2

# --- Bad input --------------------------------------------------------------------------------------------------------
t "nothing named" refuses 2 "name two models" compare
t "one arm" refuses 2 "needs two or more candidates" compare mlp-small $quick
t "one value" refuses 2 "has one value" compare mlp-small --vary threads=1 $quick
t "--vary without a key" refuses 2 "expected KEY=A,B" compare mlp-small --vary 1,2 $quick
t "--vary with an empty value" refuses 2 "a value is empty" compare mlp-small --vary threads=1,,2 $quick
t "a key that there is not" refuses 2 "mlp-small has no key 'nope'" compare mlp-small --vary nope=1,2 $quick
t "a key that the workload has not" refuses 2 "unknown key of matmul 'nope'" compare bench:matmul --vary nope=1,2 $quick
t "a value that cannot be" refuses 2 "not one of: f32 f16 bf16" compare mlp-small --vary precision=f32,i9 $quick
t "a model that is not there" refuses 2 "'nosuch'" compare mlp-small nosuch $quick
t "arms with other cases" refuses 2 "candidates must have the same cases" compare bench:elementwise:add,mul bench:softmax $quick
t "several --device, of which the last would win" refuses 2 "2 are given; --devices A,B compares devices" compare $model mlp-small --device null --device null:gemm=9us $quick
t "told times and measured ones" refuses 2 "they cannot be compared" compare $model --devices cpu,null
for margin in x -1 nan 1e9; do t "--margin $margin" refuses 2 "is not a percentage" compare $model --devices null,null --margin=$margin $quick; done
for alpha in x 0 1 nan; do t "--alpha $alpha" refuses 2 "is not a share" compare $model --devices null,null --alpha $alpha $quick; done
t "--budget" refuses 2 "is not a duration" compare $model --devices null,null --budget 5parsecs
t "--warmup" refuses 2 "must be auto or a number" compare $model --devices null,null --warmup few $quick
t "a store that cannot be had is refused before anything is measured" refuses 2 "nosuch/s.db cannot be written: the directory nosuch does not exist" compare $model --devices null,null --budget 50ms --store nosuch/s.db

# --- Files ------------------------------------------------------------------------------------------------------------
t "all files are written" assay compare $model --devices null:gemm=5us,null:gemm=10us $quick --samples --json c.json --html c.html --csv c.csv --markdown c.md
t "report reads the JSON back" says "SLOWER (critical)" report c.json --report detailed
t "the JSON holds the trial" grep -q '"schema": "assay.trial/1"' c.json
t "--json - is JSON alone" bash -c "'$ASSAY' compare $model --devices null,null $quick --json - | head -c 1 | grep -q '{'"
t "the page is one self-contained file" bash -c "! grep -qE '(src|href)=\"?https?:' c.html && grep -q '<svg' c.html"
t "CSV has a row a number" grep -q '^1,compare,compare.slower' c.csv
t "Markdown has a table" grep -q '^|' c.md
t "a verdict is computed again from the file" says "SLOWER (critical)" compare --from c.json --report detailed
t "with another margin it is another" says "are the same within 200 %" compare --from c.json --margin 200%
t "batches in a file" assay compare $model --vary batch=1,8 --device null:gemm=5us $quick --json b.json
t "hold how many items a call did" grep -q '"items": 8' b.json
t "and are judged per item again" says "ns/item -87.5 %" compare --from b.json --report detailed
t "and nothing else can be said about it" refuses 2 "--budget does not apply" compare --from c.json --budget 1s
"$ASSAY" profile mlp-small --roofs off --runs 50 --json p.json >/dev/null
t "a file without a trial" refuses 2 "no trial with two candidates" compare --from p.json

# --- Devices that refuse ----------------------------------------------------------------------------------------------
t "a device that ran a part says so" verdict "ran only in part" mlp-small --devices null:graph,null:graph,without=Relu
t "a profile names what each device had" says "2 of 3 steps (refused 1)" profile mlp-small --device null:graph,without=Relu --runs 20
t "and its JSON" bash -c "'$ASSAY' profile mlp-small --device null:graph,without=Relu --runs 20 --json - | grep -q '\"device.cpu.share_of_steps\"'"
t "a device that takes nothing is an error" refuses 2 "takes none of the 1 step" profile $model --device null:graph,without=Gemm --runs 20
t "and no comparison" refuses 5 "takes none of the 1 step" compare $model --devices null:graph,null:graph,without=Gemm $quick
if "$ASSAY" devices | grep -q 'opencl:0'; then
    t "OpenCL has no kernel for the cell" refuses 2 "takes none of the 1 step" profile cfc --device opencl --time 50ms
    t "and does not win against the CPU" refuses 5 "takes none of the 1 step" compare cfc --devices cpu,opencl $quick
fi
t "operators are advised for neither inference nor training" bash -c "
    ! '$ASSAY' compare bench:matmul --devices null,null --sizes 8x8,16x16 $quick --csv - | grep -E 'inference|training'"
t "models are advised for inference, not for training" bash -c "
    '$ASSAY' compare $model --vary batch=1,8 --vary threads=1,2 --device null $quick --json - | grep -q '\"inference\"'"

# --- Time -------------------------------------------------------------------------------------------------------------
t "the budget is kept, by a clock that only the null device moves" bash -c "
    ASSAY_CLOCK=fake '$ASSAY' compare $model --devices null:gemm=5us,null:gemm=5us --margin 0 --budget 200ms --store none --json - |
    tr -d ' \n' | grep -oE '\"spent_ns\":[0-9.e+]+' | cut -d: -f2 | awk '{ exit !(\$1 > 1.5e8 && \$1 <= 2.2e8) }'"

if ! has_store; then finish; exit; fi
interrupted() { # Ctrl-C after the first rounds
    "$ASSAY" compare $model $model --runs 1000000000 --layout-of-memory shared --budget 100s --store int.db >i.out 2>i.err &
    local pid=$!
    sleep 2
    kill -INT $pid
    wait $pid
    local got=$?
    cat i.err
    [ $got = 5 ] && grep -qE "stopped: [0-9]+ rounds are kept" i.err && grep -q "stopped early" i.out
}
t "Ctrl-C keeps what was measured and says so" interrupted
t "and stores it" bash -c "'$ASSAY' runs list --store int.db | grep -q 'compare *partial'"
t "a comparison is kept by default" bash -c "'$ASSAY' compare $model --devices null,null --budget 50ms >/dev/null && '$ASSAY' runs list | grep -q 'compare *complete'"
finish
