# options_test.sh - no option is inert: every option of every verb is given once, and the program fails when nobody read it.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
"$ASSAY" run mlp:sizes=10x784 --batch 2 --output x.npy || exit 2
"$ASSAY" profile mlp-small --runs 50 --json run.json >/dev/null || exit 2

arguments() { # the rest of a command line that works for a verb
    case $1 in
    run) echo "mlp-small" ;;
    plan) echo "mlp-small" ;;
    profile) echo "mlp-small --runs 50" ;;
    report) echo "run.json" ;;
    list) echo "ops" ;;
    export) echo "mlp-small --onnx out.onnx" ;;
    esac
}
"$ASSAY" list options >rows
while read -r verb option value example _; do
    case $option in
    text) t "$verb --$option is read" assay $verb $(arguments $verb) --text; continue ;;
    onnx)
        case $verb in
        list) t "$verb --$option is read" refuses 2 "m.onnx" list ops --onnx m.onnx ;;
        *) t "$verb --$option is read" assay $verb mlp-small --onnx m2.onnx ;;
        esac
        continue ;;
    weights) t "$verb --$option is read" refuses 2 "w.safetensors" $verb $(arguments $verb) --weights w.safetensors; continue ;;
    dim) t "$verb --$option is read" assay $verb $(arguments $verb) --dim batch=3; continue ;;
    time) t "$verb --$option is read" assay $verb mlp-small --time 50ms; continue ;;
    runs) t "$verb --$option is read" assay $verb mlp-small --runs 50; continue ;;
    esac
    t "$verb --$option is read" assay $verb $(arguments $verb) --$option "$example"
done <rows
t "there are options to test" [ "$(wc -l <rows)" -gt 20 ]
finish
