# export_traces_test.sh - traces in other tools' formats, from every verb that has one; tests/viewers reads the files with other people's readers.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
net="null:gemm=5us"
"$ASSAY" profile mlp-small --device $net --runs 50 --roofs off --store s.db --trace t.trace --quiet 2>/dev/null || exit 2

all_of() { # command...: writes every format, and each is there
    rm -f o.*
    "$ASSAY" "$@" --chrome o.chrome --perfetto o.perfetto --speedscope o.speedscope --folded o.folded --pprof o.pprof \
        --callgrind o.callgrind --openmetrics o.openmetrics --prometheus o.prometheus >/dev/null 2>said || { cat said; return 1; }
    for f in chrome perfetto speedscope folded pprof callgrind openmetrics prometheus; do
        [ -s o.$f ] || { echo "o.$f is not there"; return 1; }
        grep -q "^wrote o.$f" said || { echo "o.$f is not named"; cat said; return 1; }
    done
    ! ls .*.tmp* 2>/dev/null
}
t "profile writes every format" all_of profile mlp-small --device $net --runs 20 --roofs off --store none
t "bench writes every format" all_of bench mlp-small --devices $net --runs 5 --warmup 1 --store none
t "compare writes every format" all_of compare mlp-small --devices null:gemm=5us,null:gemm=9us --budget 50ms --store none
t "report writes every format of a trace" all_of report t.trace
if "$ASSAY" runs list --store s.db 2>/dev/null | grep -q mlp-small; then
    t "report writes every format of a stored run" all_of report 1 --store s.db
fi
t "report writes several traces into one file" all_of report t.trace t.trace

suffix() { # FILE WORDS: -o finds the format by the suffix of the file
    rm -f "$1"
    "$ASSAY" report t.trace -o "$1" && grep -qa -- "$2" "$1"
}
t "-o x.chrome.json is a Chrome trace" suffix x.chrome.json traceEvents
t "-o x.speedscope.json is for speedscope" suffix x.speedscope.json '"exporter"'
t "-o x.json is still the report" suffix x.json assay.run/1
t "-o x.folded is folded stacks" suffix x.folded 'run;'
t "-o x.callgrind is callgrind's format" suffix x.callgrind 'events: ns flops bytes'
t "-o x.prom is Prometheus text" suffix x.prom '# TYPE'
t "-o x.openmetrics ends as OpenMetrics does" suffix x.openmetrics '^# EOF'
t "-o x.pftrace is for Perfetto" suffix x.pftrace 'network'
t "-o x.pb.gz is for pprof" suffix x.pb.gz 'nanoseconds'

partial() { # the line that names a file says which runs it holds
    "$ASSAY" profile mlp-small --device $net --runs 5000 --roofs off --store none --chrome p.chrome --folded p.folded >/dev/null 2>said &&
        grep -q '^wrote p.chrome: [0-9]* of 5000 runs' said && grep -q '^wrote p.folded: sums of [0-9]* of 5000 runs' said || { cat said; return 1; }
}
t "what a file does not hold is said" partial
to_stdout() { "$ASSAY" report t.trace --folded - | grep -v '^[^ ].* [0-9][0-9]*$' | head -3 >rest; [ ! -s rest ] || { cat rest; return 1; }; }
t "--folded - prints stacks and nothing else" to_stdout
same() { # all runs of a small trace are there anyway
    "$ASSAY" report t.trace --chrome a.chrome 2>/dev/null && "$ASSAY" report t.trace --chrome b.chrome --export-all 2>/dev/null && cmp a.chrome b.chrome
}
t "--export-all of a small trace is the same" same

t "--export-all alone is refused" refuses 2 "none of them is given" report t.trace --export-all
"$ASSAY" report t.trace --json r.json 2>/dev/null
t "a profile's JSON has no trace" refuses 2 "r.json holds no trace to export" report r.json --chrome c.json
t "and nothing is written" test ! -e c.json
t "a directory that is not there is refused before anything is measured" refuses 2 "--perfetto" profile mlp-small --perfetto no/such/dir/x
finish
