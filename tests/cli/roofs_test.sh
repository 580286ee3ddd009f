# roofs_test.sh - the machine's roofs: the loops that measure them hold what they are said to hold, and what was measured is kept and shown.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$ASSAY")

# With equal seeds a compiler merges the chains, and the roof would lie far above the truth: so the instructions are counted, in the
# loop itself, that is from its head to the branch back.
chains() { # object pattern at-least
    objdump -d --no-show-raw-insn "$build/src/roof/$1.o" >"$dir/code" || return 1
    local n
    n=$(grep -cE "$2" "$dir/code")
    echo "$1: $n of $2, at least $3 wanted"
    [ "$n" -ge "$3" ]
}
registers() { # object pattern at-least: so many different registers are written by it, which is how many chains there are
    objdump -d --no-show-raw-insn "$build/src/roof/$1.o" >"$dir/code" || return 1
    local n
    n=$(grep -E "$2" "$dir/code" | sed 's/.*%//' | sort -u | wc -l)
    echo "$1: $n chains, $3 wanted"
    [ "$n" -ge "$3" ]
}
no_spill() { # object pattern: none of these takes an operand from memory
    objdump -d --no-show-raw-insn "$build/src/roof/$1.o" | grep -E "$2" | grep -F '(' && return 1
    return 0
}
case $(uname -m)$build in
*-address*|*-thread*|*undefined*) ;; # unoptimised: what is counted there says nothing
x86_64*)
    t "48 multiply-adds of f32 a round" chains rf_fma_f32_avx2 'vfmadd[0-9]+ps' 48
    t "in 12 chains" registers rf_fma_f32_avx2 'vfmadd[0-9]+ps' 12
    t "all in registers" no_spill rf_fma_f32_avx2 'vfmadd[0-9]+ps'
    t "48 multiply-adds of f64 a round" chains rf_fma_f64_avx2 'vfmadd[0-9]+pd' 48
    t "in 12 chains of f64" registers rf_fma_f64_avx2 'vfmadd[0-9]+pd' 12
    t "48 multiplications of the plain version" chains rf_fma_f32_scalar '\bmulps' 48
    t "and as many additions" chains rf_fma_f32_scalar '\baddps' 48
    t "48 multiply-adds of int8" chains rf_madd_i8_avx2 'vpmaddubsw' 48
    t "and as many additions of int8" chains rf_madd_i8_avx2 'vpaddw' 48
    t "12 loads of 32 bytes" chains rf_read_avx2 'vxorps.*\(.*%ymm' 12
    t "64 dependent additions" chains rf_clock 'add +%r[a-z0-9]+,%r[a-z0-9]+' 64
    t "stores that pass the caches by" chains rf_stream_avx2 'vmovntps' 4
    ;;
esac

t "nothing measured: it says how" says "assay devices --measure" devices
t "the engines are listed" says "null" devices
t "measuring prints a roof" says "read.l1.t1" devices --measure --threads 1
t "one file is kept" bash -c "[ \$(ls '$ASSAY_CACHE_DIR' | grep -c '^roofs-[0-9a-f]*.json\$') = 1 ]"
t "the kept ones are shown" says "cached, measured 2" devices
t "every roof has a band and a source" bash -c "'$ASSAY' devices --json - | grep -c '\"kind\": \"measured\"' | { read n; [ \$n -ge 10 ]; }"
t "the JSON has its schema" says '"schema": "assay.devices/1"' devices --json -
t "a profile takes them into its trace" bash -c "'$ASSAY' profile mlp-small --runs 50 --json '$dir/p.json' >/dev/null && grep -q 'roofs.clock.core' '$dir/p.json'"
t "roofs off leaves them out" bash -c "'$ASSAY' profile mlp-small --runs 50 --roofs off --json '$dir/q.json' >/dev/null && ! grep -q 'roofs.clock.core' '$dir/q.json'"
t "the null device has none" bash -c "'$ASSAY' profile mlp-small --runs 50 --device null --json '$dir/n.json' >/dev/null && ! grep -q 'roofs.clock.core' '$dir/n.json'"
file=$(ls "$ASSAY_CACHE_DIR"/roofs-*.json)
echo '{"schema": 1' >"$file"
t "a broken cache is told, not believed" says "of no use" devices --threads 1
t "a folder that cannot be made is no failure" bash -c "ASSAY_CACHE_DIR=/dev/null/x '$ASSAY' devices | grep -q 'engines:'"
t "a word too many" refuses 2 "devices" devices cpu
t "no threads" refuses 2 "threads" devices --threads 0
finish
