# bench_test.sh - cases from words and suites, on the null device where time is told; what is refused, and what is kept.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
# Whether a case on the CPU is believed depends on how busy the machine is: what must succeed runs on the null device.
quick="--runs 20 --warmup 1 --store none --progress never"
told="$quick --devices null"

t "a case on the null device takes as long as it was told" says "5.00 us" bench matmul:size=8x8 --devices null:matmul=5us,put=0ns,get=0ns $quick
t "lists multiply" says "elementwise/mul/4/f16/strided/null" bench elementwise:add,mul,size=4,dtype=f32,f16,layout=contiguous,strided $told --json -
printf '# two cases\nsoftmax size=4x4,8x8\n' >s.txt
t "a suite is a file" says "softmax/8/f32" bench --suite s.txt $told
t "what says nothing is noted" says "quantize has no dtype" bench quantize:f16,size=4x4 --dtypes f16 $told --report detailed
t "the JSON holds the cases" bash -c "'$ASSAY' bench matmul:size=4x4 $told --json - | python3 -c 'import json,sys; json.load(sys.stdin)'"
printf 'softmax size=4x4\nsoftmx\n' >bad.txt
t "an error of a suite names its line" refuses 2 "bad.txt:2" bench --suite bad.txt $quick
t "an unknown word is refused with the nearest" refuses 2 "did you mean 'add'" bench elementwise:ad $quick
t "nothing to measure is said" refuses 2 "needs a workload such as matmul" bench $quick
t "--speak takes one case" refuses 2 "but 2 are given" bench softmax:size=4x4,8x8 --speak
finish
