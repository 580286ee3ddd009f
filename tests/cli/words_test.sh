#!/bin/bash
# words_test.sh - the program prints the words of docs/words.md and no others.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null 2>&1 || { finish; exit; }

finds() { # "word" "C text": the tool refuses it and names the word
    printf '%s\n' "$2" >"$dir/said.c"
    ! tools/words "$dir/said.c" >"$dir/said.out" && grep -qF -- "\"$1\"" "$dir/said.out"
}
passes() { printf '%s\n' "$1" >"$dir/said.c"; tools/words "$dir/said.c"; }

t "no text of the program has a word that the glossary forbids" tools/words
t "a forbidden word is found" finds "stationary" 'say("the run is stationary");'
t "across the lines of a string" finds "slow truth" $'say("by the slow "\n    "truth");'
t "in the label of a column" finds "arm" '"choice|arm",'
t "and \"is no\"" finds "is no number" 'say("%s is no number");'
t "and \"a\" for \"per\"" finds "ns a span" 'say("30 ns a span");'
t "a key is left alone" passes 'key("roofs"); key("arm%d|%s"); key("books.wall");'
t "and a comment" passes '/* the arm of a trial */ say("a candidate");'
finish
