# onnx_hostile_test.sh - ONNX files that lie: each gets exit code 2 and one sentence, within 2 GB of address space.
. "$(dirname "$0")/lib.sh"

# A build with a sanitiser reserves more address space than that before it starts, and is left alone.
if (ulimit -v 2000000 && "$ASSAY" list verbs) >"$dir/limit" 2>&1; then ulimit -v 2000000; fi

# --- Protobuf in hex -----------------------------------------------------------------------------------------
# Each function leaves its bytes in $hex.

varint() { # number (negative: as 64 bits)
    local n=$1 left=10
    hex=
    while [ $left -gt 1 ] && { [ "$n" -lt 0 ] || [ "$n" -gt 127 ]; }; do
        printf -v hex '%s%02x' "$hex" $(((n & 127) | 128))
        n=$(((n >> 7) & 0x1ffffffffffffff))
        left=$((left - 1))
    done
    printf -v hex '%s%02x' "$hex" "$n"
}
whole() { # field number
    local tag
    varint $(($1 << 3)) && tag=$hex
    varint "$2"
    hex=$tag$hex
}
bytes() { # field hex
    local payload=$2 tag
    varint $(($1 << 3 | 2)) && tag=$hex
    varint $((${#payload} / 2))
    hex=$tag$hex$payload
}
text() { # field text
    local i out= byte
    for ((i = 0; i < ${#2}; i++)); do
        printf -v byte '%02x' "'${2:i:1}"
        out+=$byte
    done
    bytes "$1" "$out"
}
node() { # op in out [attributes in hex]
    local all=
    [ -z "$2" ] || { text 1 "$2" && all+=$hex; }
    text 2 "$3" && all+=$hex
    text 4 "$1" && all+=$hex
    bytes 1 "$all${4-}"
}
value() { # field name size...: f32
    local field=$1 name=$2 shape= dim all
    shift 2
    for dim; do
        whole 1 "$dim" && bytes 1 "$hex" && shape+=$hex
    done
    bytes 2 "$shape" && all=$hex
    whole 1 1 && bytes 1 "$hex$all" && bytes 2 "$hex" && all=$hex
    text 1 "$name" && bytes "$field" "$hex$all"
}
model() { # file graph-in-hex
    local opset graph
    whole 2 17 && bytes 8 "$hex" && opset=$hex
    bytes 7 "$2" && graph=$hex
    printf '%b' "$(sed 's/../\\x&/g' <<<"$opset$graph")" >"$dir/$1"
}
huge=$((1 << 40))

# --- The files ------------------------------------------------------------------------------------------------

value 11 x 3 && x=$hex
value 12 y && y=$hex
node Relu x y && relu=$hex
model fine.onnx "$x$relu$y"
t "a file made here is read" assay run "$dir/fine.onnx"

node Relu b a && one=$hex
node Relu a y && node Relu a b && two=$hex
node Relu b y && model cycle.onnx "$one$two$hex$y"
t "a cycle" refuses 2 "cycle" run "$dir/cycle.onnx"

value 11 x "$huge" "$huge" && model shape.onnx "$hex$relu$y"
t "an input of 2^80 elements" refuses 2 "too large" run "$dir/shape.onnx"
value 11 x "$huge" && model shape.onnx "$hex$relu$y"
t "an input of 2^40 elements" refuses 2 "shape.onnx" run "$dir/shape.onnx"

tensor() { # size [more fields in hex]: an initialiser w of f32
    local all
    whole 1 "$1" && all=$hex
    whole 2 1 && all+=$hex
    text 8 w && bytes 5 "$all$hex${2-}"
}
node Relu w y && of_w=$hex
tensor "$huge" && model weights.onnx "$hex$of_w$y"
t "weights of 2^40 elements that are not there" refuses 2 "needs 1099511627776 values and its list has 0" run "$dir/weights.onnx"
tensor -1 && model weights.onnx "$hex$of_w$y"
t "weights of -1 elements" refuses 2 "negative" run "$dir/weights.onnx"
text 9 abcd && tensor 3 "$hex" && model weights.onnx "$hex$of_w$y"
t "weights with too few bytes" refuses 2 "needs 12 bytes and raw_data has 4" run "$dir/weights.onnx"

# A constant of one i64, 2^40, as the shape of something.
whole 1 1 && all=$hex
whole 2 7 && all+=$hex
whole 7 "$huge" && all+=$hex
text 8 s && bytes 5 "$all$hex" && shape=$hex
node ConstantOfShape s y && model made.onnx "$shape$hex$y"
t "a constant of 2^40 elements that the file asks for" refuses 2 "made.onnx" run "$dir/made.onnx"
text 1 x && pair=$hex
text 1 s && pair+=$hex
text 2 y && pair+=$hex
value 11 x 1 && all=$hex
text 4 Expand && bytes 1 "$pair$hex" && model wide.onnx "$shape$all$hex$y"
t "an Expand to 2^40 elements" refuses 2 "wide.onnx" run "$dir/wide.onnx"

attribute() { # name type value-in-hex
    local all=$3
    whole 20 "$2" && all+=$hex
    text 1 "$1" && bytes 5 "$all$hex"
}
whole 3 1 && attribute axis 1 "$hex" && node Flatten x y "$hex" && model attr.onnx "$x$hex$y"
t "an attribute that says FLOAT and holds an INT" refuses 2 "says it is FLOAT and holds INT" run "$dir/attr.onnx"
whole 3 1 && attribute axis 99 "$hex" && node Flatten x y "$hex" && model attr.onnx "$x$hex$y"
t "an attribute of no type that there is" refuses 2 "unknown type 99" run "$dir/attr.onnx"
text 4 one && attribute axis 3 "$hex" && node Flatten x y "$hex" && model attr.onnx "$x$hex$y"
t "an attribute of a type that the operator does not take" refuses 2 "axis" run "$dir/attr.onnx"
bytes 3 01 && attribute axis 2 "$hex" && node Flatten x y "$hex" && model attr.onnx "$x$hex$y"
t "an attribute whose bytes are not of its type" refuses 2 "its bytes are not of its type" run "$dir/attr.onnx"

external() { # location
    local entry
    text 1 location && entry=$hex
    text 2 "$1" && bytes 13 "$entry$hex" && entry=$hex
    whole 14 1 && tensor 2 "$entry$hex" && model external.onnx "$hex$of_w$y"
}
mkdir "$dir/inside"
printf 'abcdefgh' >"$dir/secret"
for location in ../secret /etc/passwd a/../../secret ..; do
    external "$location" && mv "$dir/external.onnx" "$dir/inside/"
    t "external data at $location" refuses 2 "must be a file below the model's directory" run "$dir/inside/external.onnx"
done

# Every operator is known, and one is used as no run allows it: x has one axis, and so no axis 7.
text 1 axis && attr=$hex
whole 3 7 && attr+=$hex
whole 20 2 && bytes 5 "$attr$hex"
node Softmax x y "$hex" && model axis.onnx "$x$hex$y"
t "a known operator with an axis that is not there" refuses 2 "axis 7 is outside" run "$dir/axis.onnx"
t "list ops --onnx says that run would refuse it, and why" says "axis 7 is outside" list ops --onnx "$dir/axis.onnx"

# Graphs inside graphs: If in If in If, each the then_branch of the one around it.
inner=$relu
for ((i = 0; i < 600; i++)); do
    bytes 6 "$inner"
    attribute then_branch 5 "$hex"
    node If x y "$hex"
    inner=$hex
done
model deep.onnx "$x$inner$y"
t "600 graphs inside each other" refuses 2 "deep.onnx" run "$dir/deep.onnx"
t "600 graphs inside each other, listed" bash -c "'$ASSAY' list ops --onnx '$dir/deep.onnx' >'$dir/l' 2>&1; [ \$? -le 2 ]"
head -c 200000 /dev/zero | tr '\0' '\013' >"$dir/groups.onnx"
t "200000 groups inside each other" refuses 2 "a field is a group" run "$dir/groups.onnx"
head -c 200000 /dev/zero | tr '\0' '\377' >"$dir/ones.onnx"
t "a number without an end" refuses 2 "ones.onnx" run "$dir/ones.onnx"
printf '\072\377\377\377\377\377\377\377\377\377\001' >"$dir/length.onnx"
t "a length of 2^64" refuses 2 "longer than what is left" run "$dir/length.onnx"

# Bytes that change one by one: an answer or a sentence, nothing else.
"$ASSAY" export mlp:sizes=4x3x2 --onnx "$dir/small.onnx"
size=$(wc -c <"$dir/small.onnx")
answers() { # file
    "$ASSAY" run "$1" --batch 1 >"$dir/f.out" 2>"$dir/f.err"
    local code=$?
    [ $code = 0 ] || { [ $code = 2 ] && [ "$(wc -l <"$dir/f.err")" = 1 ]; }
}
mutants() { # byte in octal
    local at
    for ((at = 0; at < size; at += 11)); do
        { head -c "$at" "$dir/small.onnx" && printf "\\$1" && tail -c +$((at + 2)) "$dir/small.onnx"; } >"$dir/mutant.onnx"
        answers "$dir/mutant.onnx" || { echo "byte $at of $size as \\$1: $(cat "$dir/f.err")"; return 1; }
    done
}
cuts() {
    local at
    for ((at = 0; at < size; at += 13)); do
        head -c "$at" "$dir/small.onnx" >"$dir/cut.onnx"
        "$ASSAY" run "$dir/cut.onnx" >"$dir/f.out" 2>"$dir/f.err"
        [ $? = 2 ] && [ "$(wc -l <"$dir/f.err")" = 1 ] || { echo "cut at $at of $size: $(cat "$dir/f.err")"; return 1; }
    done
}
t "every eleventh byte as 0" mutants 000
t "every eleventh byte as 255" mutants 377
t "every eleventh byte as 127" mutants 177
t "a file cut anywhere" cuts
finish
