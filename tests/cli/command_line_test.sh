# command_line_test.sh - short options, other names, help, sentences, plain characters, readers that leave.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$dir" || exit 2
verbs=$("$ASSAY" list verbs | awk '{print $1}')
quick="--roofs off --runs 20 --store none" # of a profile

# --- Short options ---
t "-b is --batch" says "f32[2,10]" run mlp-small -b 2
t "and may be joined with its value" says "f32[3,10]" run mlp-small -b3
t "-t is --threads" says "2 threads" plan mlp-small -t 2
t "-o of run is --output" assay run mlp-small -o y.npy
t "its file is there" [ -s y.npy ]
t "-o takes NAME=FILE, too" assay run mlp-small -o y=z.npy
t "which is the same file" cmp y.npy z.npy
for suffix in json html csv md trace; do
    t "-o r.$suffix of profile picks the form by the suffix" assay profile mlp-small $quick -o r.$suffix
    t "r.$suffix is there" [ -s r.$suffix ]
done
t "-o r.json is JSON" grep -q '"schema": "assay.run/1"' r.json
t "-o r.html is a page" grep -qi '<!doctype html' r.html
t "-o of export" assay export mlp-small -o m.onnx -o m.safetensors
t "writes both" [ -s m.onnx -a -s m.safetensors ]
t "-o of wiring" assay wiring autoncp:units=8,out=2 -o w.svg
t "an unknown suffix names those that there are" refuses 2 ".html" profile mlp-small -o r.doc
t "-o of a verb that writes no file says so" refuses 2 "writes no file" completion bash -o r.json
t "list does not write the file of its --onnx" refuses 2 "tells by the suffix" list -o m2.onnx
t "-o without a file" refuses 2 "option -o needs a value (FILE)" profile mlp-small -o
t "-b without a value" refuses 2 "option -b needs a value (N)" run mlp-small -b
t "an unknown letter" refuses 2 "run has no option -z" run mlp-small -z
t "a letter of another verb" refuses 2 "doctor has no option --batch" doctor -b 2
t "-v is --report detailed" bash -c "'$ASSAY' report r.json -v >v.out && '$ASSAY' report r.json --report detailed | cmp - v.out && ! '$ASSAY' report r.json | cmp -s - v.out"
t "letters without a value may stand together" bash -c "[ \"\$('$ASSAY' profile mlp-small $quick -qv | wc -l)\" -gt 30 ]"
t "-q prints one line" bash -c "[ \"\$('$ASSAY' profile mlp-small $quick -q 2>&1 | wc -l)\" = 1 ]"
t "-q writes its files" bash -c "'$ASSAY' bench softmax --sizes 4x4 --runs 5 --store none -q -o q.json && [ -s q.json ]"
t "-q leaves what was sent to standard output" bash -c "'$ASSAY' profile mlp-small $quick -q --json - | head -c 1 | grep -q '{'"
t "no two options of a verb have the same letter" bash -c "! '$ASSAY' list aliases | awk '\$NF == \"letter\" {print \$1}' | sort | uniq -d | grep ."

# --- Help ---
for verb in $verbs; do
    "$ASSAY" "$verb" --help >long
    t "assay help $verb is assay $verb --help" bash -c "'$ASSAY' help $verb | cmp - long"
    t "assay $verb -h, too" bash -c "'$ASSAY' $verb -h | cmp - long"
    t "$verb --help fits 80 columns" bash -c "! '$ASSAY' $verb --help | grep -v '^  ' | grep -E '.{81}'"
    t "$verb is in the overview" bash -c "'$ASSAY' --help | grep -q '^  $verb '"
done
t "options of --help fit 60 columns" bash -c "! COLUMNS=60 '$ASSAY' profile --help | grep -v '^  assay ' | grep -E '.{61}'"
t "the overview fits 80 columns" bash -c "! '$ASSAY' --help | grep -E '.{81}'"
t "and says first what to type first" bash -c "'$ASSAY' --help | head -4 | grep -q 'assay profile mlp-small'"
t "help of an unknown verb" refuses 2 "no verb 'prifile' (did you mean profile?)" help prifile

# --- Sentences ---
for verb in profile run plan export; do
    t "$verb says what it needs" refuses 2 "$verb needs a MODEL, for example mlp-small" $verb
done
for verb in report wiring baseline runs completion; do
    t "$verb says what it needs" refuses 2 "$verb needs " $verb
done
bad() { # the sentence about a bad command line names assay once, and no word before a colon twice
    "$ASSAY" "$@" >bad.out 2>bad.err </dev/null
    local code=$?
    cat bad.err
    [ $code = 2 ] && [ "$(wc -l <bad.err)" = 1 ] && grep -q '^assay: ' bad.err && ! grep -qE '(^|[ :])([a-z-]+):? \2: ' bad.err && ! grep -q 'something is missing' bad.err
}
for verb in $verbs; do
    t "$verb with an unknown option" bad "$verb" --nosuch
    t "$verb with a good option without its value" bad "$verb" --json
    for arguments in "nosuch" "nosuch.onnx" "a b c d" "mlp-small --batch 0" "--suite nosuch.txt" "matmul --sizes 4xx" "mlp-small --device moon" \
        "mlp-small --devices moon" "--baseline nosuch --store no.db" "nosuch --store /nowhere/x.db" "show" "rm" "mlp-small --json /nowhere/x.json --runs 5 --roofs off"; do
        case "$verb $arguments" in
        "doctor "*|"version "*|"devices "*|"noise "*|"selftest "*) [ "$arguments" = nosuch ] || continue ;; # the rest is an option of others, refused above
        "report a b c d"|"runs "*|"baseline "*|"list "*|"history "*|"completion "*) ;;
        esac
        "$ASSAY" $verb $arguments >bad.out 2>bad.err </dev/null && continue # not bad for this verb
        t "$verb $arguments: a sentence without a doubled prefix" bash -c "cat bad.err; ! tail -1 bad.err | grep -qE '(^|[ :])([a-z-]+):? \2: ' && tail -1 bad.err | grep -q '^assay: '"
    done
done

# --- Other names ---
"$ASSAY" list aliases | awk '$NF == "option" {print $1, $2}' >options
while read -r alias option; do
    verb=$("$ASSAY" list options | awk -v o="${option#--}" '$2 == o {print $1; exit}')
    t "$alias is $option" bash -c "'$ASSAY' $verb $option 2>one; '$ASSAY' $verb $alias 2>two; sed 's/$alias/$option/' two | cmp - one"
done <options
t "there are other names of options" [ "$(wc -l <options)" -gt 5 ]
t "--batch-size is read" says "f32[2,10]" run mlp-small --batch-size 2
t "--num-runs is read" assay profile mlp-small --roofs off --num-runs 20 --store none
t "help shows other names as a note" says "Other names: --batch-size (--batch)" run --help
t "bench multiply is bench elementwise:mul" says "elementwise/mul" bench multiply --sizes 4x4 --devices null --runs 5 --store none
t "elementwise:multiply is elementwise:mul" says "elementwise/mul" bench elementwise:multiply --sizes 4x4 --devices null --runs 5 --store none
gpu() { # either it says which GPU it took, or that there is none
    "$ASSAY" run mlp-small --device gpu >g.out 2>g.err
    case $? in
    0) grep -q '^assay: gpu is ' g.err ;;
    2) grep -q 'no GPU that assay can use' g.err ;;
    *) return 1 ;;
    esac
}
t "--device gpu" gpu
t "gpu in a list" bash -c "'$ASSAY' bench softmax --sizes 4x4 --devices cpu,gpu --runs 5 --store none 2>&1 | grep -qE 'gpu is |no GPU'"
t "gpu in --vary" bash -c "'$ASSAY' compare mlp-small --vary device=null,gpu --budget 50ms --store none 2>&1 | grep -qE 'gpu is |no GPU'"

# --- Characters ---
is_ascii() { ! LC_ALL=C grep -q '[^ -~	]' "$1"; }
text() { env -u LC_ALL -u LC_CTYPE -u LANG "$@" "$ASSAY" report r.json >text.out; }
text LC_ALL=C.UTF-8
t "a UTF-8 locale has signs" bash -c "! (LC_ALL=C grep -q '^[ -~]*\$' text.out && ! LC_ALL=C grep -q '[^ -~]' text.out)"
for locale in LC_ALL=C LC_CTYPE=POSIX LANG=en_US.ISO-8859-1 NOTHING=1; do
    text $locale
    t "$locale gives ASCII" is_ascii text.out
done
text LC_ALL=C LANG=en_US.UTF-8
t "LC_ALL comes before LANG" is_ascii text.out
text LANG=de_DE.utf8
t "utf8 is UTF-8" bash -c "LC_ALL=C grep -q '[^ -~]' text.out"
t "a mark has its likeness" bash -c "LC_ALL=C '$ASSAY' report r.json | grep -qE '^ *(\[ok\]|!|x|-) '"
t "JSON on standard output stays as it is" bash -c "LC_ALL=C '$ASSAY' report r.json --json - | cmp - r.json"
t "a file stays as it is" bash -c "LC_ALL=C '$ASSAY' report r.json --html c.html && LC_ALL=C.UTF-8 '$ASSAY' report r.json --html u.html && cmp c.html u.html"

# --- Readers that leave, with every verb.  The pipe has no reader at all when the verb begins to write. ---
if has_store; then
    "$ASSAY" profile mlp-small --roofs off --runs 20 --store s.db >/dev/null
    speaker 100000 told
    "$ASSAY" baseline save main --bin ./told --budget 50ms --store s.db >/dev/null
fi
left() { # code args...: with a reader that has gone
    local code=$1
    shift
    { sleep 0.1; "$ASSAY" "$@"; echo $? >left.code; } 2>left.err </dev/null | true
    cat left.err
    [ "$(cat left.code)" = "$code" ] && ! grep -qv '^wrote ' left.err
}
line() { # what a verb is tried with
    case $1 in
    run|plan) echo mlp-small ;;
    profile) echo mlp-small $quick ;;
    train) echo mlp:sizes=2x8x4 --data synthetic:spirals,n=64 --steps 3 --store none ;;
    tune) echo mlp:sizes=2x8x4 --threads 1,2 ;;
    report) echo r.json ;;
    export) echo mlp-small --onnx left.onnx ;;
    wiring) echo autoncp:units=8,out=2 ;;
    bench) echo mlp-small --devices null --runs 5 --store none ;;
    compare) echo mlp-small --devices null:gemm=5us,null:gemm=9us --budget 50ms --store none ;;
    baseline) echo list --store s.db ;;
    check) echo --baseline main --budget 50ms --store s.db ;;
    history|noise) echo --store s.db $([ $1 = history ] || echo --budget 100ms) ;;
    runs) echo list --store s.db ;;
    selftest) echo --arm compute ;;
    completion) echo bash ;;
    record) echo --store none -- true ;;
    esac
}
for verb in $verbs; do
    if [ $verb = record ] && ! "$ASSAY" record --store none --quiet -- true 2>/dev/null; then continue; fi # nothing can be recorded here
    case $verb in baseline|check|history|runs|noise) has_store || continue ;; esac
    t "a reader that leaves $verb is no error" left 0 $verb $(line $verb)
    if "$ASSAY" list options | awk '{print $1, $2}' | grep -qx "$verb json" && [ $verb != selftest ]; then
        t "nor is one that leaves $verb --json -" left 0 $verb $(line $verb) --json -
    fi
    t "nor of its help" left 0 $verb --help
done
t "nor of the overview" left 0 --help
t "a full disk is an error" bash -c "[ ! -e /dev/full ] || { '$ASSAY' list >/dev/full; [ \$? = 2 ]; }"

# --- On the way ---
t "the suite of patterns is a suite" assay bench --suite "$root/suites/patterns.txt" --devices null --runs 3 --store none
t "a wired CfC with a backbone names its cure" refuses 2 "semantics=enhanced" run cfc:input=4,wiring=autoncp,units=16,out=2,backbone_layers=2
t "and the cure helps" assay run cfc:input=4,wiring=autoncp,units=16,out=2,backbone_layers=2,semantics=enhanced
if has_store; then
    t "a baseline of bench:matmul is saved" says "saved baseline w: 1 case" baseline save w bench:matmul --sizes 16x16 --devices null --budget 50ms
    t "the folder of the store is not for git" grep -qx '\*' .assay/.gitignore
    t "a file that was emptied stays so" bash -c ": >.assay/.gitignore; '$ASSAY' profile mlp-small --roofs off --runs 5 >/dev/null && [ ! -s .assay/.gitignore ]"
fi
finish
