# check_test.sh - baselines saved, shown, moved and run again; programs tell their times, so that verdicts and exit codes are certain.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
if ! has_store; then
    t "without SQLite the remedy is named" refuses 2 "install libsqlite3-dev" baseline list
    finish
    exit
fi
gives() { # code "words" args...: check ends with this exit code and says the words
    local code=$1 words=$2
    shift 2
    "$ASSAY" check --baseline main --budget 20s --progress never --report detailed "$@" >c.out 2>c.err
    local got=$?
    [ $got = "$code" ] || { cat c.out c.err; echo "exit code $got, expected $code"; return 1; }
    [ -z "$words" ] || grep -qF -- "$words" c.out c.err || { cat c.out c.err; echo "expected: $words"; return 1; }
}

# --- Baselines --------------------------------------------------------------------------------------------------------
speaker 100000 prog
t "there is no store at first" refuses 2 "does not exist yet" baseline list
t "nor a baseline" refuses 2 "does not exist yet" check --baseline main
t "a program is saved" says "saved baseline main: 1 case" baseline save main --bin ./prog --budget 100ms --description "as merged"
t "list shows it" says "main" baseline list
t "list is JSON too" says '"name": "main"' baseline list --json -
t "show says what it is" says "main: as merged" baseline show main --report detailed
t "show is JSON too" says '"schema": "assay.baseline/1"' baseline show main --json -
t "the run that it stands on is listed" bash -c "'$ASSAY' runs list | grep -q 'baseline *complete'"
t "and cannot be removed" refuses 2 "main" runs rm 1
t "a name is taken once" refuses 2 "'main' exists already" baseline save main --bin ./prog
t "another name" assay baseline save next --bin ./prog --budget 100ms
t "promote renames it, over what was there" says "baseline next is now main" baseline promote next main
t "and it is gone under its old name" refuses 2 "there is no baseline 'next'" baseline show next
t "a model is saved with its options" says "--batch=3" baseline save model mlp:sizes=8x4 --batch 3 --devices null --budget 100ms --json -
t "several cases by a suite" bash -c "printf 'softmax size=4x4,8x8\n' >s.txt && '$ASSAY' baseline save suite --suite s.txt --devices null --budget 50ms | grep -q '2 cases'"
t "rm takes the objects along that nothing else needs" bash -c "
    '$ASSAY' baseline rm model && '$ASSAY' baseline rm suite | grep -q 'and 1 object that' && [ \$(ls .assay/objects | wc -l) = 1 ]"

# --- Verdicts ---------------------------------------------------------------------------------------------------------
t "the same program passes" gives 0 "AllPass"
speaker 101000 prog
t "1 % is within the threshold of 2" gives 0 "AllPass"
t "but not within 0.5" gives 1 "HasRegressions" --threshold 0.5
speaker 110000 prog
t "10 % is a minor regression" gives 1 "SLOWER (minor)"
t "a threshold of 20 lets it pass" gives 0 "AllPass" --threshold 20%
t "severities can be set" gives 3 "SLOWER (critical)" --severity 5,8,9
t "--fail-on major lets it pass" gives 0 "HasRegressions" --fail-on major
speaker 120000 prog
t "20 % is a moderate one" gives 1 "SLOWER (moderate)"
speaker 140000 prog
t "40 % is a major one" gives 1 "SLOWER (major)" --fail-on major
t "--fail-on critical lets it pass" gives 0 "HasRegressions" --fail-on critical
speaker 200000 prog
t "100 % is a critical one" gives 3 "HasCriticalRegressions"
speaker 90000 prog
t "10 % less is an improvement" gives 0 "Improvement"
t "what cannot be decided is no pass" gives 0 "Unstable" --budget 1ms --alpha 0.000001
t "and fails where that is asked for" gives 4 "Unstable" --budget 1ms --alpha 0.000001 --fail-on unresolved

# --- Memory ---------------------------------------------------------------------------------------------------------------
memory() { # code "words" args...: as gives, against the baseline of memory
    local code=$1 words=$2
    shift 2
    gives "$code" "$words" --baseline memory "$@"
}
speaker 100000 counts "peak=1000000 allocations=0"
t "a program that counts its memory is saved" assay baseline save memory --bin ./counts --budget 100ms
t "the baseline keeps what it counted" says '"peak_bytes": 1000000' baseline show memory --json -
t "as much memory passes" memory 0 "AllPass"
speaker 100000 counts "peak=1005000 allocations=0"
t "0.5 % more is within the threshold of 1" memory 0 "AllPass"
t "but not within 0" memory 1 "MORE MEMORY (minor)" --memory-threshold 0
speaker 100000 counts "peak=1200000 allocations=0"
t "20 % more is a moderate regression" memory 1 "MORE MEMORY (moderate)"
t "with its own line" grep -qF "peak memory 1.14 MiB, was 977 KiB (+20 %)" c.out
t "in JUnit it fails" bash -c "'$ASSAY' check --baseline memory --budget 20s --progress never --output-format junit --output-file m.xml >/dev/null; grep -q '<failure' m.xml"
t "a threshold of 25 lets it pass" memory 0 "AllPass" --memory-threshold 25
t "--fail-on major lets it pass" memory 0 "HasRegressions" --fail-on major
t "the first screen says it" bash -c "'$ASSAY' check --baseline memory --budget 20s --progress never | grep -qF '1 of 1 needs more memory: ./counts'"
speaker 100000 counts "peak=1800000 allocations=0"
t "80 % more is a critical one" memory 3 "HasCriticalRegressions"
speaker 100000 counts "peak=1000000 allocations=2"
t "runs that begin to allocate regress" memory 1 "MORE MEMORY (major)"
speaker 100000 counts "peak=900000 allocations=0"
t "less memory passes" memory 0 "AllPass"
speaker 110000 counts "peak=1200000 allocations=0"
t "slower and larger is told as both" memory 1 "SLOWER (minor)"
t "memory on its own line" grep -qF "MORE MEMORY (moderate)" c.out

# --- Outputs ----------------------------------------------------------------------------------------------------------
speaker 110000 prog
t "JSON" gives 1 '"check.status": "HasRegressions"' --output-format json
t "into a file, with all others" gives 1 "" --output-format json --output-file c.json --html c.html --csv c.csv --markdown c.md
t "report reads it back" says "HasRegressions" report c.json --report detailed
t "the page is one self-contained file" bash -c "! grep -qE '(src|href)=\"?https?:' c.html && grep -q '<svg' c.html"
t "CSV has a row a number" grep -q '^1,check,check.regressions,regressions,1,' c.csv
t "Markdown has a table" grep -q '^|' c.md
t "JUnit counts a failure" gives 1 'tests="1" failures="1"' --output-format junit
t "JUnit names the severity" gives 1 '<failure' --output-format junit
t "GitHub gets an error" gives 1 '::error' --output-format github
t "Markdown for a pull request" gives 1 '| ' --output-format md
t "--json - is JSON alone" bash -c "'$ASSAY' check --baseline main --budget 20s --json - | head -c 1 | grep -q '{'"
t "checks are kept" bash -c "'$ASSAY' runs list | grep -q 'check against main'"

# --- Programs that fail -----------------------------------------------------------------------------------------------
printf '#!/bin/sh\necho "out of paper" >&2\nexit 7\n' >prog
t "a candidate that ends is a failure with its words" gives 5 "out of paper"
printf '#!/bin/sh\nsleep 100 & wait\n' >prog
t "one that never answers is ended" gives 5 "timed out after 0.3 s" --timeout 300ms
rm prog
t "one that is gone" gives 5 "./prog"

# --- Bad input --------------------------------------------------------------------------------------------------------
t "no baseline is named" refuses 2 "--baseline NAME" check
t "one that there is not" refuses 2 "there is no baseline 'nope'" check --baseline nope
for name in ../x a/b .x -x '' "$(printf %065d 1)"; do
    t "a name like '$name' is checked" refuses 2 "is not a valid name" check --baseline "$name"
    t "a name like '$name' is saved" refuses 2 "is not a valid name" baseline save --bin true -- "$name"
done
t "a name with ../ in promote" refuses 2 "is not a valid name" baseline promote main ../x
t "a name with ../ in rm" refuses 2 "is not a valid name" baseline rm ../x
t "nothing to save" refuses 2 "needs a MODEL (for example mlp-small), --suite FILE or --bin CMD" baseline save x
t "a program that is not there" refuses 2 "there is no such program" baseline save x --bin ./nosuch
t "a model that is not there" refuses 2 "'nosuch'" baseline save x nosuch
t "an unknown word" refuses 2 "is none of save, list, show, promote, rm" baseline put x
t "an option that says nothing" refuses 2 "--budget does not apply" baseline list --budget 1s
t "baseline --store none" refuses 2 "keeps nothing" baseline save x mlp-small --store none
t "check --store none" refuses 2 "keeps nothing" check --baseline main --store none
for threshold in x -1 nan; do t "--threshold $threshold" refuses 2 "is not a percentage" check --baseline main --threshold=$threshold; done
for severity in 1,2 3,2,1 a,b,c 1,2,3,4 15,30,; do t "--severity $severity" refuses 2 "three rising percentages" check --baseline main --severity $severity; done
t "--alpha" refuses 2 "is not a share" check --baseline main --alpha 2
t "--budget" refuses 2 "is not a duration" check --baseline main --budget soon
t "--fail-on" refuses 2 "fail-on" check --baseline main --fail-on minor
t "--output-format" refuses 2 "output-format" check --baseline main --output-format xml

# --- Files beside a model ---------------------------------------------------------------------------------------------
# y = x + w, w two floats in data/w.
model='\010\010B\002\020\021:T\012\016\012\001x\012\001w\022\001y\042\003Add\022\001g*\035\010\002\020\001B\001wj\022\012\010location\022\006data/wp\001Z\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\002'
mkdir -p m/data && printf "$model" >m/e.onnx && printf '\0\0\200?\0\0\0@' >m/data/w
hashes() { "$ASSAY" check --baseline onnx --threshold 1000 --budget 500ms --json - | grep -oE '"hash": "[0-9a-f]{16}"' | sort -u | wc -l; }
t "a model is saved" says "1 case" baseline save onnx m/e.onnx --devices cpu --budget 100ms
t "and its external data with it" says "data/w" baseline show onnx --report detailed
t "and runs again" says "PASS: none of 1" check --baseline onnx --threshold 1000 --budget 500ms
t "with the same answer" test "$(hashes)" = 1
printf '\0\0\0A\0\0\0A' >m/data/w
t "the baseline keeps the data that it was saved with" test "$(hashes)" = 2
mv m/data away
t "without its data today's model fails, and says so" bash -c "'$ASSAY' check --baseline onnx --budget 200ms --json - >c.out; [ \$? = 5 ] && grep -q 'data/w: cannot open' c.out"
mv away m/data
t "nothing is left of the folder in which it ran" bash -c "mkdir tmp && TMPDIR=\$PWD/tmp '$ASSAY' check --baseline onnx --threshold 1000 --budget 200ms && rmdir tmp"
object=.assay/objects/$("$ASSAY" baseline show onnx --json - | tr -d ' \n' | grep -oE '"id":"[0-9a-f]{64}","name":"data/w"' | cut -c7-70)
chmod u+w "$object" && printf 'x' | dd of="$object" conv=notrunc 2>dd.err
t "verify finds data that were changed" refuses 2 "it was changed" runs verify
t "data that were changed in the store are not run" bash -c "'$ASSAY' check --baseline onnx --budget 200ms --json - >c.out; [ \$? = 5 ] && grep -q 'it was changed' c.out"
rm "$object"
t "nor are data that are missing" bash -c "'$ASSAY' check --baseline onnx --budget 200ms --json - >c.out; [ \$? = 5 ] && grep -q 'cannot open' c.out"

# --- Another machine --------------------------------------------------------------------------------------------------
speaker 100000 prog
print=$("$ASSAY" baseline show main --report detailed | grep -oE 'machine [0-9a-f]{16}' | cut -c9-)
mkdir other && cp -r .assay/objects other/ && LC_ALL=C sed "s/$print/0123456789abcdef/g" .assay/runs.db >other/runs.db
t "a baseline of another machine is refused" refuses 2 "was made on machine 0123456789abcdef" check --baseline main --store other/runs.db
t "--cross-machine says what can be seen, and gives no verdict" gives 0 "another machine" --cross-machine --budget 200ms --store other/runs.db
finish
