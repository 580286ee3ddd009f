# manners_test.sh - outputs checked before work, what was written is named, Ctrl-C answers, the budget is kept, children end with their parent.
. "$(dirname "$0")/lib.sh"
set -m # background jobs take SIGINT as a program in the foreground does
cd "$dir" || exit 2
mkdir folder

# --- Outputs ---
for verb in "profile mlp-small --time 30s" "bench matmul --sizes 64x64 --budget 30s" "compare mlp-small --vary threads=1,2 --budget 30s" "noise --budget 60s"; do
    for option in json html csv markdown; do
        t "${verb%% *} --$option: a directory that is not there is refused before anything is measured" \
            refuses 2 "--$option none/x cannot be written: the directory none does not exist" $verb --store none --$option none/x
    done
    t "${verb%% *}: a directory is refused as an output" refuses 2 "--json folder cannot be written: it is a directory" $verb --store none --json folder
    t "${verb%% *}: a store that cannot be made is refused" refuses 2 "none/runs.db cannot be written" $verb --store none/runs.db
done
t "profile --trace is checked first" refuses 2 "--trace none/x cannot be written" profile mlp-small --time 30s --store none --trace none/x
t "check --output-file is checked first" refuses 2 "--output-file none/x cannot be written" check --baseline b --output-file none/x
t "run --output is checked first" refuses 2 "--output none/y.npy cannot be written" run mlp-small --output none/y.npy
t "run --output NAME=FILE is checked first" refuses 2 "none/y.npy cannot be written" run mlp-small --output probs=none/y.npy
t "plan --json is checked first" refuses 2 "--json none/x cannot be written" plan mlp-small --json none/x
t "export --onnx is checked first" refuses 2 "--onnx none/x cannot be written" export mlp-small --onnx none/x
t "export --c is checked first" refuses 2 "--c none/x/y cannot be written" export cfc:units=4,out=2 --c none/x/y
t "wiring --svg is checked first" refuses 2 "--svg none/x cannot be written" wiring autoncp:units=16,out=4 --svg none/x
t "devices --json is checked first" refuses 2 "--json none/x cannot be written" devices --json none/x
t "selftest --json is checked first" refuses 2 "--json none/x cannot be written" selftest --stats --json none/x
t "a check of outputs leaves nothing behind" test "$(ls -A | grep -vE '^(folder|cache|[tr]\.(out|err))$')" = ""
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 555 locked
    t "a directory without permission is refused" refuses 2 "no file can be made in the directory locked" profile mlp-small --store none --html locked/x
fi
wrote() { # FILE args...: standard error says that it was written
    local file=$1
    shift
    assay "$@" >/dev/null 2>err && grep -qx "wrote $file" err
}
t "profile says that it wrote the page" wrote x.html profile mlp-small --time 50ms --roofs off --store none --html x.html
t "and says so when it replaces it" wrote x.html profile mlp-small --time 50ms --roofs off --store none --html x.html
t "the trace is named" wrote x.trace profile mlp-small --time 50ms --roofs off --store none --trace x.trace
t "plan names its JSON" wrote p.json plan mlp-small --json p.json
t "run names what it wrote" wrote y.npy run mlp-small --output y.npy
t "export names what it wrote" wrote m.onnx export mlp-small --onnx m.onnx
quiet() { assay plan mlp-small --json - >/dev/null 2>err && [ ! -s err ]; }
t "standard output is not named" quiet

# --- -q: the answer and nothing else ---
null="--device null:gemm=5us --runs 20 --store none"
one_line() { # WORDS args...: one line with the words, and nothing on standard error
    local words=$1
    shift
    "$ASSAY" "$@" -q >out 2>err || { cat out err; return 1; }
    [ "$(wc -l <out)" = 1 ] && grep -qE -- "$words" out && [ ! -s err ] || { cat out err; return 1; }
}
t "profile -q tells the latency, and writes the page" one_line '^mlp-small: Latency 11.0 us, ' profile mlp-small $null --html q.html
t "the page is there" test -s q.html
t "compare -q tells who won" one_line ' is 1.18x slower than ' compare mlp-small --devices null:gemm=5us,null:gemm=6us --budget 100ms --store none
t "bench -q tells the time" one_line 'Time ' bench matmul:size=8x8 --runs 20 --store none
t "noise -q tells what can be seen" one_line 'This machine can' noise --budget 600ms --store none
t "plan -q tells the memory" one_line '^mlp-small: Memory ' plan mlp-small
t "devices -q counts them" one_line 'devices can be used' devices
t "doctor -q counts, too" one_line 'can be measured here' doctor
t "version -q is the version" bash -c "'$ASSAY' version --quiet | head -1 | grep -qx 'assay [0-9.]*'"
t "run -q is the values" bash -c "'$ASSAY' run mlp:sizes=2x3 -q 2>err | sed -n 2p | grep -qE '^ +-?[0-9.e-]+ ' && [ ! -s err ]"
t "list -q has no hints" bash -c "'$ASSAY' list -q | grep -q kernels && ! '$ASSAY' list -q | grep -q -- --json"
t "a form that was asked for is whole" bash -c "'$ASSAY' plan mlp-small -q --json - | grep -q assay.plan/1 && [ \$('$ASSAY' plan mlp-small -q --report detailed | wc -l) -gt 20 ]"
t "export -q says nothing" bash -c "'$ASSAY' export mlp-small --onnx q.onnx -q >out 2>&1 && [ ! -s out ] && [ -s q.onnx ]"
t "errors stay" refuses 2 "nosuch" plan nosuch -q
if has_store; then
    t "baseline save -q" one_line '^saved baseline b' baseline save b mlp-small --devices null:gemm=5us --store q.db
    t "check -q is the verdict" one_line '^PASS: ' check --baseline b --budget 100ms --store q.db
    t "runs verify -q" one_line 'is whole' runs verify --store q.db
    t "report -q" one_line 'Latency|PASS' report 2 --store q.db
fi

# --- The store first ---
if has_store; then
    kept() { # VERB...: its report fails, and the run is in the store all the same
        rm -f kept.db
        assay "$@" --store kept.db --csv /dev/full >/dev/null 2>err
        [ $? = 2 ] || { cat err; return 1; }
        [ "$(assay runs list --store kept.db --json - | grep -c '"id"')" = 1 ]
    }
    if [ -w /dev/full ]; then
        t "a profile whose report cannot be written is stored" kept profile mlp-small --time 50ms --roofs off
        t "a benchmark whose report cannot be written is stored" kept bench elementwise:add --sizes 64x64 --budget 50ms
        t "a comparison whose report cannot be written is stored" kept compare mlp-small --vary compile=on,off --budget 100ms
    fi
fi

# --- Stopping ---
# Tests that run under nohup inherit that SIGHUP is ignored, and assay rightly leaves it so.
anew=
env --default-signal=HUP true 2>/dev/null && anew="env --default-signal=HUP"
stops() { # SIGNAL DELAY args...: exit code 5, one clean line, soon
    local signal=$1 delay=$2 code waited=0
    shift 2
    $anew "$ASSAY" "$@" >out 2>err &
    local pid=$!
    sleep "$delay"
    kill -"$signal" $pid 2>/dev/null
    while kill -0 $pid 2>/dev/null && [ $waited -lt 50 ]; do sleep 0.1; waited=$((waited + 1)); done
    [ $waited -lt 50 ] || { kill -KILL $pid; wait $pid; echo "still there after 5 s"; return 1; }
    wait $pid
    code=$?
    [ $code = 5 ] || { echo "exit code $code"; cat err; return 1; }
    grep -vE ', about [0-9]+ (s|min)( in all)?$|: stopping after what is under way|^wrote ' err >line # of a long call, and on a machine that is busy
    [ "$(wc -l <line)" = 1 ] && grep -qE '^assay: stopped[: ]' line || { cat err; return 1; }
    ! grep -q "$(printf '\r')" err
}
for delay in 0.2 0.$((RANDOM % 9 + 1)) 1.$((RANDOM % 10)); do
    t "profile stops after $delay s" stops INT $delay profile cnn-small --time 30s --roofs off --store none
    t "measuring limits stops after $delay s" stops INT $delay profile mlp-small --time 30s --roofs measure --store none
    t "compare stops after $delay s" stops INT $delay compare cnn-small --vary batch=1,16 --runs 1000000 --budget 30s --store none
    t "bench stops after $delay s" stops INT $delay bench matmul --sizes 256x256 --budget 30s --store none
    t "noise stops after $delay s" stops INT $delay noise --budget 60s --store none
    t "selftest stops after $delay s" stops INT $delay selftest --stats --cells compute
done
t "SIGTERM stops as Ctrl-C does" stops TERM 0.5 profile cnn-small --time 30s --roofs off --store none
t "SIGHUP stops as Ctrl-C does" stops HUP 0.5 compare cnn-small --vary batch=1,2 --runs 1000000 --budget 30s --store none
t "an operator in the slow reference stops" stops INT 0.5 run cnn-small --batch 4096 --device null:graph,truth
counted() { stops INT 1 profile mlp-small --runs 1000000000 --roofs off --store none && grep -qE 'stopped: [0-9]+ of 1000000000 runs are kept' err && grep -q mlp-small out; }
t "a profile that was stopped says how many runs it keeps, and reports them" counted
if has_store; then
    stored() { stops INT 1 profile mlp-small --time 30s --roofs off --store s.db && assay runs list --store s.db | grep -q partial; }
    t "what was measured until then is in the store, as partial" stored
fi
tidy() { mkdir -p tidy && stops INT 0.5 profile cnn-small --time 30s --roofs off --store none --html tidy/x.html --json tidy/x.json && ! ls -A tidy | grep -q tmp; }
t "no temporary file is left" tidy
orphans() { # the child of a comparison ends when its parent is killed
    "$ASSAY" compare cnn-small --vary batch=1,2 --runs 1000000 --budget 30s --store none >/dev/null 2>&1 &
    local pid=$! child="" waited=0
    while [ -z "$child" ] && [ $waited -lt 50 ]; do
        sleep 0.1
        waited=$((waited + 1))
        child=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
    done
    [ -n "$child" ] || { kill -KILL $pid; return 1; }
    kill -KILL $pid
    wait $pid 2>/dev/null
    waited=0
    while kill -0 $child 2>/dev/null && [ $waited -lt 50 ]; do sleep 0.1; waited=$((waited + 1)); done
    [ $waited -lt 50 ]
}
[ "$(uname)" != Linux ] || t "children end with their parent, however it ends" orphans

# --- Progress ---
told() { stops INT 1 noise --budget 60s --store none && grep -qE '^assay: .*, about [0-9]+ s in all$' err; }
t "without a terminal one line says what takes long" told
never() { stops INT 1 noise --budget 60s --store none --progress never && [ "$(wc -l <err)" = 1 ]; }
t "--progress never says nothing" never
if script -qec true /dev/null >/dev/null 2>&1; then
    drawn() {
        TERM=xterm script -qec "'$ASSAY' profile mlp-small --time 3s --roofs off --store none" typescript >/dev/null 2>&1
        grep -q 'measuring mlp-small.*s left' typescript && grep -q "$(printf '\r\033\\[K')" typescript
    }
    t "a terminal shows what is done and the time left, and is cleared" drawn
    dumb() { ! TERM=dumb script -qec "'$ASSAY' profile mlp-small --time 3s --roofs off --store none" typescript 2>&1 | grep -q 's left'; }
    t "a dumb terminal shows no bar" dumb
fi

# --- The budget ---
compared() { assay compare cnn-small --vary batch=1,32 --budget 300ms --store none --json - "$@" | tr -d ' \n' | grep -qF "$words"; }
words='of32rows'; t "within a small budget some rows are compared, and the report says how many" compared
words='none:--checkoff'; t "--check off compares nothing, and the report says so" compared --check off

# --- Memory ---
facts() { assay profile mlp-small --time 100ms --roofs off --store none --json m.json 2>/dev/null >&2 && for key in network instrument program rss_peak other; do grep -q "\"memory.$key\"" m.json || return 1; done; }
t "memory of the network and of the instrument are told apart" facts
finish
