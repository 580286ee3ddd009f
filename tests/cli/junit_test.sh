# junit_test.sh - the JUnit of a check, read by an XML reader that is not ours: it is well formed, and its counts are those of its elements.
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 2
if ! has_store || ! python3 -c 'import xml.etree.ElementTree' 2>/dev/null; then
    echo "skipped: the JUnit needs SQLite to be made, and python3 to be read"
    exit
fi
cat >read.py <<'EOF'
import sys
import xml.etree.ElementTree as tree
want = dict(word.split("=") for word in sys.argv[2:])
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites", root.tag
suites = root.findall("testsuite")
cases = [case for suite in suites for case in suite.findall("testcase")]
found = {"tests": len(cases)}
for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
    found[key] = sum(case.find(tag) is not None for case in cases)
for key, count in found.items():
    told = [int(suite.get(key)) for suite in suites]
    assert sum(told) == count, (key, told, count)
    assert root.get(key, str(count)) == str(count), (key, root.get(key), count)
    assert count == int(want[key]), (key, count, want[key])
for case in cases:
    assert case.get("name") and case.get("classname", "").startswith("assay."), case.attrib
    assert float(case.get("time")) >= 0, case.attrib
    assert len([c for c in case if c.tag in ("failure", "error", "skipped")]) <= 1
    for what in case:
        assert what.tag == "system-out" or what.get("message"), what.tag
for kind in set(c.tag for case in cases for c in case):
    assert kind in ("failure", "error", "skipped", "system-out"), kind
print(*(case.get("name") for case in cases), sep="\n")
EOF
junit() { # code "counts" args...
    local code=$1 counts=$2
    shift 2
    "$ASSAY" check --baseline main --progress never --output-format junit --output-file c.xml "$@"
    local got=$?
    [ $got = "$code" ] || { echo "exit code $got, expected $code"; return 1; }
    python3 read.py c.xml $counts >names || { cat c.xml; return 1; }
}
nasty='<&">]]>'
for name in same slower dies "$nasty"; do speaker 100000 "$name"; done
t "four programs are saved" says "4 cases" baseline save main --bin ./same --bin ./slower --bin ./dies --bin "'./$nasty'" --budget 100ms
t "all pass" junit 0 "tests=4 failures=0 errors=0 skipped=0" --budget 20s
t "a name full of XML comes back as it was" grep -qF "./$nasty" names
speaker 120000 slower
t "a regression is a failure" junit 1 "tests=4 failures=1 errors=0 skipped=0" --budget 20s
printf '#!/bin/sh\nprintf "out of <paper> & \\001\\033[1m \\377\\376 ]]> \\"ink\\"\\n" >&2\nexit 7\n' >dies
t "one that dies with bytes that XML forbids is an error" junit 1 "tests=4 failures=1 errors=1 skipped=0" --budget 20s
for name in same slower dies "$nasty"; do speaker 90000 "$name"; done
t "what cannot be decided is skipped" junit 0 "tests=4 failures=0 errors=0 skipped=4" --budget 1ms --alpha 0.000001
finish
