# completion_test.sh - what a shell completes, asked of the shell itself.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
touch net.onnx "a file.json"
for shell in bash zsh fish; do
    t "completion $shell prints a script" bash -c "'$ASSAY' completion $shell >$shell.script && [ -s $shell.script ]"
    if command -v $shell >/dev/null; then
        t "$shell takes it" $shell -n $shell.script
    else
        echo "skipped: $shell is not installed"
    fi
done
t "another shell is refused" refuses 2 "'tcsh' is not one of bash, zsh and fish" completion tcsh

# What bash offers after these words, one per line; the last word is the one being typed.
offered() {
    bash --norc --noprofile -c '. ./bash.script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay; printf "%s\n" "${COMPREPLY[@]}"' _ "$@"
}
offers() { # WORD words...
    local word=$1
    shift
    offered "$@" | grep -qxF -- "$word" || { offered "$@" | head -5; return 1; }
}
offers_not() { ! offers "$@"; }
for verb in $("$ASSAY" list verbs | awk '{print $1}') help; do
    t "bash completes the verb $verb" offers "$verb" assay "${verb:0:1}"
    [ "$verb" = help ] || t "bash completes the verb $verb behind help" offers "$verb" assay help ""
done
while read -r verb option _; do
    t "bash completes $verb --$option" offers "--$option" assay "$verb" "--${option:0:2}"
done < <("$ASSAY" list options)
t "not an option of another verb" offers_not --batch assay doctor --
t "a letter" offers -b assay run -
t "a choice" offers critical assay check --fail-on ""
t "a choice behind =" offers critical assay check --fail-on = cr
t "only choices that begin so" offers_not slower assay check --fail-on cr
t "a device" offers gpu assay run mlp-small --device g
t "a model" offers cnn-small assay profile cnn
t "a file where a model is wanted" offers net.onnx assay profile n
t "a file behind an option" offers net.onnx assay list ops --onnx ""
t "a file behind -o" offers "a file.json" assay profile mlp-small -o a
t "a file whose name has a space, whole" offers "a file.json" assay profile mlp-small --json a
t "a word of baseline" offers promote assay baseline pr
t "only as its first" offers_not promote assay baseline save pr
t "nothing behind a number" [ -z "$(offered assay run mlp-small --batch "")" ]

fish_offers() { # WORD line
    fish --no-config -c "source fish.script; complete -C '$2'" | cut -f1 | grep -qxF -- "$1"
}
if command -v fish >/dev/null; then
    t "fish completes a verb" fish_offers profile "assay pro"
    t "fish completes an option" fish_offers --threads "assay run --thr"
    t "fish completes a choice" fish_offers critical "assay check --fail-on cr"
    t "fish completes a model" fish_offers cnn-small "assay profile cnn-"
fi
# A completion widget of zsh wants a terminal: the test gives it one.
if command -v zsh >/dev/null; then
    cat >ask.py <<'P'
import os, pty, select, sys, time
line, want = sys.argv[1], sys.argv[2]
pid, fd = pty.fork()
if not pid:
    os.environ.update(TERM="xterm", ZDOTDIR=os.getcwd(), COLUMNS="200")
    os.execvp("zsh", ["zsh", "-f", "-i"])
seen = b""
def read(until, seconds):
    global seen
    end = time.time() + seconds
    while until not in seen and time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
os.write(fd, b"PS1='READY''> '; fpath=(. $fpath); autoload -U compinit; compinit -u -D; source ./zsh.script 2>/dev/null; compdef _assay assay\n")
read(b"READY> ", 20)
seen = b""
os.write(fd, line.encode() + b"\t")
read(want.encode(), 10)
os.write(fd, b"\x03exit\n")
sys.exit(want.encode() not in seen)
P
    t "zsh completes a verb" python3 ask.py "assay prof" "assay profile"
    t "zsh completes an option" python3 ask.py "assay run --thread" "--threads"
    t "zsh completes a choice" python3 ask.py "assay check --fail-on=crit" "critical"
    t "zsh completes a model" python3 ask.py "assay profile cnn-sm" "cnn-small"
fi
finish
