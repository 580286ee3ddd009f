# names_test.sh - a run is called by its file, layers by their modules, and reports are folded by them.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
mkdir nets
node() { printf '{"op":"%s","name":"%s","module":"%s","in":[%s],"out":["%s"]}' "$@"; }
{
    printf '{"format":"assay.model/1","name":"main_graph","inputs":[{"name":"x","dtype":"f32","shape":[8,64]}],"params":['
    printf '{"name":"w","dtype":"f32","shape":[64,64],"random":{"fan_in":64}}],"nodes":['
    node MatMul encoder.layers.0.attention.query encoder.layers.0.attention.query '"x","w"' a; printf ,
    node Relu 'encoder.layers.0 (Relu)' encoder.layers.0 '"a"' b; printf ,
    node MatMul encoder.layers.1.attention.query encoder.layers.1.attention.query '"b","w"' c; printf ,
    node Softmax 'head (Softmax)' head '"c"' y
    printf '],"outputs":["y"]}'
} >nets/my.json
t "a network with modules goes to ONNX" assay export nets/my.json --onnx nets/my-net.onnx
t "a plan is called by its file" says "my-net.onnx  " plan nets/my-net.onnx
t "and so is a run, whose layers have their modules" assay profile nets/my-net.onnx --roofs off --runs 60 --trace t.trace --json p.json
"$ASSAY" report p.json --report detailed >text 2>&1
t "the title is the file's name" bash -c "head -1 text | grep -q '^my-net.onnx, cpu'"
t "the graph's own name is not the title" bash -c "! head -1 text | grep -q main_graph"
t "layers are called by their modules" grep -qF 'encoder.layers.0.attention.query' p.json
t "a built-in network is called as it was asked for" says "mlp:sizes=4x3  " plan mlp:sizes=4x3
t "modules survive export and import" bash -c "'$ASSAY' plan nets/my-net.onnx --json - | grep -q '\"module\": *\"encoder.layers.1.attention.query\"'"
t "the whole report has the table of modules" grep -q 'Modules, folded at depth' text
t "a trace is folded to the depth that is asked for" says "Modules, folded at depth 2" report t.trace --by module:2 --report detailed
"$ASSAY" report t.trace --by module:2 --sections layers >folded
t "and its rows are the modules" bash -c "grep -qE '^  encoder.layers +[0-9]' folded && ! grep -q 'Steps of a run' folded"
t "the first screen is folded, too" bash -c "'$ASSAY' report t.trace --by module:2 | grep -qE '^  encoder.layers +█'"
t "run JSON is folded, too" says "Modules, folded at depth 1" report p.json --by module:1 --report detailed
t "profile folds" says "Modules, folded at depth 3" profile nets/my-net.onnx --roofs off --runs 60 --by module:3 --report detailed
t "a page has the tree of modules" bash -c "'$ASSAY' report t.trace --html t.html && grep -q 'data-l=\"encoder.layers.0\"' t.html"
t "without modules it says so" says "No layer of this run has a module path" profile mlp-small --roofs off --runs 60 --by module --report detailed
t "another way to fold is refused" refuses 2 "--by layer: expected module, or module:N" report t.trace --by layer
t "a depth of 0 is refused" refuses 2 "N from 1 to 100" report t.trace --by module:0
t "names in a narrow table stay different" bash -c "[ \"\$('$ASSAY' report t.trace --sections layers | grep -oE '^  [^ ]*query\\S*' | sort -u | wc -l)\" -ge 2 ]"
finish
