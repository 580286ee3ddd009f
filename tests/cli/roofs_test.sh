# roofs_test.sh - the machine's roofs: the loops that measure them hold what they are said to hold, and what was measured is kept and shown.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$ASSAY")
cd "$dir" || exit 2

# With equal seeds a compiler merges the chains, and the roof would lie far above the truth: so the instructions are counted, in the
# loop itself, that is from its head to the branch back.
chains() { # object pattern at-least
    objdump -d --no-show-raw-insn "$build/src/roof/meter/$1.o" >"$dir/code" || return 1
    local n
    n=$(grep -cE "$2" "$dir/code")
    echo "$1: $n of $2, at least $3 wanted"
    [ "$n" -ge "$3" ]
}
registers() { # object pattern at-least: so many different registers are written by it, which is how many chains there are
    objdump -d --no-show-raw-insn "$build/src/roof/meter/$1.o" >"$dir/code" || return 1
    local n
    n=$(grep -E "$2" "$dir/code" | sed 's/.*%//' | sort -u | wc -l)
    echo "$1: $n chains, $3 wanted"
    [ "$n" -ge "$3" ]
}
no_spill() { # object pattern: none of these takes an operand from memory
    objdump -d --no-show-raw-insn "$build/src/roof/meter/$1.o" | grep -E "$2" | grep -F '(' && return 1
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
t "measuring prints a limit" says "read.l1.t1" devices --measure --threads 1 --report detailed
t "one file is kept for the CPU" bash -c "[ \$(grep -l '\"device\": \"cpu\"' \$(ls -d '$ASSAY_CACHE_DIR'/roofs-*.json) | wc -l) = 1 ]"
t "the kept ones are shown" says "cached, measured 2" devices
t "each limit says how many chunks were clean and when it was seen" bash -c "'$ASSAY' devices --json - | grep -q '\"n_clean\": ' && '$ASSAY' devices --json - | grep -q '\"when_unix_s\": 1'"
t "every roof has a band and a source" bash -c "'$ASSAY' devices --json - | grep -c '\"kind\": \"measured\"' | { read n; [ \$n -ge 10 ]; }"
t "the JSON has its schema" says '"schema": "assay.devices/2"' devices --json -
t "a profile takes them into its trace" bash -c "'$ASSAY' profile mlp-small --runs 50 --json '$dir/p.json' >/dev/null && grep -q 'roofs.clock.core' '$dir/p.json'"
t "roofs off leaves them out" bash -c "'$ASSAY' profile mlp-small --runs 50 --roofs off --json '$dir/q.json' >/dev/null && ! grep -q 'roofs.clock.core' '$dir/q.json'"
t "the null device has none that were not told" bash -c "'$ASSAY' profile mlp-small --runs 50 --device null --json '$dir/n.json' >/dev/null && ! grep -q 'roofs.clock.core' '$dir/n.json'"
told="null:*=1ms,limit.fma.f32=1e9,limit.read.dram=1e9"
t "limits that are told are shown" says "fma.f32" devices --device "$told" --report detailed
t "one device alone" bash -c "! '$ASSAY' devices --device '$told' --report detailed | grep -q 'limits of cpu'"
t "a device that is not there" refuses 2 "nosuch" devices --device nosuch
t "a limit that is none" refuses 2 "not a rate per second above 0" devices --device null:limit.fma.f32=x
t "the limits in a trace belong to the device that ran" bash -c "'$ASSAY' profile mlp-small --device '$told' --json '$dir/d.json' >/dev/null && grep -q 'roofs.null:.*fma.f32' '$dir/d.json'"
t "a step of a device is judged by that device's limits" bash -c "grep -q 'None of .* timed steps is faster than its limit' '$dir/d.json'"
t "and is refused above them" bash -c "'$ASSAY' profile mlp-small --device 'null:*=1us,limit.fma.f32=1e6' --json '$dir/e.json' >'$dir/e.txt' && grep -q 'is above its limit, which is a measuring error' '$dir/e.json'"
t "no share above 100 % is told" bash -c "! grep -E '[0-9]{3,} % of (its )?(limit|roof)' '$dir/e.txt'"
file=$(grep -l '"device": "cpu"' "$ASSAY_CACHE_DIR"/roofs-*.json)
echo '{"schema": 1' >"$file"
t "a broken cache is told, not believed" says "could not be used" devices --threads 1
t "a folder that cannot be made is no failure" bash -c "ASSAY_CACHE_DIR=/dev/null/x '$ASSAY' devices | grep -q 'devices can be used here'"
t "a word too many" refuses 2 "devices" devices cpu
t "no threads" refuses 2 "threads" devices --threads 0
finish
