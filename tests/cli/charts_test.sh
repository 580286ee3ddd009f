# charts_test.sh - charts of real reports: well-formed SVG in pages, characters in text, points in CSV, and nobody draws but writers.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

# Every <svg> of a page, read by a real XML parser, says its title and its sentence; at least so many of them.
svgs() { # page least
    python3 - "$1" "$2" <<'P'
import re, sys, xml.etree.ElementTree as tree
page = open(sys.argv[1], encoding="utf-8").read()
found = re.findall(r"<svg\b.*?</svg>", page, re.S)
assert len(found) >= int(sys.argv[2]), f"{len(found)} charts"
for svg in found:
    root = tree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg" and root.get("aria-label"), svg[:200]
    assert root.find(space + "desc").text, svg[:200]
    for node in root.iter():
        for name, value in node.attrib.items():
            assert "nan" not in value.split() and "inf" not in value.split(), (node.tag, name, value)
P
}

cd "$dir" || exit 2
assay profile cnn-small --batch 8 --runs 100 --html p.html --csv p.csv --json p.json --report detailed >p.out 2>p.err || cat p.err
t "the charts of a profile are well-formed" svgs p.html 7
t "the samples of a profile are in the CSV, with their kind" grep -qE '^1,latency,samples\[0\]\.y,.*,ns,measured,' p.csv
t "what the table of layers holds is not there twice" bash -c "! grep -q ',bars\[' p.csv"
t "text draws bars and a strip" bash -c "grep -q '█' p.out && grep -q 'The samples in the order taken' p.out"
t "text leaves the roofline to its table" bash -c "! grep -q 'Each layer below the limits' p.out"
t "text draws the roofline for who asks for it" says "Each layer below the limits" report p.json --sections roofline
t "no line of a chart is wider than its terminal" bash -c "'$ASSAY' report p.json --sections roofline,layers,latency,memory | python3 -c 'import sys; assert all(len(l.rstrip(\"\\n\")) <= 100 for l in sys.stdin)'"
t "Markdown draws what no table holds" bash -c "'$ASSAY' report p.json --markdown p.md && grep -q '^    .*█' p.md && ! grep -q '<svg' p.md"
assay compare mlp-small --vary threads=1,2 --vary batch=1,2 --budget 200ms --html c.html --csv c.csv >c.out 2>c.err || cat c.err
t "the charts of a comparison are well-formed" svgs c.html 2
t "the lines of a sweep are in the CSV" grep -qE '^1,sweep,ratio\.1\[0\]\.y,' c.csv
assay bench matmul elementwise --sizes 64x64 --budget 100ms --html b.html >b.out 2>b.err || cat b.err
t "the charts of a bench are well-formed" svgs b.html 2
assay wiring autoncp:units=12,out=3 --input 4 --svg w.svg >w.out 2>w.err || cat w.err
t "the picture of a wiring is well-formed" python3 -c 'import xml.etree.ElementTree as t; t.parse("w.svg")'

# A section that draws is refused: the same check on a tree with one planted.
mkdir -p plant/tools plant/src/report/section plant/src/report/writer
cp "$root/tools/arrows" plant/tools/
echo '#include "report/chart/svg.h"' >plant/src/report/writer/wr_x.c
t "a writer may draw" bash plant/tools/arrows
echo '#include "report/chart/svg.h"' >plant/src/report/section/sec_x.c
t "a section that draws is refused" bash -c "! bash plant/tools/arrows >a.out && grep -q 'sec_x.c:1: draws, which only writers do' a.out"

# Nor may another room see what is private, or one keep a door that nobody uses.
rm -r plant/src
mkdir -p plant/src/trace plant/src/analysis
touch plant/src/trace/format.h plant/src/trace/limit.h
echo '#include "trace/limit.h"' >plant/src/analysis/an_x.c
t "a door is open" bash plant/tools/arrows
echo '#include "trace/format.h"' >plant/src/analysis/an_y.c
t "a private header is not" bash -c "! bash plant/tools/arrows >a.out && grep -q 'an_y.c:1: trace/format.h is private to trace: include trace/{trace.h,.*limit.h' a.out"
rm plant/src/analysis/*
t "a door that nobody uses is none" bash -c "! bash plant/tools/arrows >a.out && grep -q 'nobody outside of trace includes limit.h' a.out"
finish
