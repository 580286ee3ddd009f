# verbs_test.sh - what a new user types, verb by verb.
. "$(dirname "$0")/lib.sh"

t "no verb shows the overview and exits 2" bash -c "! '$ASSAY' 2>'$dir/o' && grep -q 'usage: assay VERB' '$dir/o'"
t "--help lists every verb" says "profile" --help
for verb in run train plan profile record report list version doctor devices export wiring bench compare baseline check history runs noise selftest completion; do
    t "$verb --help shows an example" says "example:" $verb --help
done

# Help and man page speak of the options that the verb takes, and of no other verb's.
man=$(cd "$(dirname "$0")/../../man" && pwd)
cd "$dir" || exit 2
"$ASSAY" list options | awk '{print $1, $2}' | sort >"$dir/taken"
helped() { "$ASSAY" "$1" --help | sed -n '/^Every verb:/q; s/^  \(-.,\|   \) --\([a-z0-9-]*\).*/\2/p' | sort; }
same_options() { [ "$(helped "$1")" = "$(awk -v v="$1" '$1 == v {print $2}' "$dir/taken")" ]; }
in_man() { # VERB: every option of it is in its man page
    local option text
    text=$(tr -d '\\' <"$man/assay-$1.1")
    for option in $(awk -v v="$1" '$1 == v {print $2}' "$dir/taken"); do
        grep -qE -- "--$option([^a-z-]|\$)" <<<"$text" || { echo "--$option"; return 1; }
    done
}
for verb in $("$ASSAY" list verbs | awk '{print $1}'); do
    t "$verb --help shows exactly the options that it takes" same_options "$verb"
    t "the man page of $verb has its options" in_man "$verb"
done
t "no option is listed twice for a verb" [ -z "$(uniq -d "$dir/taken")" ]
t "a default is that of the verb: noise" bash -c "'$ASSAY' noise --help | grep -- --budget | grep -qF '[12s]'"
t "a default is that of the verb: baseline" bash -c "'$ASSAY' baseline --help | grep -- --budget | grep -qF '[1s]'"
t "a default is that of the verb: bench" bash -c "'$ASSAY' bench --help | grep -- --budget | grep -qF '[5s]'"
t "compile both is said by profile" bash -c "COLUMNS=120 '$ASSAY' profile --help | grep -- --compile | grep -q both"
t "and by no other" bash -c "! '$ASSAY' run --help | grep -q both"

t "run prints an output with its shape" says "f32[2,10]" run mlp-small --batch 2
t "run writes npy" assay run mlp-small --batch 3 --output "$dir/y.npy"
t "the npy has the numpy magic" bash -c "head -c 6 '$dir/y.npy' | grep -q NUMPY"
t "run takes its own output's kind as input of another model" assay run mlp:sizes=10x4 --input "$dir/y.npy" --output y="$dir/z.npy"
t "the batch comes from the file" bash -c "'$ASSAY' run mlp:sizes=10x4 --input x='$dir/y.npy' | grep -qF '[3,4]'"
t "the same seed gives the same bits" bash -c "'$ASSAY' run cnn-small --seed 5 --output '$dir/a.npy' && '$ASSAY' run cnn-small --seed 5 --output '$dir/b.npy' && cmp '$dir/a.npy' '$dir/b.npy'"
t "another seed gives other bits" bash -c "'$ASSAY' run cnn-small --seed 6 --output '$dir/c.npy' && ! cmp -s '$dir/a.npy' '$dir/c.npy'"
t "three threads give the same bits as one" bash -c "'$ASSAY' run cnn-small --seed 5 --batch 4 --output '$dir/t1.npy' && '$ASSAY' run cnn-small --seed 5 --batch 4 --threads 3 --output '$dir/t3.npy' && cmp '$dir/t1.npy' '$dir/t3.npy'"
t "--compile off gives the same bits as on" bash -c "'$ASSAY' run cnn-small --seed 5 --compile off --output '$dir/off.npy' && cmp '$dir/a.npy' '$dir/off.npy'"
t "run --json writes outputs" says '"schema": "assay.outputs/1"' run mlp-small --json -

t "plan names the kernel and the bytes" says "gemm_f32" plan mlp-small --batch 8
t "plan says why the others lost" says "any_reference" plan mlp-small --report detailed
t "plan says whose weights are stored in 16 bits" says "are stored as bf16" plan mlp-small --weights-as bf16 --report detailed
t "weights in 16 bits give other bits" bash -c "'$ASSAY' run mlp-small --output '$dir/w32.npy' && '$ASSAY' run mlp-small --weights-as f16 --output '$dir/w16.npy' && ! cmp -s '$dir/w32.npy' '$dir/w16.npy'"
t "weights of another type are refused" refuses 2 "not one of: f32 f16 bf16" run mlp-small --weights-as i8
t "plan --json has a schema" says '"schema": "assay.plan/1"' plan cnn-small --json -

t "profile prints the median" says "  Latency  " profile mlp-small --roofs off --time 60ms
t "profile --report detailed prints everything" says "median latency" profile mlp-small --roofs off --time 60ms --report detailed
t "profile --json - is JSON alone" bash -c "'$ASSAY' profile mlp-small --roofs off --time 60ms --json - | head -c 1 | grep -q '{'"
t "profile writes JSON, HTML and a trace" assay profile cnn-small --roofs off --time 60ms --json "$dir/p.json" --html "$dir/p.html" --trace "$dir/p.trace"
t "the JSON has its schema" grep -q '"schema": "assay.run/1"' "$dir/p.json"
t "the page is one self-contained file" bash -c "! grep -qE '(src|href)=\"?https?:' '$dir/p.html' && grep -q '<svg' '$dir/p.html'"
t "profile by count measures that many runs" bash -c "'$ASSAY' profile mlp-small --roofs off --runs 50 --json '$dir/n.json' >/dev/null && grep -qE '\"value\": 50,' '$dir/n.json'"
t "profile --compile both judges by launches that took turns" says "FASTER" profile cnn-bn --device 'null:*=5us' --compile both --runs 20 --time 60ms --json "$dir/both.json" --sections compile
for part in plan first steady; do
    t "profile --compile both tells $part of both apart" bash -c "grep -q '\"compile.on.$part\"' '$dir/both.json' && grep -q '\"compile.off.$part\"' '$dir/both.json'"
done
t "what profile --compile both measured is judged again by compare" says "FASTER" compare --from "$dir/both.json" --report detailed
t "profile --compile both on the CPU tells the difference of the outputs" says "Their outputs on the same inputs differ by at most" profile mlp-small --roofs off --compile both --time 60ms --report detailed
t "profile --compile both where nothing takes time says so" bash -c "timeout 60 '$ASSAY' profile mlp-small --device 'null:*=0us' --compile both --runs 20 --time 20ms 2>&1 >/dev/null | grep -q 'takes 0 ns'"
t "the null device reports what it was told" says "5.00 us" profile mlp:sizes=8x4 --device null:gemm=5us --runs 50

t "report reads a trace" says "Latency" report "$dir/p.trace"
t "report reads a run JSON" says "Latency" report "$dir/p.json"
t "a trace and its JSON tell the same" bash -c "'$ASSAY' report '$dir/p.trace' --json '$dir/q.json' && cmp '$dir/p.json' '$dir/q.json'"
t "report writes HTML" assay report "$dir/p.json" --html "$dir/q.html"
t "report takes several files" says "cnn-small" report "$dir/p.json" "$dir/n.json" --text
t "a cut trace is readable and marked partial" bash -c "head -c 6000 '$dir/p.trace' >'$dir/cut.trace' && '$ASSAY' report '$dir/cut.trace' | grep -qi 'stopped early'"

t "list names ops" says "MaxPool" list ops
t "list names models" says "cnn-small" list models
t "list params shows tensors" says "fc1.weight" list params mlp-small
t "list devices shows the CPU" says "cpu" list devices
t "list kernels shows a kernel" says "conv_f32_scalar" list kernels
t "list sensors says what is available" says "available" list sensors
t "list verbs" says "doctor" list verbs
t "list alone shows all" says "kernels:" list --all
t "list --json" says '"schema": "assay.list/1"' list ops --json -
t "version says what was left out" says "left out" version --report detailed
t "version --json" says '"left_out"' version --json -
t "how long planning took is not known of a device that tells its time" bash -c "'$ASSAY' profile mlp-small --device null --runs 5 --store none --report detailed | grep 'building the plan' | grep -q 'n/a'"
t "nor is it 0 in the JSON of a plan" says '"build_ns": null' plan mlp-small --device null --json -
t "doctor is one JSON object" says '"schema": "assay.doctor/1"' doctor --json -
t "doctor says why a counter cannot be had, or counted it" says '"perf_event"' doctor --json -
t "a reader that leaves is no failure" bash -c "'$ASSAY' profile mlp-small --roofs off --time 100ms 2>'$dir/e' | true; [ \${PIPESTATUS[0]} = 0 ] && [ ! -s '$dir/e' ]"
t "nor for what is printed as it goes" bash -c "'$ASSAY' plan cnn-bn 2>'$dir/e' | true; [ \${PIPESTATUS[0]} = 0 ] && [ ! -s '$dir/e' ]"
finish
