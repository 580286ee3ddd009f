# wiring_test.sh - the reference's wirings through the program; bad ones with a sentence and nothing written.
. "$(dirname "$0")/lib.sh"

crc() { # "line" spec inputs
    local got
    got=$("$ASSAY" wiring "$2" --input "$3" --crc) || return 1
    [ "$got" = "$1" ] || { echo "got '$got', expected '$1'"; return 1; }
}
ncp=ncp:inter=10,command=10,motor=8,sensory_fanout=6,inter_fanout=6,recurrent_command=4,motor_fanin=6
while read -r spec inputs line; do
    t "$spec with $inputs inputs is the reference's" crc "$line" "$spec" "$inputs"
done <<ROWS
full:units=4,out=2 3 16 12 08a5f7ac b96d687d
full:units=32 8 1024 256 8c777f33 229c07c8
random:units=5,out=2,sparsity=0.2,seed=42 3 20 12 19e759ee 098a494f
random:units=50,sparsity=0.5 8 1250 200 9e38f034 ebba553f
random:units=100,sparsity=0.9 8 1000 80 f94b75aa 5ebafd70
$ncp 8 112 48 8b5ea26f 24633dd6
autoncp:units=8,out=2 3 8 6 15ec8840 6027ea3a
autoncp:units=16,out=4 8 28 32 71203084 014f1a85
autoncp:units=28,out=4,sparsity=0.5,seed=22222 20 84 140 cead8a63 8215f2ae
autoncp:units=64,out=16 8 423 112 0b2b9210 fd7d4205
autoncp:units=128,out=32 8 1748 236 cfab09ed 52a7d90b
autoncp:units=50,out=10,sparsity=0.9 8 51 28 bc3898e8 92e64464
ROWS
t "another seed is another wiring" bash -c "[ \"\$('$ASSAY' wiring autoncp:units=16,out=4,seed=1 --crc)\" != \"\$('$ASSAY' wiring autoncp:units=16,out=4,seed=2 --crc)\" ]"

small=autoncp:units=8,out=2
t "wiring --help shows an example" says "example:" wiring --help
t "the text counts neurons by type" says "8 units: 4 inter, 2 command, 2 motor; 3 inputs" wiring $small --input 3
t "the text counts synapses by type and sign" bash -c "'$ASSAY' wiring $small --input 3 | grep -qE 'command -> motor +3 +1 +2 '"
t "the text has components" says "components: 1 weak, 8 strong" wiring $small --input 3
t "the text has paths" says "mean 1.611, max 3" wiring $small --input 3
t "a small wiring is shown synapse by synapse" bash -c "'$ASSAY' wiring $small --input 3 --report detailed | grep -qE '^command 2 +\+ +- +\. +\.'"
t "a large one is not" bash -c "! '$ASSAY' wiring full:units=17 | grep -q 'from . to'"
t "one input is the default, and it says so" says "1 input (--input N for others)" wiring $small
t "a lone neuron has no path" says "no neuron reaches another" wiring full:units=1

cd "$dir" || exit 2
t "JSON, DOT and SVG at once, with the text" says "components" wiring $small --input 3 --json w.json --dot w.dot --svg w.svg
t "the JSON has its schema" grep -q '"schema": "assay.wiring/1"' w.json
t "the JSON has the numbers that follow from the three" grep -q '"sensory_fanout": 2' w.json
t "the DOT has all synapses" bash -c "[ \$(grep -c -- '->' w.dot) = 14 ]"
t "the DOT tells the signs apart" bash -c "[ \$(grep -c 'arrowhead=tee' w.dot) = 10 ]"
t "the SVG has all synapses and two lines of the key" bash -c "[ \$(grep -c '<path class' w.svg) = 16 ]"
t "the SVG has all neurons and inputs" bash -c "[ \$(grep -c '<circle' w.svg) = 11 ]"
t "the SVG asks for nothing from elsewhere" bash -c "! grep -qE '(href|src)=' w.svg"
t "JSON to standard output is JSON alone" bash -c "'$ASSAY' wiring $small --input 3 --json - | head -c 1 | grep -q '{'"
t "the JSON lists synapses with their signs" bash -c "'$ASSAY' wiring $small --input 3 --json - | tr -d ' \n' | grep -qF '\"synapses\":[[2,0,1],[2,1,-1],[3,0,-1],[3,2,1],[4,3,-1],[5,2,-1],[6,2,-1],[7,2,-1]]'"
t "--crc prints exactly one line" bash -c "[ \$('$ASSAY' wiring $small --crc --json c.json | wc -l) = 1 ] && [ -s c.json ]"

# --- Wrong ---
while IFS='|' read -r words rest; do
    t "refused: $rest" refuses 2 "$words" wiring $rest
done <<'ROWS'
did you mean 'autoncp'|autonpc:units=8,out=2
wiring needs a SPEC|
wiring has no use for|full:units=4 full:units=5
'out' is missing|autoncp:units=8
below units-2|autoncp:units=10,out=9
from 0.1 to 1|autoncp:units=10,out=2,sparsity=0
at least 0 and below 1|random:units=10,sparsity=1
given twice|full:units=3,units=3
no key 'size'|full:size=3
must be from 1 to its 3 units|full:units=3,out=4
motor_fanin=9 is more than the 4 command|ncp:inter=4,command=4,motor=4,sensory_fanout=2,inter_fanout=2,recurrent_command=2,motor_fanin=9
sensory_fanout=9 is more than the 4 inter|ncp:inter=4,command=4,motor=4,sensory_fanout=9,inter_fanout=2,recurrent_command=2,motor_fanin=2
inter_fanout=9 is more than the 4 command|ncp:inter=4,command=4,motor=4,sensory_fanout=2,inter_fanout=9,recurrent_command=2,motor_fanin=2
a whole number from 1|full:units=3 --input x.npy
a whole number from 1|full:units=3 --input 0
is given twice|full:units=3 --input 3 --input 4
there must be 1 to|full:units=8192 --input 1000000
standard output takes one|full:units=3 --crc --json -
standard output takes one|full:units=3 --svg - --dot -
ROWS
printf old >old
t "a bad wiring leaves the old files" refuses 2 "units-2" wiring autoncp:units=4,out=4 --json old --svg new.svg
t "a picture too large is refused before anything is written" refuses 2 "at most 20000 synapses" wiring full:units=200 --json old --svg new.svg
t "a file that cannot be opened leaves the others unwritten" refuses 2 "none/w.svg" wiring full:units=3 --json old --dot new.dot --svg none/w.svg
t "the old file is as it was" grep -qx old old
t "nothing new is there" bash -c "[ -z \"\$(ls | grep -E 'new|old.')\" ]"
finish
