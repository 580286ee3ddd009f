# tune_test.sh - searches that compare several ways to do a training step: recomputation and precision.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
net=mlp:sizes=16x64x64x64x64x64x64x8
few="--runs 3 --progress never"
json() { # file.json "python": p sees the groups of a run as g, and its notes as n
    python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
g, n = d["groups"], d["notes"]
def rows(group, table):
    t = g[group]["tables"][table]
    return [dict(zip([c["key"] for c in t["columns"]], r)) for r in t["rows"]]
'"$2" "$1"
}

"$ASSAY" tune $net --recompute --batch 256 $few --json r.json >r.out 2>r.err || { cat r.err; exit 2; }
for r in 0 2 4 auto; do "$ASSAY" plan $net --train --batch 256 --recompute $r --json plan-$r.json >/dev/null || exit 2; done
t "recomputation: memory is predicted as the plan counts it" json r.json '
ways = rows("tune", "ways")
assert ways[0]["name"] == "everything kept", ways[0]
want = {"everything kept": "0", "recompute 2": "2", "recompute 4": "4", "recompute auto": "auto"}
for w in ways:
    total = json.load(open("plan-%s.json" % want[w["name"]]))["training"]["total_bytes"]
    assert w["planned"]["value"] == total, (w["name"], w["planned"], total)
assert len(ways) >= 3 and ways[1]["planned"]["value"] < ways[0]["planned"]["value"]'
t "and measured in a child process" json r.json '
for w in rows("tune", "ways"):
    m = w["grew"]
    assert m["kind"] == "unavailable" or (m["kind"] == "measured" and m["value"] > 0), m'
t "time is predicted from what is kept, and measured in turns" json r.json '
ways = rows("tune", "ways")
assert ways[0]["time"]["value"] > 0
for w in ways[1:]:
    assert w["time"]["value"] > 0 and w["predicted"]["kind"] == "modelled", w
    assert w["predicted"]["value"] > ways[0]["time"]["value"], (w["predicted"], ways[0]["time"])
t = d["trials"][0]
assert len(t["arms"]) == len(ways) and t["n_rounds"] == 3, t["n_rounds"]'
t "three rounds prove nothing, and nothing is called proved" json r.json '
for w in rows("tune", "ways")[1:]:
    assert w["verdict"] == "unresolved", w
assert n["tune.proved"] == "no" and "(proved" not in n["tune.answer"], n["tune.answer"]'
t "one line says which is worth it" grep -q "if memory is what limits\|Not worth it" r.out
t "with a budget of memory it is the one that fits" says "Not worth it: everything kept fits" tune $net --recompute 0,2 --batch 64 $few --memory-budget 1G
t "or none is" says "No way fits" tune $net --recompute 0,2 --batch 64 $few --memory-budget 100
t "with data the losses are the same to the bit" says "recompute 2: the losses of all 6 updates are the same to the bit" \
    tune mlp:sizes=2x16x16x16x16x4 --recompute 0,2 --data synthetic:spirals,n=128 --batch 16 --steps 6 $few
t "a way that cannot be cut is left out, and named" says "recompute 1000 is left out" tune $net --recompute 0,2,1000 --batch 4 $few
t "so is one that is no other" says "is the same plan as everything kept" tune mlp:sizes=2x8x4 --recompute --batch 4 $few
t "one value is a setting, not a search" refuses 2 "tune finds one thing" tune $net --recompute 2
t "two searches are refused" refuses 2 "tune finds one thing" tune $net --recompute 0,2 --threads 1,2
t "a word that is not a number of segments is refused" refuses 2 "neither auto nor a number" tune $net --recompute some,2
t "an empty value is refused" refuses 2 "a value is empty" tune $net --recompute 2,,4
t "updates need data" refuses 2 "--steps is the number of updates with --data" tune $net --recompute 0,2 --steps 5
t "rounds are for comparisons" refuses 2 "--runs is for --recompute and --precision" tune $net --runs 3 --batch
t "bad data are told before anything is timed" refuses 2 "nosuch.csv" tune $net --recompute 0,2 --data nosuch.csv

big=mlp:sizes=64x256x256x256x10
"$ASSAY" tune $big --precision --batch 128 --data synthetic:digits,n=256 --preprocess flatten --steps 12 $few --json p.json >p.out 2>p.err || { cat p.err; exit 2; }
t "precision: memory by kind sums up to the plan" json p.json '
ways = {w["name"]: w for w in rows("tune", "ways")}
assert list(ways) == ["f32", "f16-storage", "bf16-storage"], list(ways)
for name, w in ways.items():
    assert sum(r[name]["value"] for r in rows("tune", "kinds")) == w["planned"]["value"], name
assert ways["f16-storage"]["planned"]["value"] < ways["f32"]["planned"]["value"]'
t "times by layer, with what is stored in 16 bits, add up to the step" json p.json '
for name in ("f16-storage", "bf16-storage"):
    if "layers." + name not in g["tune"]["tables"]: # a busy machine interrupted every run, and a finding says so
        assert any(name in f["text"] and "no times by layer" in f["text"] for f in g["tune"]["findings"])
        continue
    layers = rows("tune", "layers." + name)
    parts, whole = layers[:-1], layers[-1]
    for key in ("a_time", "b_time"):
        total = sum(r[key]["value"] or 0 for r in parts)
        assert abs(total - whole[key]["value"]) < 1e-6 * whole[key]["value"], (key, total, whole)
    assert {r["verdict"] for r in layers} <= {"slower", "faster", "same", "unresolved"}
    for r in layers: # a verdict is never inside the margin of 1 %
        d = r["difference"]
        if r["verdict"] == "slower": assert d["lo"] > 0.01 * (r["a_time"]["value"] or 0), r
        if r["verdict"] == "faster": assert d["hi"] < -0.01 * (r["a_time"]["value"] or 0), r
    assert any(r["less"]["value"] for r in layers) and "update" in [r["name"] for r in layers]'
t "the loss gap to f32 and the skips of loss scaling are told" json p.json '
l = {r["name"]: r for r in rows("tune", "losses")}
assert l["f32"]["gap"]["value"] is None and l["f32"]["updates"]["value"] == 12
for name in ("f16-storage", "bf16-storage"):
    r = l[name]
    assert abs(r["gap"]["value"] - (r["loss"]["value"] - l["f32"]["loss"]["value"])) < 1e-12, r
    assert 0 < r["most"]["value"] < 0.1 and r["skips"]["kind"] == "counted", r
assert l["f16-storage"]["scale"]["value"] > 1 and l["f32"]["scale"]["kind"] == "unavailable"'
t "without data the loss is not compared, and it says so" says "Losses were not compared" tune mlp:sizes=2x8x4 --precision --batch 4 $few
t "all is for tune" refuses 2 "all does not apply here" plan $net --train --precision all

if ! "$ASSAY" runs list --store none.db 2>&1 | grep -q "built without SQLite"; then
    t "a search is stored" bash -c "
        '$ASSAY' tune $net --recompute 0,2 --batch 16 --runs 12 --progress never --store s.db >/dev/null &&
        '$ASSAY' tune mlp:sizes=2x8x4 --batch --memory-budget 1MiB --progress never --store s.db >/dev/null &&
        '$ASSAY' runs list --store s.db --json runs.json >/dev/null && grep -q 'x8, tune recompute' runs.json && grep -q 'x4, tune batch' runs.json"
    t "its candidates and probes have a history" bash -c "
        '$ASSAY' history --store s.db --json h.json >/dev/null && grep -q 'batch 16, recompute, recompute 2' h.json && grep -q 'training step, batch 16, 1 thread' h.json"
    t "and its report can be shown again" says "Computing again" runs show 1 --store s.db
    t "none keeps nothing" bash -c "rm -rf .assay && '$ASSAY' tune mlp:sizes=2x8x4 --recompute 0,2 --batch 4 --runs 2 --store none --progress never >/dev/null && [ ! -e .assay ]"
fi
finish
