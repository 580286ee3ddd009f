# cfc_test.sh - closed-form continuous-time networks from the command line.
. "$(dirname "$0")/lib.sh"

# spans FILE V...: time spans [1,n] as npy from raw f32 bytes in octal.
spans() {
    local file=$1 head bytes=
    shift
    head="{'descr': '<f4', 'fortran_order': False, 'shape': (1, $#), }"
    for v in "$@"; do bytes="$bytes$v"; done
    printf "\223NUMPY\001\000\166\000%-117s\n$bytes" "$head" >"$file"
}
half='\000\000\000\077' one='\000\000\200\077' minus='\000\000\200\277' nan='\000\000\300\177'

net=cfc:input=7,units=19,backbone_units=23
t "weights go out by the reference's names" assay export $net --safetensors "$dir/w.safetensors"
spans "$dir/ts.npy" "$half" "$one" "$half"
t "a network runs over irregular time from a file of weights" assay run $net --seed 9 --seq 3 --weights "$dir/w.safetensors" --timespans "$dir/ts.npy" --output "$dir/y.npy" --state-out "$dir/h.npy"
"$ASSAY" run $net --seed 9 --seq 3 --weights "$dir/w.safetensors" --output "$dir/y1.npy" >/dev/null
t "time spans matter" bash -c "! cmp -s '$dir/y.npy' '$dir/y1.npy'"
spans "$dir/one.npy" "$one" "$one" "$one"
# Op by op: without time spans the fused kernel adds its two time heads once, which rounds otherwise.
t "time spans of 1 are what is meant without any" bash -c "for n in 1 2; do spans=; [ \$n = 1 ] || spans='--timespans $dir/one.npy'; '$ASSAY' run $net --compile off --seed 9 --seq 3 --weights '$dir/w.safetensors' \$spans --output '$dir/o'\$n.npy || exit 1; done; cmp '$dir/o1.npy' '$dir/o2.npy'"
spans "$dir/bad.npy" "$one" "$minus" "$one"
t "a negative time span is refused" refuses 2 "time span" run $net --seq 3 --timespans "$dir/bad.npy"
spans "$dir/nan.npy" "$one" "$nan" "$one"
t "a time span that is no number is refused" refuses 2 "time span" run $net --seq 3 --timespans "$dir/nan.npy"
t "weights of another network are refused by name" refuses 2 "tensor 'rnn_cell.backbone.0.weight' is [23,26]" run cfc:input=7,units=19,backbone_units=24 --weights "$dir/w.safetensors"
t "weights of a wired network for a dense one are refused by name" refuses 2 "there is no tensor 'rnn_cell.layer_0.ff1.weight'" run cfc:input=7,units=19,out=4,wiring=autoncp --weights "$dir/w.safetensors"

for net in cfc:input=3,units=12,out=3,wiring=autoncp cfc:input=4,units=6,mixed_memory=1,mode=pure,backbone_units=5x4,proj=3 cfc:input=3,units=12,out=3,wiring=autoncp,semantics=enhanced,backbone_units=8x8; do
    t "$net goes to ONNX without an operator of our own" bash -c "'$ASSAY' export $net --onnx '$dir/n.onnx' --seq 5 && ! '$ASSAY' plan '$dir/n.onnx' --compile off --report detailed | grep -q 'assay\\.' && '$ASSAY' plan $net --seq 5 --report detailed | grep -q assay.CfC"
    t "$net op by op is the network in the file" bash -c "'$ASSAY' run $net --compile off --seq 5 --batch 3 --output y='$dir/1.npy' && '$ASSAY' run '$dir/n.onnx' --compile off --batch 3 --output y='$dir/2.npy' && cmp '$dir/1.npy' '$dir/2.npy'"
done
t "a sequence too long to be written step by step is refused" refuses 2 "100000 steps" export cfc --onnx "$dir/n.onnx" --seq 100000
t "--seq for a network without steps is refused" refuses 2 "has no dimension \`seq\`" export mlp-small --onnx "$dir/n.onnx" --seq 4
t "a backbone with a wiring is refused" refuses 2 "the cells of a wiring have no backbone" run cfc:wiring=autoncp,backbone_layers=2
t "an unknown key is refused" refuses 2 "has no key 'units_'" run cfc:units_=3
finish
