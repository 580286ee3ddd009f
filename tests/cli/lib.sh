# lib.sh - the small helpers of the command-line tests.  A test is a sentence and a command that must succeed.
set -u
: "${ASSAY:?ASSAY must name the program}"
passed=0 failed=0
dir=$(mktemp -d)
trap ended EXIT
finished=
ended() { # a script that stops in the middle, at a set-up that failed, is a failure with a name
    rm -rf "$dir"
    if [ -z "$finished" ]; then echo "FAIL cli: a set-up failed after the test: ${last:-none}"; failed=$((failed + 1)); finish; fi
}
export ASSAY_CACHE_DIR="$dir/cache" # roofs are measured once a script at most, and the user's own are left alone
export LC_ALL=C.UTF-8             # what is printed is compared, and a locale that is not UTF-8 has other signs

t() { # "sentence" command...
    local name=$1
    last=$1
    shift
    if "$@" >"$dir/t.out" 2>"$dir/t.err"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL cli: $name"
        echo "     $*" | cut -c1-300
        sed 's/^/     | /' "$dir/t.out" "$dir/t.err" | head -12
    fi
}
assay() { "$ASSAY" "$@"; }
# Runs assay and demands an exit code, exactly one line on standard error that holds the words, and nothing on standard output.
refuses() { # code "words" args...
    local code=$1 words=$2
    shift 2
    "$ASSAY" "$@" >"$dir/r.out" 2>"$dir/r.err"
    local got=$?
    cat "$dir/r.err"
    [ $got = "$code" ] || { echo "exit code $got, expected $code"; return 1; }
    [ "$(wc -l <"$dir/r.err")" = 1 ] || { echo "not one line on standard error"; return 1; }
    grep -qF -- "$words" "$dir/r.err" || { echo "the sentence does not hold: $words"; return 1; }
    [ ! -s "$dir/r.out" ] || { echo "something on standard output"; return 1; }
}
says() { # "words" args...: succeeds and prints the words
    local words=$1
    shift
    "$ASSAY" "$@" >"$dir/s.out" 2>&1 || { cat "$dir/s.out"; return 1; }
    grep -qF -- "$words" "$dir/s.out" || { cat "$dir/s.out"; echo "expected: $words"; return 1; }
}
# Compares what a command prints with tests/golden/text/NAME.txt, and that it fits a screen of 25 lines and 80 columns.  Numbers of
# measurements are masked: "47.5 ms" is "N", a bar is one block, several spaces are two; digits within names stay.  After -e (exact) the
# text is compared as it is: for devices whose times are told.  UPDATE_GOLDEN=1 writes the file anew; look at what changed before you commit it.
golden_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../golden" && pwd)/text
mask() {
    perl -CSD -pe '
        s/[\x{2580}-\x{258f}]+/\x{2588}/g;
        s/\d{4}-\d\d-\d\dT[\d:]+Z/DATE/g;
        s/--budget \d\S*/--budget N/g;
        s/(?<![\w.=:,\/-])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?: (?:[pnum]?s|min|h|[KMGT]iB|B|[kMGT]?(?:FLOP|B)\/s|[kMG])(?![\w\/])|x\b|(?![\w.]))/N/g;
        s/ {2,}/  /g; s/ +$//' | sed "s|$dir|DIR|g"
}
golden() { # [-e] NAME command...
    local exact=no
    [ "$1" != -e ] || { exact=yes; shift; }
    local name=$1 file="$golden_dir/$1.txt"
    shift
    "$@" >"$dir/g.raw" 2>&1 || { cat "$dir/g.raw"; echo "exit code not 0"; return 1; }
    perl -CSD -ne 'chomp; print "line $. has ", length, " columns: $_\n" if length > 80; print "more than 25 lines\n" if $. == 26' "$dir/g.raw" >"$dir/g.wide"
    if [ $exact = yes ]; then cp "$dir/g.raw" "$dir/g.txt"; else mask <"$dir/g.raw" >"$dir/g.txt"; fi
    if [ "${UPDATE_GOLDEN:-}" = 1 ]; then cp "$dir/g.txt" "$file"; fi
    [ ! -s "$dir/g.wide" ] || { cat "$dir/g.wide"; return 1; }
    diff "$file" "$dir/g.txt" || { echo "(< expected, > printed; UPDATE_GOLDEN=1 rewrites $name.txt)"; return 1; }
}
has_store() { ! "$ASSAY" runs list --store "$dir/no.db" 2>&1 | grep -q "built without SQLite"; }
# A program that speaks the line protocol and tells how long a call takes instead of taking it: verdicts about it are certain.
speaker() { # NS FILE [LEDGER]: a program whose times are told, and what it counts, "peak=4096 allocations=0"
    printf '#!/bin/sh\necho "assay-arm 1 told by=wall"\nwhile read -r word warm calls n; do\n    case $word in\n' >"$2.new"
    printf '    block) i=0 line="ok 0"; while [ $i -lt "$n" ]; do line="$line %s -" i=$((i + 1)); done; echo "$line" ;;\n' "$1" >>"$2.new"
    [ -z "${3-}" ] || printf '    ledger) echo "ok %s" ;;\n' "$3" >>"$2.new"
    printf '    hash) echo ok 0 ;;\n    end) exit ;;\n    *) echo ok ;;\n    esac\ndone\n' >>"$2.new"
    chmod +x "$2.new"
    mv "$2.new" "$2"
}
finish() { finished=yes; echo "$passed passed, $failed failed"; [ $failed = 0 ]; }
