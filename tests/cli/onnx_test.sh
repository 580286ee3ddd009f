# onnx_test.sh - ONNX in and out, and the other formats of a report.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$dir" || exit 2

t "export writes ONNX and safetensors" assay export cnn-small --onnx "$dir/m.onnx" --safetensors "$dir/m.safetensors"
"$ASSAY" run cnn-small --batch 2 --output "$dir/a.npy" >/dev/null
t "the exported network gives the same bits" bash -c "'$ASSAY' run '$dir/m.onnx' --batch 2 --output '$dir/b.npy' && cmp '$dir/a.npy' '$dir/b.npy'"
t "a symbolic dimension is bound by --dim" bash -c "'$ASSAY' run '$dir/m.onnx' --dim batch=3 | grep -qF '[3,10]'"
t "the exported weights load by name and give what the exported network gives" bash -c "'$ASSAY' run cnn-small --seed 9 --weights '$dir/m.safetensors' --output '$dir/w.npy' && '$ASSAY' run '$dir/m.onnx' --seed 9 --output '$dir/o.npy' && cmp '$dir/w.npy' '$dir/o.npy'"
t "an ONNX file is profiled" says " % of the" profile "$dir/m.onnx" --roofs off --batch 2 --runs 60
t "weights that the file holds unaligned are copied once, with the reason" says "the file holds these weights at addresses that are not multiples of 4 bytes" plan "$dir/m.onnx" --report detailed
t "weights in memory of our own need no copy" bash -c "! '$ASSAY' plan cnn-small | grep -q 'align '"
t "an ONNX file that is written again has the same weights" bash -c "'$ASSAY' export '$dir/m.onnx' --onnx '$dir/m2.onnx' --safetensors '$dir/m2.safetensors' && '$ASSAY' run '$dir/m2.onnx' --batch 2 --output '$dir/c.npy' && cmp '$dir/a.npy' '$dir/c.npy'"
t "weights of another file replace those that are unaligned" bash -c "'$ASSAY' run '$dir/m.onnx' --batch 2 --weights '$dir/m2.safetensors' --output '$dir/d.npy' && cmp '$dir/a.npy' '$dir/d.npy'"
t "list ops --onnx says when all is supported" says "are supported" list ops --onnx "$dir/m.onnx"
for net in mlp-large mlp-dropout cnn-cifar cnn-bn cnn-residual cnn-widen cnn-separable cnn-grouped cnn-bottleneck lstm gru; do
    t "$net runs" assay run $net
    t "$net goes to ONNX and back" bash -c "'$ASSAY' run $net --output '$dir/1.npy' && '$ASSAY' export $net --onnx '$dir/n.onnx' && '$ASSAY' run '$dir/n.onnx' --output '$dir/2.npy' && cmp '$dir/1.npy' '$dir/2.npy'"
done
t "cnn-large plans" assay plan cnn-large

head -c 500 "$dir/m.onnx" >"$dir/cut.onnx"
t "a truncated ONNX file" refuses 2 "cut.onnx" run "$dir/cut.onnx"
printf '\377\377\377\377\377\377' >"$dir/junk.onnx"
t "a file that is no ONNX" refuses 2 "junk.onnx" run "$dir/junk.onnx"
: >"$dir/empty.onnx"
t "an empty ONNX file" refuses 2 "empty.onnx" run "$dir/empty.onnx"
t "a missing .pb" refuses 2 "No such file" run "$dir/m.onnx" --input "$dir/none.pb"
t "export without a format" refuses 2 "nothing to write" export mlp-small
t "export to a full disk" refuses 2 "No space left" export mlp-small --onnx /dev/full

t "profile writes CSV and Markdown" assay profile mlp-small --roofs off --runs 60 --csv "$dir/p.csv" --markdown "$dir/p.md" --json "$dir/p.json"
t "the CSV has a head" bash -c "head -1 '$dir/p.csv' | grep -q 'unit,kind,source'"
t "the Markdown has tables" grep -q '^|' "$dir/p.md"
t "--sections picks" bash -c "'$ASSAY' report '$dir/p.json' --sections books | grep -q 'Time accounted for' && ! '$ASSAY' report '$dir/p.json' --sections books | grep -q Sensors"
t "an unknown section names the nearest" refuses 2 "books" report "$dir/p.json" --sections boks
# --- The size of a real network ---
if command -v python3 >/dev/null; then
    t "make-resnet18 writes a file" "$root/tools/make-resnet18" "$dir/resnet18.onnx"
    t "with the parameters of ResNet-18" bash -c "'$ASSAY' plan '$dir/resnet18.onnx' | grep -q '44.6 MiB weights'"
    t "and its work" bash -c "'$ASSAY' plan '$dir/resnet18.onnx' | grep -q '3.6. GFLOP'"
    t "layers have the names of their modules" bash -c "'$ASSAY' plan '$dir/resnet18.onnx' --report detailed | grep -q 'layer4.1.conv2+residual+relu'"
    t "make-resnet18 says how it is called" bash -c "'$root/tools/make-resnet18' 2>&1 | grep -q '^usage: '"
fi
finish
