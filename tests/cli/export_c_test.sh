# export_c_test.sh - networks as C source: compiled by every compiler that is here, run against their golden vectors, and nothing left on failure.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
flags="-std=c99 -O2 -Wall -Wextra -Werror -pedantic"
compilers=
for cc in gcc clang; do command -v $cc >/dev/null && compilers="$compilers $cc"; done
compilers=${compilers:- cc}

check() { # directory name compiler [run-with] : builds and runs the self-check
    local lm=-lm
    grep -q '<math.h>' "$1/$2.c" || lm=
    $3 $flags -o "$1/check" "$1/main_check.c" "$1/$2.c" $lm || return 1
    ${4:-} "$1/check"
}
n=0
network() { # sentence spec
    n=$((n + 1))
    local d=net$n libm
    "$ASSAY" export "$2" --seed 3 --safetensors w$n.safetensors || return 1
    for libm in on off; do
        t "$1, libm $libm: is written" assay export "$2" --weights w$n.safetensors --c $d$libm --libm $libm --name policy
        for cc in $compilers; do t "$1, libm $libm: $cc builds it and the answers are right" check $d$libm policy $cc; done
    done
}
network "dense" cfc:input=7,units=19,backbone_units=23
network "dense, two layers, irregular widths" cfc:input=3,units=5,backbone_units=9x4,activation=tanh
network "no backbone, pure" cfc:input=3,units=6,backbone_layers=0,mode=pure
network "pure, relu" cfc:input=3,units=6,backbone_units=7,mode=pure,activation=relu
network "no_gate, gelu, memory, projection" cfc:input=3,units=6,mode=no_gate,activation=gelu,mixed_memory=1,proj=2
network "silu" cfc:input=1,units=1,backbone_units=2,activation=silu
network "wired" cfc:input=3,wiring=autoncp,units=16,out=4
network "wired, memory, pure" cfc:input=3,wiring=autoncp,units=16,out=4,mode=pure,mixed_memory=1
network "wired, one layer" cfc:input=4,wiring=random,units=10,sparsity=0.6
network "keras's" cfc:input=3,units=6,backbone_units=5,semantics=keras
network "enhanced" cfc:input=3,wiring=autoncp,units=16,out=4,backbone_units=8x8,semantics=enhanced
network "LTC, full" ltc:input=3,units=8
network "LTC, wired, memory, projection" ltc:input=5,wiring=autoncp,units=28,out=4,mixed_memory=1,proj=3
network "LTC, explicit, two unfolds, no mappings, no epsilon" ltc:input=3,wiring=autoncp,units=12,out=2,implicit=0,unfolds=2,input_mapping=none,output_mapping=linear,epsilon=0

t "the check fails when a weight is another one" bash -c "mkdir -p bent && cp net1on/* bent && sed -i.old '/^static const float layer_0_ff1_b/,/};/s/^    \\(-*\\)0\\./    \\1900./' bent/policy.c && ! cmp -s bent/policy.c net1on/policy.c &&
    ${compilers##* } -std=c99 -o bent/check bent/main_check.c bent/policy.c -lm && ! ./bent/check"
t "the same model gives the same files" bash -c "'$ASSAY' export cfc:input=7,units=19,backbone_units=23 --weights w1.safetensors --c again --name policy && for f in policy.c policy.h policy_golden.h main_check.c; do cmp again/\$f net1on/\$f || exit 1; done"
t "a sparse network is smaller than a dense one" bash -c "[ \$(grep -o 'synapses' net7on/policy.c | wc -l) -ge 4 ] && grep -q 'ff1_from' net7on/policy.c"
t "no allocation is written" bash -c "! grep -lE 'malloc|calloc|alloca' net*/*.c"

# A microcontroller's flags: no library but libm and what compilers call by themselves.
symbols() { nm -u "$1" | awk '{print $NF}' | grep -vxE '(_?)(expf|tanhf|erff|memcpy|memset|memmove|memcmp)' ; }
bare() { # directory allowed-libm
    local cc=${compilers##* }
    for cc in $compilers; do
        $cc $flags -Os -ffreestanding -fno-builtin -fno-pic -c -o bare.o "$1/policy.c" || return 1
        [ -z "$(symbols bare.o)" ] || { symbols bare.o; return 1; }
        [ "$2" = libm ] || ! nm -u bare.o | grep -E 'expf|tanhf|erff' || return 1
        ! nm bare.o | grep -E ' [BDC] ' || return 1 # no data but constants
    done
}
for d in net1 net5 net7 net13; do
    t "$d: freestanding, libm's functions alone" bare ${d}on libm
    t "$d: freestanding, no library at all" bare ${d}off none
done
if command -v clang >/dev/null && clang --print-targets 2>/dev/null | grep -qE '^ +thumb '; then
    t "clang compiles it for a Cortex-M4" bash -c "clang --target=thumbv7em-none-eabihf -mcpu=cortex-m4 -mfloat-abi=hard $flags -ffreestanding -fno-builtin -c -o m4.o net7off/policy.c"
fi
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
    for d in net1on net1off net7on net13off; do
        t "$d: right on aarch64" check $d policy "aarch64-linux-gnu-gcc -static" qemu-aarch64
    done
fi
if command -v g++ >/dev/null; then
    t "the header is good for C++" bash -c "printf '#include \"policy.h\"\nint main() { static policy_state s; float x[7] = {0}, y[19]; policy_reset(&s); policy_step(&s, x, 1.0f, y); return 0; }\n' >net1on/user.cc && g++ -Wall -Werror -c -o user.o net1on/user.cc"
fi

# The errors that the functions of our own state.
cat >scan.c <<'END'
#include <math.h>
#include <stdio.h>
#include "net5off/policy.c"
int main(void)
{
    double e = 0, t = 0, r = 0;
    for (double x = -86.9; x < 88.0; x += 0.00037) e = fmax(e, fabs(EXP((float)x) / exp((double)(float)x) - 1));
    for (double x = -12; x < 12; x += 0.00003) t = fmax(t, fabs(TANH((float)x) - tanh((double)(float)x)));
    for (double x = -6; x < 6; x += 0.00002) r = fmax(r, fabs(ERF((float)x) - erf((double)(float)x)));
    printf("%g %g %g\n", e, t, r);
    return !(e < 3e-7 && t < 3e-7 && r < 5e-7 && EXP(-200.0f) == 0 && TANH(1e30f) == 1 && ERF(-9.0f) == -1 && EXP(NAN) != EXP(NAN) && EXP(0.0f) == 1);
}
END
t "exp, tanh and erf of our own are as exact as they say" bash -c "${compilers##* } -std=gnu99 -O1 -I. -o scan scan.c -lm && ./scan"

t "another model is refused by what is supported" refuses 2 "writes networks of one assay.CfC or assay.LTC" export mlp-small --c no
t "and leaves no directory" [ ! -e no ]
t "a name that is none is refused" refuses 2 "--name 7up" export cfc:input=3,units=4 --c no --name 7up
t "a word of C too" refuses 2 "--name float" export cfc:input=3,units=4 --c no --name float
t "a directory that cannot be made is refused" refuses 2 "--c no/where/at/all cannot be written: the directory no/where/at does not exist" export cfc:input=3,units=4 --c no/where/at/all
echo kept >file
t "a file in its place too" refuses 2 "file is not a directory" export cfc:input=3,units=4 --c file
t "and stays as it is" grep -qx kept file
mkdir -p half/cfc_golden.h
t "when one of the files cannot be written" refuses 2 "cfc_golden.h" export cfc:input=3,units=4 --c half
t "none of them is" bash -c "[ \"\$(ls -A half)\" = cfc_golden.h ]"
t "--libm needs --c" refuses 2 "--libm is for --c" export cfc:input=3,units=4 --onnx m.onnx --libm off
finish
