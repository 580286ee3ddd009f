#!/bin/sh
# check.sh - a regression check for CI, end to end: the old build becomes the baseline, the new one is run beside it, in turns.
#
#     examples/ci/check.sh [PERCENT]     # the new build does PERCENT more work [20]
#
# The exit code is that of `assay check`: 0 no regression, 1 regression, 3 critical regression (at least 50 % slower), 5 could not be run.
# What cannot be told apart from noise does not fail; --fail-on unresolved would make it exit with 4.
# ASSAY, CC, BUDGET (time a comparison may take), WORK (folder for all files) and JUNIT (the report) may be set in the environment.
set -eu
percent=${1:-20}
root=$(cd "$(dirname "$0")/../.." && pwd)
assay=${ASSAY:-assay} cc=${CC:-cc} budget=${BUDGET:-5s} work=${WORK:-$(mktemp -d)}
junit=${JUNIT:-$work/junit.xml}
command="'$work/toy'" # words are parted at blanks unless quoted

build() { # percent: in a project of your own this is `git checkout COMMIT && make`
    $cc -O2 -I"$root/include" -DEXTRA="$1" -o "$work/toy" "$root/examples/arm/toy.c"
}

# On the main branch, after each merge.  The baseline keeps a copy of the program, so that it can be run again on the spot.
build 0
"$assay" baseline save main --bin "$command" --description "dot product as merged" --budget "$budget" --store "$work/runs.db"

# On a branch: the same command, which is now another program.
build "$percent"
code=0
"$assay" check --baseline main --threshold 5 --budget "$budget" --store "$work/runs.db" \
    --output-format junit --output-file "$junit" || code=$?
echo "assay check: exit code $code, report in $junit"
exit $code
