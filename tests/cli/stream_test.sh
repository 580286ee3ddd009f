# stream_test.sh - samples in, answers out, one by one: the same numbers as a whole sequence, the state carried, deadlines told.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
net=cfc:input=3,units=6,backbone_units=5
wired=cfc:input=3,wiring=autoncp,units=12,out=2,mixed_memory=1
liquid=ltc:input=3,wiring=autoncp,units=12,out=2
# A sequence of our own, by a network's outputs: 40 steps of 3 numbers.
"$ASSAY" run mlp:sizes=4x3 --batch 40 --output x.npy >/dev/null || exit 2
floats() { tail -c "$2" "$1"; } # the last bytes of an npy file are its numbers
floats x.npy 480 >x.f32
csv_of() { od -An -v -t f4 "$1" | awk -v n="$2" '{ for (i = 1; i <= NF; i++) printf "%s%s", $i, ++k % n ? "," : "\n" }'; } # raw floats, numbers a line
csv_of x.f32 3 >x.csv
seq 40 | awk '{printf "%.9g\n", 0.1 + ($1 % 7) / 4}' >spans.csv
paste -d, x.csv spans.csv >x_spans.csv
close_to() { # two files of numbers, largest difference
    paste -d, "$1" "$2" | awk -F, -v most="$3" '{ n = NF / 2; if (NF % 2) exit 1; for (i = 1; i <= n; i++) { d = $i - $(i + n); if (d < 0) d = -d; if (!(d <= most)) exit 1 } } END { if (!NR) exit 1 }'
}

same_as_whole() { # model columns: a stream gives the numbers of the whole sequence
    "$ASSAY" run "$1" --input x.npy --output y.npy --state-out h.npy || return 1
    "$ASSAY" run "$1" --stream --rate 1000 --state-out hs.npy <x.csv >y.csv || return 1
    floats y.npy $((40 * 4 * $2)) >y.f32
    csv_of y.f32 "$2" >want.csv
    [ "$(wc -l <y.csv)" = 40 ] && close_to y.csv want.csv 2e-6 || return 1
    floats h.npy $((4 * $3)) >h.f32
    floats hs.npy $((4 * $3)) >hs.f32
    csv_of h.f32 "$3" >h.csv
    csv_of hs.f32 "$3" >hs.csv
    close_to h.csv hs.csv 2e-6
}
t "a stream gives the answers of the whole sequence" same_as_whole $net 6 6
t "a wired one with mixed memory too" same_as_whole $wired 2 12
t "an LTC too" same_as_whole $liquid 2 12
t "a network without a state answers too" bash -c "'$ASSAY' run mlp:sizes=3x5 --stream <x.csv 2>/dev/null | wc -l | grep -qx 40"
t "two streams joined by their state give the same as one" bash -c "
    '$ASSAY' run $net --stream <x.csv >one.csv 2>/dev/null &&
    head -15 x.csv | '$ASSAY' run $net --stream --state-out h15.npy >two.csv 2>/dev/null &&
    tail -n +16 x.csv | '$ASSAY' run $net --stream --state-in h15.npy >>two.csv 2>/dev/null && cmp one.csv two.csv"
t "both parts of a state are carried over" bash -c "
    '$ASSAY' run $wired --stream <x.csv >one.csv 2>/dev/null &&
    head -15 x.csv | '$ASSAY' run $wired --stream --state-out h15.npy --state-out c_n=c15.npy >two.csv 2>/dev/null &&
    tail -n +16 x.csv | '$ASSAY' run $wired --stream --state-in h15.npy --state-in c0=c15.npy >>two.csv 2>/dev/null && cmp one.csv two.csv"

t "raw floats in give raw floats out, the same numbers" bash -c "
    '$ASSAY' run $net --stream --format f32 <x.f32 >y.f32 2>/dev/null && '$ASSAY' run $net --stream <x.csv >y.csv 2>/dev/null &&
    [ \$(wc -c <y.f32) = 960 ]"
csv_of y.f32 6 >raw.csv
t "to the bit but for their decimals" close_to raw.csv y.csv 2e-6

# Time spans: the last column, against a file of spans for the whole sequence.
t "time spans come in the last column" bash -c "'$ASSAY' run $net --stream --timespans stdin <x_spans.csv >ys.csv 2>/dev/null && [ \$(wc -l <ys.csv) = 40 ] && ! cmp -s ys.csv y.csv"
sed 's/$/,1/' x.csv >x_ones.csv
# Within rounding: without spans the fused kernel adds its two time heads once.
t "spans of 1 are no spans" bash -c "'$ASSAY' run $net --stream --timespans stdin <x_ones.csv 2>/dev/null >y_ones.csv; paste -d, y_ones.csv y.csv | awk -F, 'NF < 2 || NF % 2 { exit 1 } { for (i = 1; i <= NF / 2; i++) { d = \$i - \$(i + NF / 2); if (d > 1e-5 || d < -1e-5) exit 1 } n++ } END { if (n != 40) exit 1 }'"

# The same for a whole sequence, from files: 20 pairs of 0.5 and 2.
npy() { printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': $1, }"; cat; } # shape, then raw numbers
pairs() { for i in $(seq "$1"); do printf '\000\000\000\077\000\000\000\100'; done; }
pairs 20 | npy '(40,)' >ts.npy
pairs 20 | npy '(1, 40)' >ts_batch.npy
pairs 20 | npy '(1, 40, 1)' >ts_last.npy
npy '(1, 40, 3)' <x.f32 >x_batch.npy
awk '{print $0 (NR % 2 ? ",0.5" : ",2")}' x.csv >x_pairs.csv
spans_agree() { # model columns
    "$ASSAY" run "$1" --input x.npy --timespans ts.npy --output y.npy && "$ASSAY" run "$1" --stream --timespans stdin <x_pairs.csv >y.csv || return 1
    floats y.npy $((160 * $2)) >y.f32
    csv_of y.f32 "$2" >want.csv
    close_to y.csv want.csv 2e-6
}
t "spans of a file and of a stream agree" spans_agree $net 6
t "for an LTC too" spans_agree $liquid 2
t "one sequence without a batch axis gives answers without one" bash -c "'$ASSAY' run $net --input x.npy --timespans ts.npy | grep -qE 'y +f32\\[40,6]'"
t "one with a batch axis gives one" bash -c "'$ASSAY' run $net --input x_batch.npy --timespans ts_batch.npy | grep -qE 'y +f32\\[1,40,6]'"
t "the numbers are the same" bash -c "'$ASSAY' run $net --input x.npy --timespans ts.npy --output a.npy && '$ASSAY' run $net --input x_batch.npy --timespans ts_last.npy --output b.npy &&
    tail -c 960 a.npy >a && tail -c 960 b.npy | cmp - a"
t "weights, time spans and the state in one command" bash -c "'$ASSAY' export $net --seed 9 --safetensors w.safetensors &&
    '$ASSAY' run $net --weights w.safetensors --input x.npy --timespans ts.npy --output y9.npy --state-out h9.npy &&
    '$ASSAY' run $net --seed 9 --input x.npy --timespans ts.npy --output z9.npy && cmp y9.npy z9.npy && tail -c 24 y9.npy >a && tail -c 24 h9.npy | cmp - a"
pairs 8 | npy '(16,)' >ts16.npy
t "time spans of another length are refused" refuses 2 "timespans" run $net --input x.npy --timespans ts16.npy
printf '\000\000\200\277' | npy '(1,)' >minus.npy
t "negative ones too" refuses 2 "time span 0 is -1, but must be 0 or more" run $net --seq 1 --timespans minus.npy
t "--seq sets the length of random input" bash -c "'$ASSAY' run $net --seq 9 | grep -qE 'y +f32\\[1,9,6]'"
t "--seq against a file is refused" refuses 2 "x.npy" run $net --seq 9 --input x.npy

t "each sample is answered before the next one comes" bash -c "
    mkfifo in out; '$ASSAY' run $net --stream <in >out 2>/dev/null & exec 3>in 4<out
    for i in 1 2 3; do echo 1,2,\$i >&3; read -r -t 20 answer <&4 || exit 1; [ -n \"\$answer\" ] || exit 1; done
    exec 3>&-; wait"
t "the last line needs no newline, and \\r is none of its business" bash -c "printf '1,2,3\r\n 4 , 5,6' | '$ASSAY' run $net --stream 2>/dev/null | wc -l | grep -qx 2"
t "no sample is no failure" bash -c "'$ASSAY' run $net --stream </dev/null 2>err | wc -c | grep -qx 0 && grep -q 'stream: 0 answers' err"

report() { "$ASSAY" run $net --stream --rate 1000 --json s.json <"$1" >/dev/null 2>err; }
t "a report of 40 answers" report x.csv
t "tells the deadline misses" grep -qE 'deadline misses +[0-9]+ of 40 answers later than 1.00 ms' err
t "shows the median" grep -qE 'latency p50 +[0-9]' err
t "and says why not p99" grep -q 'latency p99 .*n/a: needs 662 values, there are 40' err
t "and not p99.9" grep -q 'latency p99.9 .*n/a: needs 66.. values' err
t "as JSON with a schema" grep -q '"schema": "assay.stream/1"' s.json
t "where every metric has its kind" bash -c "[ \$(grep -o '\"kind\"' s.json | wc -l) = 11 ] && grep -q '\"reason\": \"needs 662 values' s.json"
for i in $(seq 20); do cat x.csv; done >x800.csv
t "800 answers support p99" bash -c "'$ASSAY' run $net --stream <x800.csv 2>&1 >/dev/null | grep -qE 'latency p99 +[0-9.]+ [num]?s'"
t "on a device that takes 5 ms a deadline of 1 ms is missed, 40 times" bash -c "
    '$ASSAY' run mlp:sizes=3x5 --device null:gemm=5ms --stream --deadline 1ms <x.csv 2>&1 >/dev/null | grep -q '40 of 40 answers later than 1.00 ms'"
t "and one of 6 ms never" bash -c "
    '$ASSAY' run mlp:sizes=3x5 --device null:gemm=5ms --stream --deadline 6ms <x.csv 2>&1 >/dev/null | grep -q '0 of 40 answers later than 6.00 ms'"

bad() { # "words" file args...: exit 2, the sentence last, the answers before it kept
    local words=$1 file=$2 n=$3
    shift 3
    "$ASSAY" run $net --stream "$@" <"$file" >bad.out 2>bad.err
    local code=$?
    tail -1 bad.err
    [ $code = 2 ] && tail -1 bad.err | grep -qF -- "$words" && [ "$(wc -l <bad.out)" = "$n" ]
}
head -3 x.csv >b1.csv; echo '1,2' >>b1.csv
t "a short line is named" bad "line 4: it has 2 numbers; expected 3" b1.csv 3
head -3 x.csv >b2.csv; echo '1,2,3,4' >>b2.csv
t "so is a long one" bad "line 4: it has 4 numbers" b2.csv 3
printf '1,2,3\n\n' >b3.csv
t "so is an empty one" bad "line 2: it has 0 numbers" b3.csv 1
printf '1,zwei,3\n' >b4.csv
t "so is a word" bad "line 1: number 2 is 'zwei', which is not a number" b4.csv 0
printf '1,2,nan\n' >b5.csv
t "so is what is not finite" bad "line 1: number 3 is 'nan'" b5.csv 0
printf '1,2,3\0,4\n' >b6.csv
t "so is a line with a zero byte" bad "line 1:" b6.csv 0
head -c 200000 /dev/zero | tr '\0' 1 >b7.csv
t "so is a line without an end" bad "line 1: it has more than" b7.csv 0
printf '1,2,3,-1\n' >b8.csv
t "a negative time span is refused" bad "its time span is -1" b8.csv 0 --timespans stdin
head -c 18 x.f32 >b9.f32
t "half a raw sample is refused" bad "sample 2: the input ends after 6 of its 12 bytes" b9.f32 0 --format f32

t "a reader that goes away is told, not died of" bash -c "
    mkfifo gone; head -1 <gone >/dev/null & { yes 1,2,3 | head -200000; } | { '$ASSAY' run $net --stream >gone 2>err2; echo \$? >code; }; wait
    grep -qx 2 code && grep -q 'cannot write the answer' err2"
t "an interrupt keeps the answers and the report" bash -c "
    mkfifo slow; '$ASSAY' run $net --stream <slow >kept.csv 2>kept.err & pid=\$!; exec 5>slow; echo 1,2,3 >&5
    for i in \$(seq 100); do [ -s kept.csv ] && break; sleep 0.1; done
    kill -INT \$pid; wait \$pid; code=\$?; exec 5>&-
    [ \$code = 0 ] && [ \$(wc -l <kept.csv) = 1 ] && grep -q '1 answer, then interrupted' kept.err"

t "--batch 2 is refused" refuses 2 "--batch must be 1" run $net --stream --batch 2
t "--output is refused" refuses 2 "answers on standard output" run $net --stream --output y.npy
t "--json - is refused" refuses 2 "give a file" run $net --stream --json -
t "a deadline of nothing is refused" refuses 2 "--deadline 0s: must be more than 0" run $net --stream --deadline 0s
t "--rate needs --stream" refuses 2 "--rate is for --stream" run $net --rate 5
t "--timespans stdin needs --stream" refuses 2 "--timespans stdin is for --stream" run $net --timespans stdin
t "--timespans FILE is for the whole" refuses 2 "(--timespans stdin)" run $net --stream --timespans h.npy
t "--input of the sample is refused" refuses 2 "from standard input" run $net --stream --input x.npy
t "--state-in needs a state" refuses 2 "has no state input" run mlp-small --state-in h.npy
t "--state-out needs one too" refuses 2 "has no state output" run mlp-small --state-out h2.npy
t "--timespans needs the input" refuses 2 "has no input \`timespans\`" run mlp-small --timespans h.npy
t "--seq needs the dimension" refuses 2 "the sequence length of the model 'mlp-small' is fixed" run mlp-small --seq 3
t "a state of another size is refused" refuses 2 "h0" run cfc:input=3,units=9,backbone_units=5 --state-in h15.npy
finish
