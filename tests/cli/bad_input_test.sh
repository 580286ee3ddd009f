# bad_input_test.sh - one clear sentence, exit code 2, nothing written, nothing lost.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
printf 'old' >"$dir/old"

t "an unknown verb" bash -c "'$ASSAY' profle 2>'$dir/e'; [ \$? = 2 ] && grep -q 'did you mean profile' '$dir/e'"
t "an option of another verb names the verbs that take it" refuses 2 "bench has no option --margin, which is for compare" bench mlp-small --margin 2
t "also of a verb that takes none" refuses 2 "which is for baseline, bench, compare, plan, profile, run, train, tune;" doctor --dim a=1
t "an unknown option names the nearest" refuses 2 "did you mean --batch" run mlp-small --bacth 2
t "an option without its value" refuses 2 "needs a value" run mlp-small --batch
t "a batch of zero" refuses 2 "batch" run mlp-small --batch 0
t "a batch that is no number" refuses 2 "batch" run mlp-small --batch many
t "an overflowing batch" refuses 2 "batch" run mlp-small --batch 99999999999999999999
t "a missing model" refuses 2 "run needs a MODEL, for example mlp-small" run
t "an unknown model names the nearest" refuses 2 "mlp-small" run mlp-smal
t "an unknown zoo key" refuses 2 "size" run mlp:size=3x4
t "a zoo size of zero" refuses 2 "sizes" run mlp:sizes=0x4
t "an absurd zoo size" refuses 2 "sizes" run mlp:sizes=9999999999999x4
t "an unknown device" refuses 2 "device" run mlp-small --device gpu9
t "an unknown null delay" refuses 2 "null" run mlp-small --device null:gem=5us
t "an unknown dim" refuses 2 "nosuch" run mlp-small --dim nosuch=4
t "a missing input file" refuses 2 "No such file" run mlp-small --input "$dir/none.npy"
t "a directory as input" refuses 2 "directory" run mlp-small --input "$dir"
t "an unknown input name" refuses 2 "zz" run mlp-small --input zz="none.npy"

"$ASSAY" run mlp:sizes=10x4 --batch 3 --output "$dir/y.npy" >/dev/null
t "a wrong shape names both" refuses 2 "[3,4]" run mlp-small --input "$dir/y.npy"
head -c 100 "$dir/y.npy" >"$dir/cut.npy"
t "a truncated npy" refuses 2 "cut.npy" run mlp:sizes=4x4 --input "$dir/cut.npy"
printf 'hello' >"$dir/text.npy"
t "a file that is no npy" refuses 2 "text.npy" run mlp:sizes=4x4 --input "$dir/text.npy"
: >"$dir/empty.npy"
t "an empty npy" refuses 2 "empty.npy" run mlp:sizes=4x4 --input "$dir/empty.npy"

printf '\377\377\377\377\377\377\377\377{}' >"$dir/lie.safetensors"
t "a lying safetensors header" refuses 2 "lie.safetensors" run mlp-small --weights "$dir/lie.safetensors"
printf '{"format":"assay.model/1","nodez":[]}' >"$dir/m.json"
t "an unknown key in a model file is named" refuses 2 "nodez" run "$dir/m.json"
printf '{"format":"assay.model/1","a":1,"a":2}' >"$dir/dup.json"
t "a duplicate key in a model file" refuses 2 "dup" run "$dir/dup.json"
printf '{"format":' >"$dir/cut.json"
t "a truncated model file names line and column" refuses 2 "line 1" run "$dir/cut.json"
t "a trace that is none" refuses 2 "text.npy" report "$dir/text.npy"
t "a JSON that is no run" refuses 2 "m.json" report "$dir/m.json"
t "a missing report file" refuses 2 "No such file" report "$dir/none.trace"

t "an unknown sensor" refuses 2 "sensor" profile mlp-small --sensors rusagge --runs 5
t "a full disk" refuses 2 "No space left" run mlp-small --output /dev/full
t "a full disk for JSON" bash -c "'$ASSAY' profile mlp-small --roofs off --runs 50 --json /dev/full >/dev/null 2>'$dir/e'; [ \$? = 2 ] && grep -q 'No space left' '$dir/e'"
t "a full disk for standard output" bash -c "'$ASSAY' version >/dev/full 2>'$dir/e'; [ \$? = 2 ]"
t "a folder that is not there" refuses 2 "none" run mlp-small --output "$dir/none/y.npy"
cp "$dir/old" "$dir/keep.npy"
"$ASSAY" run mlp-small --input "$dir/y.npy" --output "$dir/keep.npy" >/dev/null 2>&1
t "the old output stays when a run fails" cmp "$dir/old" "$dir/keep.npy"
t "no temporary file is left behind" bash -c "[ -z \"\$(find '$dir' -name '*keep.npy?*')\" ]"
t "an output that cannot be reached leaves no trace" bash -c "[ ! -e '$dir/none' ]"
finish
