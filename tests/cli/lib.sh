# lib.sh - the small helpers of the command-line tests.  A test is a sentence and a command that must succeed.
set -u
: "${ASSAY:?ASSAY must name the program}"
passed=0 failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export ASSAY_CACHE_DIR="$dir/cache" # roofs are measured once a script at most, and the user's own are left alone

t() { # "sentence" command...
    local name=$1
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
has_store() { ! "$ASSAY" runs list --store "$dir/no.db" 2>&1 | grep -q "built without SQLite"; }
# A program that speaks the line protocol and tells how long a call takes instead of taking it: verdicts about it are certain.
speaker() { # NS FILE
    printf '#!/bin/sh\necho "assay-arm 1 told by=wall"\nwhile read -r word warm calls n; do\n    case $word in\n' >"$2.new"
    printf '    block) i=0 line="ok 0"; while [ $i -lt "$n" ]; do line="$line %s -" i=$((i + 1)); done; echo "$line" ;;\n' "$1" >>"$2.new"
    printf '    hash) echo ok 0 ;;\n    end) exit ;;\n    *) echo ok ;;\n    esac\ndone\n' >>"$2.new"
    chmod +x "$2.new"
    mv "$2.new" "$2"
}
finish() { echo "$passed passed, $failed failed"; [ $failed = 0 ]; }
