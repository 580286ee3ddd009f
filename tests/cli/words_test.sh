#!/bin/bash
# words_test.sh - the program, its documents, its man pages and the comments of its code use the words of docs/words.md.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null 2>&1 || { finish; exit; }

finds() { # "word" "C text": the tool refuses it and names the word
    printf '%s\n' "$2" >"$dir/said.c"
    ! tools/words "$dir/said.c" >"$dir/said.out" && grep -qF -- "\"$1\"" "$dir/said.out"
}
passes() { printf '%s\n' "$1" >"$dir/said.c"; tools/words "$dir/said.c"; }
finds_in() { # FILE "place: word" "text": the same in a document or man page
    printf '%s\n' "$3" >"$dir/$1"
    ! tools/words "$dir/$1" >"$dir/said.out" && grep -qF -- "$2" "$dir/said.out"
}
passes_in() { printf '%s\n' "$2" >"$dir/$1"; tools/words "$dir/$1"; }

t "no text of the program, no document and no man page has a word that the glossary forbids" tools/words
t "a forbidden word is found" finds "stationary" 'say("the run is stationary");'
t "across the lines of a string" finds "slow truth" $'say("by the slow "\n    "truth");'
t "in the label of a column" finds "arm" '"choice|arm",'
t "and \"is no\"" finds "is no number" 'say("%s is no number");'
t "and \"a\" for \"per\"" finds "ns a span" 'say("30 ns a span");'
t "a key is left alone" passes 'key("roofs"); key("arm%d|%s"); key("books.wall");'
t "and a name of the code in a comment" passes '/* the arm of a trial, there is no other */ say("a candidate");'
t "but not \"is no\" in a comment" finds "is no number" $'/* what is\n * no number */'
t "nor \"a row a case\"" finds "a row a case" '/* a row a case */'
t "nor the slow truth" finds "slow truth" $'int n; // by the slow truth'

t "a forbidden word is found in a document, with its paragraph" finds_in d.md 'd.md:3: "slow truth"' $'# Title\n\ncompared by the slow\ntruth of it'
t "in a table" finds_in d.md 'd.md:2: "arm"' $'| a | b |\n| an arm | 2 |'
t "and in an item of a list" finds_in d.md 'd.md:2: "stationary"' $'- one\n- the run is stationary'
t "inline code, code blocks and addresses of links are left alone" passes_in d.md \
    $'Set `--roofs off`, see [limits](roofs.md).\n\n    the arm is quiet\n\n```\nbooks\n```'
t "a forbidden word is found in a man page" finds_in m.1 'm.1:2: "is no number"' $'.SH NAME\nthe word\n.I X\nis no number'
t "its options and examples are left alone" passes_in m.1 $'.TP\n.BI --roofs " auto"\nLimits.\n.nf\nassay selftest --arm\n.fi'
finish
