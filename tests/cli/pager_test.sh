# pager_test.sh - what assay does on a terminal: a pager for long text, colour, Ctrl-C; each in a terminal of its own.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
command -v python3 >/dev/null || { finish; exit; }
cat >terminal.py <<'P'
# terminal.py ROWS KEYS COMMAND...: runs it in a terminal of ROWS x 80, types KEYS when it has printed something or waits, prints all output;
# exits as the command does.
import os, pty, select, struct, sys, time, fcntl, termios
rows, keys, command = int(sys.argv[1]), sys.argv[2].encode().decode("unicode_escape").encode(), sys.argv[3:]
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    os.execvp(command[0], command)
seen, quiet, end = b"", 0, time.time() + 60
while time.time() < end:
    if select.select([fd], [], [], 0.2)[0]:
        quiet = 0
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    else:
        quiet += 1
        if keys and quiet >= 3:
            os.write(fd, keys[:1])
            keys, quiet = keys[1:], 0
else:
    os.kill(pid, 9)
sys.stdout.buffer.write(seen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
P
unset NO_COLOR LESS PAGER ASSAY_PAGER COLUMNS LINES
export TERM=xterm LC_ALL=C.UTF-8
cat >pager.sh <<'P'
#!/bin/sh
echo PAGED
cat
P
chmod +x pager.sh
on() { python3 terminal.py "$@" >term.out; local code=$?; cat term.out; return $code; } # ROWS KEYS COMMAND...
pages() { on "$@" && grep -q PAGED term.out; }
plain() { on "$@" && ! grep -q PAGED term.out && grep -q "$ASSAY\|verbs:\|profile" term.out; }
export ASSAY_PAGER=./pager.sh
t "long text is paged" pages 24 "" "$ASSAY" list ops
t "all of it" grep -q MaxPool term.out
t "long help is paged" pages 24 "" "$ASSAY" help profile
t "so is the overview" pages 24 "" "$ASSAY" --help
t "text that fits is not" plain 200 "" "$ASSAY" help profile
t "--no-pager" plain 24 "" "$ASSAY" list verbs --no-pager
t "--no-pager of help" plain 24 "" "$ASSAY" help profile --no-pager
t "and behind --help" plain 24 "" "$ASSAY" profile --help --no-pager
t "an empty pager is none" env ASSAY_PAGER= python3 terminal.py 24 "" "$ASSAY" help profile
t "cat is none" env ASSAY_PAGER=cat python3 terminal.py 24 "" "$ASSAY" help profile
t "TERM=dumb has no pager" bash -c "TERM=dumb python3 terminal.py 24 '' '$ASSAY' help profile | grep -v PAGED | grep -q usage"
t "a pager that is not there leaves the text" bash -c "ASSAY_PAGER=./nosuch python3 terminal.py 24 '' '$ASSAY' help profile | grep -q 'What to run'"
unset ASSAY_PAGER
t "PAGER is taken, too" env PAGER=./pager.sh bash -c "python3 terminal.py 24 '' '$ASSAY' help profile | grep -q PAGED"
t "nothing is paged into a pipe" bash -c "ASSAY_PAGER=./pager.sh '$ASSAY' help profile | grep -v PAGED | grep -q usage"
refused() { on 24 "" "$ASSAY" list nosuch; [ $? = 2 ]; }
ASSAY_PAGER=./pager.sh t "the exit code stays right" refused
early() { ASSAY_PAGER='head -1' python3 terminal.py 24 "" "$ASSAY" list kernels >term.out && [ "$(wc -l <term.out)" -lt 4 ]; }
t "a pager that is left early is not an error" early
if command -v less >/dev/null; then
    t "less shows the first screen and q leaves it" on 24 q "$ASSAY" help profile
    t "the text stays on the screen" bash -c "grep -q usage term.out && ! grep -q 'Other names' term.out"
    t "Ctrl-C in the pager ends neither" on 24 '\x03q' "$ASSAY" help profile
fi

# --- Colour and progress ---
esc=$(printf '\033')
coloured() { grep -q "$esc\[" term.out; }
"$ASSAY" profile mlp-small --roofs off --runs 20 --store none --json r.json >/dev/null
export ASSAY_PAGER=cat
on 24 "" "$ASSAY" report r.json >/dev/null
t "a terminal has colour" coloured
NO_COLOR=1 on 24 "" "$ASSAY" report r.json >/dev/null
t "NO_COLOR has none" bash -c "! grep -q '$esc\[' term.out"
TERM=dumb on 24 "" "$ASSAY" report r.json >/dev/null
t "TERM=dumb has none" bash -c "! grep -q '$esc\[' term.out"
TERM=dumb on 24 "" "$ASSAY" profile mlp-small --roofs off --time 300ms --store none >/dev/null
t "nor a carriage return that draws over a line" bash -c "! tr -d '\n' <term.out | sed 's/\r\$//' | grep -q '\r  [a-z].*\[#'"
on 24 "" "$ASSAY" profile mlp-small --roofs off --time 300ms --store none -q >/dev/null
t "-q on a terminal prints its answer in one line, and no progress" bash -c "[ \$(grep -c . term.out) = 1 ] && grep -q '^mlp-small: Latency' term.out"
LC_ALL=C on 24 "" "$ASSAY" report r.json >/dev/null
t "the C locale has ASCII on a terminal, too" bash -c "tr -d '\r\033' <term.out | LC_ALL=C grep -v '[^ -~]' | wc -l | grep -qx \$(wc -l <term.out)"
finish
