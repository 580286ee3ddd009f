# train_plan_test.sh - training steps on the command line: planned, profiled, compared, benched, tuned.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
net=mlp:sizes=16x32x32x32x32x8

t "a plan of a training step tells memory by kind" says "optimiser state" plan $net --train --batch 8
t "its JSON sums up to the byte" bash -c "'$ASSAY' plan $net --train --batch 8 --json - | python3 -c '
import json, sys
t = json.load(sys.stdin)[\"training\"]
assert sum(t[\"bytes\"].values()) == t[\"total_bytes\"], t
assert t[\"bytes\"][\"weights\"] > 0 and t[\"bytes\"][\"optimiser state\"] >= 2 * t[\"bytes\"][\"weights\"]
assert any(o[\"segments\"] > 1 for o in t[\"options\"])'"
t "the optimiser counts: sgd remembers nothing" bash -c "'$ASSAY' plan $net --train --optimizer sgd:lr=0.1 --json - | python3 -c '
import json, sys
assert json.load(sys.stdin)[\"training\"][\"bytes\"][\"optimiser state\"] == 0'"
t "computing again takes less memory and more work" bash -c "
for r in 0 3; do '$ASSAY' plan mlp:sizes=64x64x64x64x64x64x64x64x64x64x8 --train --batch 512 --recompute \$r --json r\$r.json || exit 1; done
python3 -c '
import json
a, b = (json.load(open(f\"r{i}.json\"))[\"training\"] for i in (0, 3))
assert b[\"total_bytes\"] < a[\"total_bytes\"] and b[\"recompute\"][\"segments\"] == 3 and b[\"recompute\"][\"flops\"] > 0'"
t "16 bits take less memory" bash -c "
for p in f32 bf16-storage; do '$ASSAY' plan mlp:sizes=64x64x64x64x64x64x64x64x64x64x8 --train --batch 512 --precision \$p --json \$p.json || exit 1; done
python3 -c '
import json
a, b = (json.load(open(f + \".json\"))[\"training\"] for f in (\"f32\", \"bf16-storage\"))
assert b[\"total_bytes\"] < a[\"total_bytes\"] and b[\"stored_in_16_bits\"]'"
t "options of training need --train" refuses 2 "add --train" plan $net --recompute 2
t "a bad number of segments is refused" refuses 2 "neither auto nor a number" plan $net --train --recompute some
t "more segments than places are refused" refuses 2 "can be cut into at most" plan $net --train --recompute 1000
t "a profile names the pass and the layer of every step" bash -c "
'$ASSAY' profile $net --train --batch 4 --runs 20 --roofs off --store none --json p.json -q >/dev/null &&
python3 -c '
import json
text = open(\"p.json\").read()
json.loads(text)
assert \"training\" in text and \"backward\" in text and \"fc1\" in text'"
t "training steps are compared" says "optimizer=adam" compare $net --train --batch 4 --vary optimizer=sgd:lr=0.1,adam --runs 6 --warmup 1 --check off --store none --progress never
t "a bench case can be a training step" says "train=on" bench $net --train --batch 4 --runs 6 --warmup 1 --store none --progress never
t "an option of training needs a training step" refuses 2 "add train=on" bench $net --recompute 2 --store none
t "tune finds a batch size, and running out of memory is a result" says "no memory" tune $net --batch --memory-budget 1MiB
t "tune --lr needs data" refuses 2 "--lr needs examples" tune $net --lr
t "tune finds one thing" refuses 2 "tune finds one thing" tune $net
t "tune --lr tests a range" says "Learning rate" tune mlp:sizes=2x16x2 --lr --data synthetic:spirals,n=256,seed=1
finish
