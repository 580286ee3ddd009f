# runs_test.sh - the stored runs from the command line: carried in, listed, shown, carried out, removed; bad input is one sentence.
. "$(dirname "$0")/lib.sh"
corpus=$(cd "$(dirname "$0")/../fuzz/corpus/runs" && pwd)
cd "$dir" || exit 2
if "$ASSAY" runs import "$corpus/none.json" --store probe.db 2>&1 | grep -q "built without SQLite"; then
    t "without SQLite the remedy is named" refuses 2 "install libsqlite3-dev" runs list
    finish
    exit
fi

# A file of runs made by hand, with its hash: texts with their lengths, then the numbers, all as src/store/rows.c has it.
sum() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c1-64; }
le64() { local i; for i in 0 8 16 24 32 40 48 56; do printf "\\x$(printf %02x $(($1 >> i & 255)))"; done; }
text() { le64 "$(printf %s "$1" | wc -c)"; printf %s "$1"; }
escaped() { printf %s "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' | sed -e ':a' -e 'N' -e '$!ba' -e 's/\n/\\n/g'; }
run_file() { # title unix_time report
    local hash
    hash=$({ text bench; text "$1"; text 0123456789abcdef; text abc; text complete; text "$3"; le64 "$2"; le64 0; } | sum)
    printf '{"schema":"assay.runs-export/1","runs":[{"kind":"bench","title":"%s","fingerprint":"0123456789abcdef","commit":"abc","state":"complete",' "$1"
    printf '"unix_time":%d,"hash":"%s","report":"%s","trials":[]}]}\n' "$2" "$hash" "$(escaped "$3")"
}
"$ASSAY" profile mlp-small --roofs off --runs 50 --store none --json run.json >/dev/null || exit 2
report=$(cat run.json)
run_file "bench by hand" 86400 "$report" >hand.json

t "there is no store at first" refuses 2 "does not exist yet" runs list
t "and asking for it makes none" [ ! -e .assay ]
t "import makes one and says what it did" says "added 1 run to .assay/runs.db; 0 were there already" runs import hand.json
t "nothing is doubled" says "added 0 runs to .assay/runs.db; 1 was there already" runs import hand.json
t "a run with trials comes along" says "added 1 run" runs import "$corpus/runs.json"
t "list shows time and title" says "1970-01-02 00:00:00  bench     complete       0  abc         bench by hand" runs list --all
t "the basic list shows time and title, too" says "1970-01-02 00:00  bench    complete  abc     bench by hand" runs list
t "list is JSON too" bash -c "'$ASSAY' runs list --json - | grep -q '\"title\": *\"one\"'"
t "show says which run it is" says "run 1: bench by hand" runs show 1
"$ASSAY" report run.json --report detailed >want.txt 2>/dev/null
t "show prints the report that was stored" bash -c "'$ASSAY' runs show 1 --report detailed | tail -n +4 | cmp - want.txt"
"$ASSAY" report run.json >basic.txt 2>/dev/null
t "on one screen where no more is asked for" bash -c "'$ASSAY' runs show 1 | tail -n +4 | cmp - basic.txt"
t "show --json gives its JSON" bash -c "'$ASSAY' runs show 1 --json - | cmp - <(printf %s \"\$(cat run.json)\")"
t "all runs are exported when none is named" bash -c "'$ASSAY' runs export --json all.json && grep -q 'bench by hand' all.json && grep -q '\"one\"' all.json"
t "export goes to standard output, and what came in an older form goes out with its hash" bash -c "'$ASSAY' runs export 2 | grep -qF \"\$(grep -o '\"hash\":\"[0-9a-f]\{64\}\"' '$corpus/runs.json')\""
t "and comes back in another store" says "added 2 runs to other.db" runs import all.json --store other.db
t "a path of the store may be a URL" says "bench by hand" runs list --store sqlite:other.db
t "rm removes" says "removed 2 runs" runs rm 1 2 --store other.db
t "an empty store says so" says "other.db holds no runs" runs list --store other.db

t "a profile is kept" assay profile mlp-small --roofs off --runs 50 --batch 3 --store kept.db --json kept.json
t "and listed" bash -c "'$ASSAY' runs list --all --store kept.db | grep -q 'profile *complete *1 .*mlp-small/batch=3'"
t "and verified" says "is whole: 1 run" runs verify --store kept.db
t "and reported again by its number" bash -c "'$ASSAY' report 1 --store kept.db | grep -q 'Where the time goes\|Layers'"
t "as a page" bash -c "'$ASSAY' report 1 --store kept.db --html kept.html && grep -q '<svg' kept.html"
t "and has a history" says "mlp-small/batch=3, profile" history --store kept.db
t "its record is a trace" bash -c "'$ASSAY' runs trace 1 kept.trace --store kept.db && '$ASSAY' report kept.trace | grep -q mlp-small"
t "the record has all that profile --trace writes" bash -c "'$ASSAY' profile mlp-small --roofs off --runs 50 --store s.db --trace t.trace >/dev/null && '$ASSAY' runs trace 1 s.trace --store s.db && '$ASSAY' report t.trace --json a.json && '$ASSAY' report s.trace --json b.json && cmp a.json b.json"
t "--compile both keeps both" bash -c "'$ASSAY' profile mlp-small --roofs off --runs 50 --time 50ms --compile both --store both.db >/dev/null; '$ASSAY' runs list --all --store both.db | grep -q 'profile *[a-z]* *2 '"
t "of two records one must be named" refuses 2 "run 1 has 2 records: say which" runs trace 1 x.trace --store both.db
t "and then it is written" bash -c "'$ASSAY' runs trace 1 x.trace 2 --store both.db && [ -s x.trace ]"
t "there is no third" refuses 2 "run 1 has 2 records" runs trace 1 x.trace 3 --store both.db
t "a run that is not there has no report" refuses 2 "there is no run 99" report 99 --store kept.db
t "a store without a run is refused" refuses 2 "no run is named" report kept.json --store kept.db
t "it goes to another store with its record" bash -c "'$ASSAY' runs export --store kept.db --json k.json && '$ASSAY' runs import k.json --store k2.db && '$ASSAY' runs trace 1 k2.trace --store k2.db && cmp kept.trace k2.trace"
t "by default it is kept beside the others" bash -c "mkdir d && cd d && '$ASSAY' profile mlp-small --roofs off --runs 50 >/dev/null && '$ASSAY' runs list | grep -q profile"
t "--store none keeps nothing" bash -c "mkdir n && cd n && '$ASSAY' profile mlp-small --roofs off --runs 50 --store none >/dev/null && [ ! -e .assay ]"
if [ "$(id -u)" != 0 ]; then
    t "a directory that cannot be written to is no error" bash -c "mkdir ro && chmod 555 ro && cd ro && '$ASSAY' profile mlp-small --roofs off --runs 50 2>&1 >/dev/null | grep -q 'not kept'"
fi
t "a place where no store can be made is no error" bash -c "mkdir f && cd f && : >.assay && '$ASSAY' profile mlp-small --roofs off --runs 50 >o 2>e && grep -q 'the run is not kept' e && [ -s o ]"
t "but one that was asked for is, before anything is measured" refuses 2 "f/.assay is not a directory" profile mlp-small --roofs off --runs 50 --store f/.assay/x.db

t "an unknown word is refused with the nearest" refuses 2 "did you mean list?" runs lis
t "nothing to show" refuses 2 "runs show needs more arguments: type assay runs show ID" runs show
t "too much to show" refuses 2 "too many arguments" runs show 1 2
t "no id" refuses 2 "'x' is not an id of a run" runs show x
t "no such run" refuses 2 "there is no run 99" runs show 99
t "rm of one that is not there removes none" refuses 2 "there is no run 99" runs rm 1 99
t "which is still there" says "bench by hand" runs list
t "an export that fails writes no file" bash -c "! '$ASSAY' runs export 1 99 --json no.json && [ ! -e no.json ]"
t "--json goes not with rm" refuses 2 "--json goes with" runs rm 1 --json x.json
t "--store none is no store" refuses 2 "runs needs a store" runs list --store none
sed 's/by hand/by Hand/' hand.json >changed.json
t "a changed file of runs is refused" refuses 2 "\"hash\" does not match its content" runs import changed.json
t "a run JSON is no file of runs" refuses 2 "and not assay.runs-export/2" runs import run.json
head -c 300 hand.json >cut.json
t "a cut one is refused where it ends" refuses 2 "cut.json: line 1" runs import cut.json
t "a missing one too" refuses 2 "nothing.json: cannot open" runs import nothing.json
echo "no database" >text.db
t "a file that is no store is refused" refuses 2 "text.db: not a store" runs import hand.json --store text.db
t "and left as it is" grep -qx "no database" text.db
head -c 9000 .assay/runs.db >torn.db
t "a damaged store is refused" refuses 2 "the file is damaged" runs list --store torn.db
t "all of the store is verified" says "is whole: " runs verify
LC_ALL=C sed 's/bench by hand/bench by HAND/g' .assay/runs.db >digit.db && cp digit.db digit.was
t "a store in which a letter was changed opens" says "by HAND" runs list --store digit.db
hand=$("$ASSAY" runs list --store digit.db | grep 'by HAND' | awk 'NR == 1 { print $1 }')
t "but its run is not shown" refuses 2 "run $hand does not match its hash" runs show "$hand" --store digit.db
t "nor carried elsewhere" refuses 2 "does not match its hash" runs export "$hand" --json gone.json --store digit.db
t "and verify says so" refuses 2 "are damaged" runs verify --store digit.db
t "it is left as it is" cmp digit.db digit.was
t "verify takes nothing" refuses 2 "too many arguments" runs verify 1
t "a directory is no store" refuses 2 "is a directory" runs list --store "$dir"
t "a store of another kind is refused" refuses 2 "unknown kind of store 'postgres'" runs list --store postgres:here
finish
