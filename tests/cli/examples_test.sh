# examples_test.sh - every example is built as its first lines say, and run; together they use every function of the header.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(dirname "$ASSAY")/libassay.a
# The compiler and the sanitiser of the library under test are in its folder's name.
case $ASSAY in *clang-address-undefined*) cc="clang -fsanitize=address,undefined" ;; *clang*) cc=clang ;; *) cc=gcc ;; esac
foreign=$(for p in jansson OpenCL sqlite3 libdw; do pkg-config --exists $p && pkg-config --libs $p; done)

# --- The header and the examples ---
functions() { sed -n '/^static inline/d; s/^[a-z].*[ *]\(assay_[a-z_]*\)(.*/\1/p' "$root/include/assay.h"; }
all_used() {
    [ "$(functions | wc -l)" -gt 50 ] || { echo "the header's functions cannot be read"; return 1; }
    local name unused=
    for name in $(functions); do grep -qE "\\b$name\\(" "$root"/examples/*.c || unused="$unused $name"; done
    [ -z "$unused" ] || { echo "no example uses:$unused"; return 1; }
}
all_named() { # FILE
    local file
    for file in "$root"/examples/*.c; do grep -qF "$(basename "$file")" "$1" || { echo "not named: $(basename "$file")"; return 1; }; done
}
functions_named() {
    local name
    for name in $(functions); do grep -qE "\\b$name\\b" "$root/docs/library.md" || { echo "not named: $name"; return 1; }; done
}
how_to_build() { head -12 "$1" | grep -qF "cc $(basename "$1") \$(pkg-config --cflags --libs assay) -o $(basename "$1" .c)"; }
t "together the examples use every function of assay.h" all_used
t "docs/library.md names every example" all_named "$root/docs/library.md"
t "docs/library.md names every function" functions_named
for source in "$root"/examples/*.c; do
    name=$(basename "$source" .c)
    t "$name.c says how it is built" how_to_build "$source"
    t "$name.c compiles as C99 against the public header alone" \
        $cc -std=c99 -pedantic -Wall -Wextra -Wshadow -Werror -I"$root/include" "$source" "$lib" $foreign -lm -lpthread -ldl -o "$dir/$name"
    "$dir/$name" >"$dir/u.out" 2>"$dir/u.err"
    t "$name without arguments says how it is called" bash -c "[ $? = 2 ] && grep -q '^usage: ' '$dir/u.err' && [ ! -s '$dir/u.out' ]"
done
cd "$dir" || exit 2

gives() { # "words" PROGRAM args...: exit code 0, and the words on standard output
    local words=$1
    shift
    "$@" >g.out 2>g.err || { cat g.out g.err; return 1; }
    grep -qE -- "$words" g.out || { cat g.out g.err; echo "expected: $words"; return 1; }
}
says_no() { # "words" PROGRAM args...: exit code 2, and one line with the words
    local words=$1
    shift
    "$@" >n.out 2>n.err </dev/null
    local got=$?
    [ $got = 2 ] || { cat n.err; echo "exit code $got, expected 2"; return 1; }
    [ "$(wc -l <n.err)" = 1 ] && grep -qF -- "$words" n.err || { cat n.err; echo "expected one line with: $words"; return 1; }
}

# --- Running ---
t "run answers and measures" gives 'median .* ns, measured' ./run mlp-small
t "run names its answer" grep -q 'bytes of f32' g.out
t "run says what is wrong" says_no nothing ./run nothing
t "files answers on random numbers" gives '1 inputs, 1 outputs; less exact kernels cost 0' ./files mlp:sizes=3x5 - y.npy
t "files prints the answer" grep -q '^[a-z0-9]*: f32\[1,5\]' g.out
assay run mlp:sizes=5x3 --output x5.npy >/dev/null 2>&1 # an answer of one network as the input of the next
assay run mlp:sizes=3x5 --input x5.npy --output want.npy >/dev/null 2>&1
t "files reads the numbers of a file" gives 'outputs' ./files mlp:sizes=3x5 x5.npy y.npy
t "and answers as assay run" cmp y.npy want.npy
t "files says how far less exact kernels are off" bash -c "./files cnn-small - y.npy | grep -q 'cost [0-9.e-]* of'"
t "viewers writes a file for a viewer" ./viewers mlp-small folded v.folded
t "with the runs in it" grep -q '^run' v.folded
t "viewers names the formats" says_no 'known: ' ./viewers mlp-small list v.list
t "files refuses a file of another shape" says_no 'the model needs' ./files mlp:sizes=4x5 x5.npy y2.npy
t "and one that is not there" says_no nosuch.npy ./files mlp:sizes=3x5 nosuch.npy y2.npy
t "stream answers line by line" bash -c "printf '1,2,3\n4,5,6\n' | ./stream cfc:input=3,units=8 10s 2>s.err | wc -l | grep -qx 2"
printf '1,2,3\n4,5,6\n7,8,9\n' >x.csv
t "stream remembers as assay run --stream does" \
    bash -c "./stream cfc:input=3,units=8 10s <x.csv >y1 2>s.err && '$ASSAY' run cfc:input=3,units=8 --stream <x.csv >y2 2>/dev/null && cmp y1 y2"
t "stream tells how late it was" grep -qE 'stream.missed +0 1' s.err
t "stream refuses a bad sample, and tells of those before" \
    bash -c "printf '1,2,3\n4,x,6\n' | ./stream cfc:input=3,units=8 10s 2>s.err >s.out; [ \$? = 2 ] && grep -q 'stream.answers *1 ' s.err && wc -l <s.out | grep -qx 1"
t "stream says what is wrong" says_no 'must be more than 0' ./stream cfc:input=3,units=8 0s

t "train learns and tells after each epoch" gives '^epoch 5: loss' ./train mlp:sizes=2x32x3 synthetic:spirals 20%
t "trainer goes on from its checkpoint to the bit" gives 'by way of the checkpoint: the same$' ./trainer ck
t "trainer gives the network" grep -q "needs [0-9]* bytes to answer" g.out
t "tune finds a batch size" gives '^batch size [1-9]' ./tune mlp:sizes=2x8x4 16M
t "tune says what is wrong" says_no 'nosuch' ./tune nosuch 16M
t "train says what is wrong" says_no 'nosuch' ./train mlp:sizes=2x4x3 nosuch.csv 20%

# --- Measuring ---
t "quick shows keys, or why there are none" gives "profile.hardware.ne_cycles" ./quick cfc:units=16,wiring=autoncp
t "quick says what is wrong" says_no nothing ./quick nothing
t "profile writes a page" ./profile mlp-small page.html
t "the page is HTML" grep -qi '<!doctype html' page.html
t "profile says what is wrong" says_no nothing ./profile nothing p.html
t "facts prints them all" gives 'latency.median .* ns, measured by' ./facts mlp-small out
t "tables too" grep -q 'table steps, 2 rows: name op time' g.out
t "facts writes the record and five reports" bash -c "for s in trace txt json html csv md; do [ -s out.\$s ] || exit 1; done"
t "the record is one that assay reads" says "Latency" report out.trace
t "facts says what is wrong" says_no nothing ./facts nothing out
t "pages makes a page of a record" gives 'mlp-small' ./pages p1.html out.trace
t "and of run JSON" gives 'mlp-small' ./pages p2.html out.json
t "the pages are HTML" bash -c "grep -qi '<!doctype html' p1.html && grep -qi '<!doctype html' p2.html"
t "pages tells what can be measured" bash -c "./pages d.json && grep -q 'assay.doctor/1' d.json"
t "pages says what is wrong" says_no nosuch.trace ./pages p3.html nosuch.trace
t "cancel keeps what was measured" gives 'ns from [0-9]+ runs' ./cancel mlp-small 20
t "cancel says that it stopped early" grep -q '^cancel: cancelled: stopped: [0-9]* runs are kept' g.err
t "cancel tells how far it is" grep -qE '^measuring mlp-small[^:]*: [0-9]+ %, about [0-9.]+ s left$' g.err
t "cancel says what is wrong" says_no nothing ./cancel nothing 1
t "devices lists them and lends one to two plans" gives '^cnn-small ran; it holds' ./devices null mlp-small cnn-small
t "the list has the CPU" grep -q '^cpu: usable: yes' g.out
t "the plan is told" grep -q '^null takes [1-9]' g.out
t "devices says what is wrong" says_no nothing ./devices nothing mlp-small
t "export writes two files" gives wrote ./export mlp:sizes=3x5 m.onnx m.safetensors
t "the file is a model" assay run m.onnx
t "the parameters fit" assay run mlp:sizes=3x5 --weights m.safetensors
t "export says what is wrong" says_no nothing ./export nothing m.onnx m.safetensors

t "session prints where the time of a program went" gives '^[0-9]+ spans, [0-9]+ ns each' ./session 50 s.trace
t "its spans are all counted: 50 rounds of three, 50 reads, one product" grep -q '^201 spans' g.out
t "its report has operations and numbers" bash -c "grep -q matmul g.out && grep -q 'last product' g.out && grep -q 'Numbers of the program' g.out"
t "assay reports its record" says "Operations" report s.trace
t "session says what is wrong" bash -c "./session 5 /nowhere/s.trace 2>&1 | grep -q '/nowhere/s.trace'"

# --- The laboratory ---
t "memory finds the leak" gives "leak candidate: history, called from forward" ./memory memory.trace
t "which a report tells, too" bash -c "'$ASSAY' report memory.trace --report detailed | grep -q 'Leak candidates'"
t "memory says what is wrong" says_no no/such ./memory no/such/file
t "bench prints a row per case" gives 'softmax' ./bench matmul:size=16x16 softmax:size=16x16
t "bench prints numbers" grep -qE '^  .* [0-9.e+]+ ns$' g.out
t "bench says what is wrong" says_no nothing ./bench nothing
t "compare writes a page" ./compare mlp-small compile=on,off compare.html
t "compare says what is wrong" says_no nothing ./compare mlp-small nothing=1 p.html
"$ASSAY" profile mlp-small --device null:gemm=5us --runs 20 --store none --json l1.json >/dev/null
"$ASSAY" profile mlp-small --device null:gemm=7us --runs 20 --store none --json l2.json >/dev/null
t "layers prints what each layer takes more" bash -c "./layers l1.json l2.json | grep -qE '^fc1 +[+]2000.0 ns' && ./layers l1.json l2.json | grep -qE '^whole run +[+]4000.0 ns'"
t "layers says what is wrong" says_no nosuch ./layers l1.json nosuch.json
speaker 1000 old
speaker 1200 new
t "programs are compared" gives 'as measured:' ./programs ./old ./new c.json
t "and judged again by another margin" bash -c "sed -n '1,/if only/p' g.out | grep -q 'SLOWER' && sed '1,/if only/d' g.out | grep -q 'SAME'"
t "programs says what is wrong" says_no nosuch ./programs ./old ./nosuch c.json
if "$ASSAY" record --store none --quiet -- true 2>/dev/null; then # else nothing can be recorded here
    t "record says how much of the time a program runs" gives "of the time" ./record sleep 0.1
fi
t "record says what is wrong" says_no nosuch ./record nosuch-program
t "noise says what can be seen" gives . ./noise 600ms
t "noise says what is wrong" says_no soon ./noise soon

t "lists prints the parts" gives '^in:	kernel	gemm_f32' ./lists models circuit.json
t "and the list that was asked for" grep -q '^models:	mlp' g.out
t "and the version" grep -qE '^build:	[0-9.]+	' g.out
t "the circuit is that of assay wiring" bash -c "'$ASSAY' wiring autoncp:units=16,out=4 --input 4 --json - | cmp - circuit.json"
t "lists says what is wrong" says_no "nothing to list under 'nothing'" ./lists nothing c2.json
t "and writes nothing then" test ! -e c2.json
for i in 1 2; do printf '{"cell": "programs", "count": "alarms", "hit": false}\n{"cell": "programs", "count": "power", "hit": true}\n'; done >few.jsonl
printf '{"cell": "programs", "count": "power", "hit": true}\n' >>few.jsonl
t "selftest goes on from what was counted, with two processes of its own" \
    bash -c "./selftest programs few.jsonl >g.out 2>g.err; [ \$? -le 1 ] && grep -qE '^programs	.*	3	' g.out && wc -l <few.jsonl | grep -qx 6 || { cat g.out g.err; exit 1; }"
t "selftest answers as a candidate" bash -c "printf 'hash\nend\n' | ./selftest selftest --arm compute:0 | grep -q '^assay-arm 1'"
t "selftest says what is wrong" says_no "unknown cell 'nothing'" ./selftest nothing s.jsonl

if has_store; then
    t "guard keeps a program" ./guard s.db save-program next ./old
    t "guard lists it" gives 'next, saved 2' ./guard s.db list
    t "guard gives it another name" ./guard s.db promote next main
    t "the same program is no regression" ./guard s.db check main
    cp new old
    ./guard s.db check main >c.out 2>&1
    code=$?
    t "a slower one is" bash -c "[ $code = 1 ] || [ $code = 3 ] || { cat c.out; exit 1; }"
    t "guard keeps itself with a network" ./guard s.db save own mlp:sizes=8x4
    t "and checks it against itself" bash -c "./guard s.db check own >own.out 2>&1; [ \$? -le 3 ] && grep -q 'mlp:sizes=8x4' own.out || { cat own.out; exit 1; }"
    t "guard forgets it" ./guard s.db remove own
    t "which is then gone" says_no "no baseline 'own'" ./guard s.db check own
    t "store lists the runs" gives 'baseline .*main|baseline .*next' ./store s.db
    t "store shows one" gives 'check against main' ./store s.db 2
    t "store lists the cases" gives './old' ./store s.db ""
    t "store shows a case over time" gives 'History' ./store s.db ./old
    t "store says what is wrong" says_no 'no case "nothing"' ./store s.db nothing
    t "and that there is no such run" says_no 'run 99' ./store s.db 99
    t "tidy finds the store whole" gives 'whole: [1-9][0-9]* runs, 1 baselines' ./tidy s.db verify
    t "tidy tells what a baseline keeps" gives './old' ./tidy s.db baseline main
    t "which is what baseline show says" bash -c "'$ASSAY' baseline show main --store s.db --report detailed | cmp - g.out"
    t "tidy writes the record of a run" bash -c "./tidy s.db trace 2 two.trace && [ -s two.trace ]"
    t "tidy writes all runs" ./tidy s.db export all.json
    t "which another store takes" gives '[1-9][0-9]* added, 0 there already' ./tidy t.db import all.json
    t "tidy removes a run" ./tidy t.db remove 1
    t "which is then gone" says_no 'there is no run 1' ./tidy t.db remove 1
    t "a run of a baseline stays" says_no 'baseline' ./tidy s.db remove 1
    t "tidy says what is wrong" says_no 'nosuch.json' ./tidy t.db import nosuch.json
else
    echo "skipped: guard and store, because assay was built without SQLite"
fi

for model in "$root"/examples/*.json; do
    t "$(basename "$model") runs" assay run "$model"
    t "$(basename "$model") profiles" assay profile "$model" --roofs off --runs 50
done
finish
