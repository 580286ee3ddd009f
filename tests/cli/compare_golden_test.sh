# compare_golden_test.sh - what compare prints by default: one screen.  On the null device, whose times are told, it is the same to the last digit
# on every machine but for the name of the CPU, which is masked by hand.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
quick="--budget 100ms --store none --progress never"
net=mlp:sizes=8x4
# What the machine did meanwhile is another each time: the paragraph that says so is left out.
calm() { told "$@" | perl -CSD -ne '$in = 1 if /^  [\x{2713}!\x{b7}\x{2717}] /; $in = 0 if /^$/; print unless $in'; }
told() { "$ASSAY" "$@" | sed -E 's/ · [^·]*, [0-9]+ cores?$/ · CPU, N cores/'; }

t "one candidate is slower" golden -e compare_slower told compare $net --devices null:gemm=5us,null:gemm=6us $quick
t "one candidate is faster" golden -e compare_faster told compare $net --devices null:gemm=6us,null:gemm=5us $quick
t "a difference of some percent" golden -e compare_percent told compare $net --devices null:gemm=100us,null:gemm=97us $quick
t "no difference" golden -e compare_same told compare $net --devices null:gemm=5us,null:gemm=5us $quick
t "per item" golden -e compare_items told compare $net --vary batch=1,8 --device null:gemm=5us $quick
t "several candidates" golden -e compare_many told compare $net --vary device=null:gemm=5us,null:gemm=4us,null:gemm=9us $quick
t "more candidates than a screen has room for" golden -e compare_crowd told compare $net --vary batch=1,2,3,4,5,6,7,8,9,10,11,12 --device null:gemm=5us --budget 1s --store none
t "several layers" golden -e compare_layers told compare mlp-small \
    --vary device=null:gemm=5us,relu=2us,null:gemm=3us,relu=1us $quick
t "a candidate with more layers" golden -e compare_other_layers told compare mlp:sizes=8x4x2 mlp:sizes=8x4x4x2 --device null:gemm=5us $quick
t "a sweep that one candidate wins everywhere" golden -e compare_sweep told compare $net --devices null:gemm=5us,null:gemm=9us --vary batch=1,8,32 $quick
t "a sweep of more values than a screen has room for" golden -e compare_long_sweep told compare $net --devices null:gemm=5us,null:gemm=9us \
    --vary batch=1,2,3,4,5,6,7,8,9,10,11,12 $quick
t "a sweep whose winner changes" golden -e compare_winner_changes told compare cfc:input=4,units=8 --vary compile=on,off --vary seq=1,2,8 \
    --device null:cfc=30us $quick # compiled, a sequence is one step; else it is unrolled, and takes longer the longer it is
t "a comparison that cannot tell yet" golden -e compare_unresolved told compare $net --devices null:gemm=100us,null:gemm=101us --budget 1ms \
    --store none --progress never
t "a device that ran a part" golden -e compare_part told compare mlp-small --devices null:graph,null:graph,without=Relu $quick
speaker 5000 ./old
speaker 7000 ./new
t "programs have no layers" golden -e compare_programs calm compare --bin ./old ./new --budget 10s --store none --progress never
fits_screen() { "$@" | perl -CSD -ne 'chomp; exit 1 if length > 80 || $. > 25; $n = $.; END { exit !($n > 8) }'; }
t "on the CPU it fits a screen, too" fits_screen "$ASSAY" compare cnn-small --vary compile=off,on --runs 40 --store none
"$ASSAY" profile mlp-small --device null:gemm=5us,relu=2us --runs 50 --store none --json old.json >/dev/null
"$ASSAY" profile mlp-small --device null:gemm=4us,relu=2us --runs 50 --store none --trace new.trace >/dev/null
t "two profiles side by side" golden compare_profiles "$ASSAY" compare --from old.json new.trace

# --- The same again -----------------------------------------------------------------------------------------------------
"$ASSAY" compare $net --devices null:gemm=5us,null:gemm=6us $quick --json c.json >/dev/null
t "a file tells the layers again" golden -e compare_slower told compare --from c.json
t "the detailed report has the table of layers" says "share of the difference" compare --from c.json --report detailed
t "the page has it, too" bash -c "'$ASSAY' compare --from c.json --html c.html; grep -q 'share of the difference' c.html"
sums() { # FILE: the rows of the table of layers sum to its last row
    tr -d ' \n' <"$1" | grep -oE '"diff":\{.*' | perl -ne '
        my ($rows) = /"rows":\[(.*?)\]\]/ or exit 1;
        my @d = map { [ /"value":(-?[\d.e+-]+|null)/g ] } split /\],\[/, $rows;
        my ($sum, $whole) = (0, pop @d);
        $sum += $_->[2] for @d;
        exit !(@d > 1 && abs($sum - $whole->[2]) < 1e-6 * abs($whole->[2]));'
}
"$ASSAY" compare cnn-small --vary compile=off,on --runs 40 --budget 20s --store none --json s.json >/dev/null
# A busy machine may leave too few undisturbed runs: then that is said, and there is nothing to sum.
t "layers sum to the whole difference, as measured" bash -c "$(declare -f sums); grep -q 'were uninterrupted; 5 are needed' s.json || sums s.json"

# --- Two profiles: what is wrong ----------------------------------------------------------------------------------------
t "a third run" refuses 2 "leave out p.json" compare --from old.json new.trace p.json
t "a comparison is not a profile" refuses 2 "c.json has no times by layer" compare --from old.json c.json
t "a margin means nothing there" refuses 2 "--margin" compare --from old.json new.trace --margin 2%
t "--store with files alone" refuses 2 "--store says where a run is" compare --from old.json new.trace --store s.db
if has_store; then
    "$ASSAY" profile mlp-small --device null:gemm=5us --runs 50 --store r.db >/dev/null
    "$ASSAY" profile mlp-small --device null:gemm=4us --runs 50 --store r.db >/dev/null
    "$ASSAY" compare $net --devices null:gemm=5us,null:gemm=6us --budget 100ms --progress never --store r.db >/dev/null
    t "two stored profiles" says "run 2 is 1.22x faster than run 1" compare --from 1 2 --store r.db
    t "a stored comparison is judged again, layers and all" golden -e compare_slower told compare --from 3 --store r.db
    t "and reported again" golden -e compare_slower told report 3 --store r.db
    t "a run that is not there" refuses 2 "99" compare --from 99 --store r.db
fi
finish
