# check_ci_test.sh - a program of one's own: it speaks the line protocol, and the CI script finds what was planted in it.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export CC=gcc BUDGET=2s
case $ASSAY in *clang*) CC=clang ;; esac

t "examples/arm/toy.c compiles as C99 without a warning" \
    $CC -std=c99 -pedantic -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -I"$root/include" "$root/examples/arm/toy.c" -o "$dir/toy"
answers() { # "requests" "pattern of the last answer"
    printf "$1" | "$dir/toy" | tail -1 | tee "$dir/answer" | grep -qE "$2" || { cat "$dir/answer"; return 1; }
}
t "the toy greets" answers "end\n" '^assay-arm 1 dot by=cpu$'
t "the toy times blocks" answers "launch 3\nblock 1 10 2\nend\n" '^ok [0-9]+( [0-9]+\.[0-9]{6}){4}$'
t "the toy tells its ledger" answers "ledger\n" '^ok flops=8192 bytes=32768$'
t "the toy refuses what it does not know" answers "block 2 1 1\n" '^error not understood: block 2 1 1$'
printf '#include "assay_arm.h"\nstatic void call(void *) {}\nint main() { return assay_arm_serve("x", call, NULL); }\n' >"$dir/x.cpp"
cxx=g++; [ $CC = clang ] && cxx=clang++
if command -v $cxx >/dev/null; then
    t "assay_arm.h compiles as C++" $cxx -std=c++11 -Wall -Wextra -Werror -I"$root/include" "$dir/x.cpp" -o "$dir/x"
fi

ci() { # percent code: runs the script in a folder of its own
    mkdir "$dir/ci$1"
    WORK="$dir/ci$1" sh "$root/examples/ci/check.sh" "$1"
    local got=$?
    cat "$dir/ci$1/junit.xml"
    [ $got = "$2" ] || { echo "exit code $got, expected $2"; return 1; }
    grep -q '<testsuite' "$dir/ci$1/junit.xml" && grep -q '<testcase' "$dir/ci$1/junit.xml" || return 1
    if [ "$2" = 0 ]; then ! grep -q '<failure' "$dir/ci$1/junit.xml"; else grep -q '<failure' "$dir/ci$1/junit.xml"; fi
}
t "two builds of the same pass" ci 0 0
t "20 % more work is a regression" ci 20 1
t "100 % more work is a critical one" ci 100 3
finish
