# history_test.sh - a case over its stored runs: the list, one case, and what is not there.
. "$(dirname "$0")/lib.sh"
db="$dir/runs.db"
t "no store gets a sentence" refuses 2 "none.db" history --store "$dir/none.db"
t "a store that keeps nothing has no history" refuses 2 "keeps nothing" history --store none
for i in 1 2 3; do
    assay bench matmul --sizes 16x16 --budget 50ms --store "$db" >"$dir/bench.out" 2>"$dir/bench.err" || cat "$dir/bench.err"
done
t "cases are listed with their counts" says "Cases with a history" history --store "$db" --report detailed
name=$(assay history --store "$db" --json - | python3 -c 'import json,sys; print(json.load(sys.stdin)["groups"]["history"]["tables"]["cases"]["rows"][0][0])')
t "the list holds the case that was measured" test -n "$name"
t "one case has its three points" says "points" history "$name" --store "$db" --report detailed
t "a history is JSON" bash -c "'$ASSAY' history '$name' --store '$db' --json - | python3 -c 'import json,sys; f=json.load(sys.stdin)[\"groups\"][\"history\"]; assert len(f[\"tables\"][\"points\"][\"rows\"]) == 3'"
t "a history is a page" bash -c "'$ASSAY' history '$name' --store '$db' --html '$dir/h.html' && grep -q 'aria-label=\"History\"' '$dir/h.html'"
t "an unknown case is refused with the list's name" refuses 2 "has no case" history "${name}x" --store "$db"
finish
