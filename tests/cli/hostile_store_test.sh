# hostile_store_test.sh - databases, records and objects that were damaged or forged: one sentence, and nothing is lost.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
if ! has_store; then finish; exit; fi
speaker 100000 prog
mkdir good
"$ASSAY" baseline save main --bin ./prog --budget 100ms --store good/s.db >/dev/null || exit 2
bytes() { # FILE OFFSET 'escaped bytes'
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
damaged() { # "sentence" "words": every verb that opens s.db refuses it and leaves it as it is
    local name=$1 words=$2
    cp s.db before.db
    t "$name: check" refuses 2 "$words" check --baseline main --store s.db
    t "$name: baseline list" refuses 2 "$words" baseline list --store s.db
    t "$name: baseline save" refuses 2 "$words" baseline save other --bin ./prog --budget 50ms --store s.db
    t "$name: runs" refuses 2 "$words" runs list --store s.db
    t "$name: history" refuses 2 "$words" history --store s.db
    t "$name: compare, before it measures" refuses 2 "$words" compare mlp:sizes=8x4 --devices null,null --budget 50ms --store s.db
    t "$name: nothing was written" cmp s.db before.db
}

# --- The database -----------------------------------------------------------------------------------------------------
head -c 100000 /dev/urandom >s.db
damaged "noise" "s.db"
printf 'SQLite format 3\0and then nothing' >s.db
damaged "a header alone" "s.db"
cp good/s.db s.db
bytes s.db 60 '\000\000\000\143'
damaged "a newer schema" "newer"
cp good/s.db s.db
bytes s.db 68 'NOPE'
damaged "another program's" "s.db"
head -c 8192 good/s.db >s.db
damaged "cut off" "s.db"
cp good/s.db s.db
bytes s.db 4100 "$(printf '\\377%.0s' $(seq 300))"
damaged "bytes changed inside" "s.db"
mkdir folder
t "a folder" refuses 2 "folder" baseline list --store folder
: >empty.db
t "an empty file is no store" refuses 2 "is empty" baseline list --store empty.db

# --- The record of a baseline -----------------------------------------------------------------------------------------
forged() { # "sentence" code "words" sed-expression: of the same length
    local name=$1 code=$2 words=$3
    rm -rf forged && cp -r good forged
    LC_ALL=C sed "$4" good/s.db >forged/s.db
    t "$name changes the file" bash -c "! cmp -s good/s.db forged/s.db"
    "$ASSAY" check --baseline main --budget 100ms --store forged/s.db >f.out 2>f.err
    local got=$?
    t "$name has exit code $code" [ $got = "$code" ]
    t "$name is said" grep -qF -- "$words" f.out f.err
}
id=$(ls good/objects | grep -E '^[0-9a-f]{64}$' | head -1)
t "the program is an object by its hash" [ -n "$id" ]
forged "a record of a newer schema" 2 "a newer assay wrote it" 's/assay\.baseline\/1/assay.baseline\/2/'
forged "a record without a command" 2 "its record is damaged" 's/"argv"/"arvg"/'
forged "a record that is no JSON" 2 "main" 's/"cases":/"cases",/'
forged "an id that leads out of the store" 5 "object" "s|$id|../../../../../../../../../../etc/passwd${id:40}|g"

# --- Objects ----------------------------------------------------------------------------------------------------------
checked() { # "words"
    "$ASSAY" check --baseline main --budget 100ms --report detailed --store objects_test/s.db >f.out 2>f.err
    local got=$?
    cat f.out f.err
    [ $got = 5 ] && cat f.out f.err | tr -s " \n" " " | grep -qF -- "$1" && grep -q HasFailures f.out
}
rm -rf objects_test && cp -r good objects_test && rm "objects_test/objects/$id"
t "an object that is gone is said, exit code 5" checked "No such file"
rm -rf objects_test && cp -r good objects_test && chmod u+w "objects_test/objects/$id" && echo "# more" >>"objects_test/objects/$id"
t "an object that was changed is not run" checked "was changed"
rm -rf objects_test && cp -r good objects_test && rm "objects_test/objects/$id" && mkdir "objects_test/objects/$id"
t "an object that is a folder" checked "object"
rm -rf objects_test && cp -r good objects_test
t "and the good one is still good" assay check --baseline main --budget 5s --store objects_test/s.db
finish
