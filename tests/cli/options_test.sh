# options_test.sh - no option is inert: every option of every verb is given once, and the program fails when nobody read it.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
"$ASSAY" run mlp:sizes=10x784 --batch 2 --output x.npy || exit 2
"$ASSAY" profile mlp-small --roofs off --runs 50 --json run.json >/dev/null || exit 2

arguments() { # the rest of a command line that works for a verb
    case $1 in
    run) echo "mlp-small" ;;
    plan) echo "mlp-small" ;;
    profile) echo "mlp-small --roofs off --runs 50" ;;
    report) echo "run.json" ;;
    list) echo "ops" ;;
    export) echo "mlp-small --onnx out.onnx" ;;
    wiring) echo "autoncp:units=8,out=2" ;;
    esac
}
"$ASSAY" list options >rows
while read -r verb option value example _; do
    case $verb-$option in
    *-seq) t "$verb --$option is read" assay $verb $(arguments $verb | sed 's/mlp-small/cfc:input=3,units=4/') --seq 3; continue ;;
    *-timespans) t "$verb --$option is read" refuses 2 "ts.npy" $verb cfc:input=3,units=4 --timespans ts.npy; continue ;;
    run-state-in) t "$verb --$option is read" refuses 2 "h.npy" run cfc:input=3,units=4 --state-in h.npy; continue ;;
    run-state-out) t "$verb --$option is read" assay run cfc:input=3,units=4 --state-out h2.npy; continue ;;
    run-stream) t "$verb --$option is read" bash -c "'$ASSAY' run mlp-small --stream </dev/null"; continue ;;
    run-rate|run-deadline|run-format) t "$verb --$option is read" bash -c "'$ASSAY' run mlp-small --stream --$option $example </dev/null"; continue ;;
    export-c|export-name|export-libm) t "$verb --$option is read" assay export cfc:input=3,units=4 --c out --$option "$example"; continue ;;
    wiring-input) t "$verb --$option is read" assay $verb $(arguments $verb) --input 3; continue ;;
    wiring-crc) t "$verb --$option is read" assay $verb $(arguments $verb) --crc; continue ;;
    esac
    case $option in
    text|winograd) t "$verb --$option is read" assay $verb $(arguments $verb) --$option; continue ;;
    onnx)
        case $verb in
        list) t "$verb --$option is read" refuses 2 "m.onnx" list ops --onnx m.onnx ;;
        *) t "$verb --$option is read" assay $verb mlp-small --onnx m2.onnx ;;
        esac
        continue ;;
    weights) t "$verb --$option is read" refuses 2 "w.safetensors" $verb $(arguments $verb) --weights w.safetensors; continue ;;
    dim) t "$verb --$option is read" assay $verb $(arguments $verb) --dim batch=3; continue ;;
    time) t "$verb --$option is read" assay $verb mlp-small --roofs off --time 50ms; continue ;;
    runs) t "$verb --$option is read" assay $verb mlp-small --roofs off --runs 50; continue ;;
    roofs) t "$verb --$option is read" assay $verb mlp-small --runs 50 --roofs off; continue ;;
    measure) continue ;; # takes seconds: roofs_test.sh gives it, and would fail too if nobody read it
    esac
    t "$verb --$option is read" assay $verb $(arguments $verb) --$option "$example"
done <rows
t "there are options to test" [ "$(wc -l <rows)" -gt 20 ]
finish
