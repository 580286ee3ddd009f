# league_test.sh - candidates that learn, from the command line: one screen, files, what is refused.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
net=mlp:sizes=2x16x3
data="--data synthetic:spirals,n=96,seed=2 --store none"
sure="--vary optimizer=sgd:lr=1e-6,momentum=0.5,adam:lr=1e-2 --steps 60 --batch 16 --seeds 4"

fits_screen() { [ "$(wc -l <"$1")" -le 25 ] && ! perl -CSD -ne 'chomp; print if length > 80' "$1" | grep -q .; }
screen() {
    "$ASSAY" compare $net $data $sure --val 25% >screen.out || return 1
    for word in "adam:lr=1e-2 ends with the lowest validation loss" "4 seeds" accuracy "CPU time" "ends lower than sgd:lr=1e-6,momentum=0.5 by"; do
        grep -qF -- "$word" screen.out || { echo "missing: $word"; cat screen.out; return 1; }
    done
    fits_screen screen.out
}
t "one screen: candidates, curves, verdict" screen
twelve() {
    "$ASSAY" compare $net $data --steps 8 --seeds 2 --vary \
        optimizer=sgd,adam,adamw,rmsprop,adagrad,adadelta,nadam,sgd:lr=0.1,momentum=0.9,nesterov=1,sgd:lr=0.2,sgd:lr=0.3,sgd:lr=0.4,sgd:lr=0.5 >twelve.out || return 1
    fits_screen twelve.out && grep -q "sgd:lr=0.5" twelve.out
}
t "twelve candidates fit one screen" twelve
t "without --val the training loss decides" says "adam:lr=1e-2 ends with the lowest training loss." compare $net $data $sure
t "the detailed report has every run" bash -c "'$ASSAY' compare $net $data $sure --report detailed | grep -A40 'Runs' | grep -c '^ *adam:lr=1e-2  *[1-4] ' | grep -qx 4"
page() {
    "$ASSAY" compare $net $data $sure --html p.html --json p.json >/dev/null || return 1
    grep -q "Loss against updates" p.html && grep -q "Loss against time" p.html && grep -q '"step.1"' p.json && says "ends with the lowest" report p.json
}
t "the page has both curves, and the JSON makes the same report" page
t "values may be given one by one" says "adam:lr=1e-2 ends with the lowest" compare $net $data --vary optimizer=sgd:lr=1e-6 --vary optimizer=adam:lr=1e-2 --steps 60 --batch 16 --seeds 4
t "batch sizes" says "batch=8" compare $net $data --vary batch=8,32 --epochs 2 --seeds 2
t "schedules" says "warmup 5 > cosine" compare $net $data --vary "schedule=constant,warmup 5 > cosine" --steps 20 --seeds 2
t "threads change no bit" says "All end with the same training loss." compare $net $data --vary threads=1,2 --steps 10 --seeds 2
t "another key is refused" refuses 2 "candidates that learn differ in" compare $net $data --vary lr=1,2
t "one value is refused" refuses 2 "has one value" compare $net $data --vary optimizer=adam
t "no values are refused" refuses 2 "needs candidates" compare $net $data
t "an optimiser that there is not" refuses 2 "unknown optimiser" compare $net $data --vary optimizer=adam,foo
t "one seed is refused" refuses 2 "seeds" compare $net $data --vary optimizer=adam,sgd --seeds 1
t "an option of the timed comparison is refused" refuses 2 "--budget does not apply" compare $net $data --vary optimizer=adam,sgd --budget 1s
t "and one of training in a timed comparison" refuses 2 "--steps does not apply" compare mlp-small --vary threads=1,2 --steps 3
finish
