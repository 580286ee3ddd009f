"""check.py - judges exported files by other people's readers.  Each check is seen to refuse a planted error first.

usage: check.py DIR [PART-OF-NAME]    DIR holds NAME.FORMAT files, and `sums` with what the made ones must add up to
"""
import glob, gzip, json, os, re, shutil, subprocess, sys
from decimal import Decimal

directory, only = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else '')
sums = {l.split()[0]: [int(x) for x in l.split()[1:]] for l in open(directory + '/sums')}
failed, skipped, passed = [], [], 0


def files(kind):
    return sorted(glob.glob('%s/*.%s' % (directory, kind)))


def name_of(path):
    return os.path.basename(path).rsplit('.', 1)[0]


def planted(path, change):
    """A copy of the file with an error in it."""
    data = open(path, 'rb').read()
    bad = directory + '/planted.' + path.rsplit('.', 1)[1] + '.bad'
    changed = change(data)
    assert changed != data, 'nothing was planted in ' + path
    open(bad, 'wb').write(changed)
    return bad


def judge(what, check, paths, plant):
    """check(path) returns None or what is wrong; plant(path) gives a file that must be refused."""
    global passed
    if only not in what:
        return
    before = len(failed)
    if not paths:
        failed.append('%s: there is no file to read' % what)
    bad = plant()
    if check(bad) is None:
        failed.append('%s: took a planted error' % what)
    for path in paths:
        wrong = check(path)
        if wrong is not None:
            failed.append('%s: %s: %s' % (what, os.path.basename(path), wrong))
    passed += len(failed) == before
    print('%s %s (%d files)' % ('FAIL' if len(failed) > before else 'ok  ', what, len(paths)), flush=True)


def need(what, condition):
    if condition:
        return True
    if only in what:
        skipped.append(what)
        print('SKIPPED %s: it cannot be had here' % what, flush=True)
    return False


def run(*command, data=None):
    p = subprocess.run(command, input=data, capture_output=True, timeout=100)
    return p.returncode, p.stdout.decode('utf-8', 'replace'), p.stderr.decode('utf-8', 'replace')


def total_is(path, value, kind=0):
    """Compares with what the trace adds up to; a made trace is known, of a real one the formats must agree."""
    name = name_of(path)
    if name in sums:
        want = sums[name][kind]
    elif kind == 0:
        want = sum(int(l.rsplit(' ', 1)[1]) for l in open('%s/%s.folded' % (directory, name)))
    else:
        return None
    rounding = 3 if name == 'threads' else 0  # of its three runs, whose ticks are not whole nanoseconds
    return None if value is not None and abs(value - want) <= rounding else 'adds up to %s, the trace to %s' % (value, want)


# --- Chrome trace events: our own check of what the format demands ---------------------------------------------------
def nested(spans, unit):
    """(begin, end) in the order of the file, a parent before its children."""
    opened, last = [], None
    for begin, end in spans:
        if last is not None and begin < last:
            return 'a span begins at %s, before the one in front of it' % begin
        last = begin
        while opened and opened[-1] <= begin and not (opened[-1] == begin == end):
            opened.pop()
        if opened and end > opened[-1]:
            return 'a span ends %s %s after the one around it' % (end - opened[-1], unit)
        opened.append(end)
    return None


def chrome(path):
    try:
        trace = json.load(open(path, encoding='utf-8'), parse_float=Decimal)
    except ValueError as e:
        return str(e)
    if len(trace['traceEvents']) > 300000 or os.path.getsize(path) > 50e6:
        return 'it is too large: %d events, %d bytes' % (len(trace['traceEvents']), os.path.getsize(path))
    tracks, named = {}, set()
    for e in trace['traceEvents']:
        key = (e['pid'], e.get('tid'))
        if e['ph'] == 'X':
            begin = Decimal(e['ts'])
            tracks.setdefault(key, []).append((begin, begin + Decimal(e['dur'])))
        elif e['ph'] == 'M' and e['name'] == 'thread_name':
            named.add(key)
        elif e['ph'] == 'C' and not all(isinstance(v, (int, Decimal)) for v in e['args'].values()):
            return 'a counter without a number: %s' % e
    for key, spans in tracks.items():
        if key not in named:
            return 'track %s has no name' % (key,)
        wrong = nested(spans, 'us')
        if wrong:
            return wrong
    return None


def longer(data):  # the second span of a run ends a nanosecond after the run
    trace = json.loads(data)
    spans = [e for e in trace['traceEvents'] if e['ph'] == 'X']
    spans[1]['dur'] = spans[0]['ts'] + spans[0]['dur'] - spans[1]['ts'] + 0.001
    return json.dumps(trace).encode()


judge('chrome, nesting', chrome, files('chrome'), lambda: planted(directory + '/network.chrome', longer))

# --- Perfetto: the descriptors of its own Python package --------------------------------------------------------------
try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
    pb = None


def unknown_fields(message):
    from google.protobuf import unknown_fields as u
    if len(u.UnknownFieldSet(message)):
        return True
    return any(unknown_fields(m) for f, v in message.ListFields() if f.type == f.TYPE_MESSAGE for m in (v if hasattr(v, 'add') else [v]))


def perfetto(path):
    trace = pb.Trace()
    try:
        trace.ParseFromString(open(path, 'rb').read())
    except Exception as e:
        return str(e)
    known, names, opened, tracks, n = set(), set(), {}, {}, 0
    if not trace.packet or trace.packet[0].sequence_flags != 1:
        return 'the first packet does not reset the sequence'
    for p in trace.packet[:200]:
        if unknown_fields(p):
            return 'a packet has a field that Perfetto does not know: %s' % p
    for p in trace.packet:
        if p.HasField('track_descriptor'):
            known.add(p.track_descriptor.uuid)
        names |= {e.iid for e in p.interned_data.event_names}
        if not p.HasField('track_event'):
            continue
        e, n = p.track_event, n + 1
        if e.track_uuid not in known:
            return 'an event on track %d, which is not described' % e.track_uuid
        if e.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            if e.name_iid not in names:
                return 'a name, %d, that is not interned' % e.name_iid
            span = [p.timestamp, None]
            opened.setdefault(e.track_uuid, []).append(span)
            tracks.setdefault(e.track_uuid, []).append(span)
        elif e.type == pb.TrackEvent.TYPE_SLICE_END:
            if not opened.get(e.track_uuid):
                return 'an end without a begin'
            opened[e.track_uuid].pop()[1] = p.timestamp
    if any(opened.values()):
        return 'a begin without an end'
    if n > 300000 or os.path.getsize(path) > 50e6:
        return 'it is too large: %d events' % n
    for spans in tracks.values():
        wrong = nested(spans, 'ns')
        if wrong:
            return wrong
    return None


if need('perfetto, its own descriptors (PyPI perfetto)', pb):
    def cut_end(data):  # the last end packet of a trace is cut off
        trace = pb.Trace()
        trace.ParseFromString(data)
        last = max(i for i, p in enumerate(trace.packet) if p.track_event.type == pb.TrackEvent.TYPE_SLICE_END)
        del trace.packet[last]
        return trace.SerializeToString()
    judge('perfetto, its own descriptors', perfetto, files('perfetto'), lambda: planted(directory + '/network.perfetto', cut_end))

# --- speedscope: its schema, and its own page ------------------------------------------------------------------------
try:
    import jsonschema
except ImportError:
    jsonschema = None
release = 'build/web/node_modules/speedscope/dist/release'
schema = sorted(glob.glob(release + '/file-format-schema*.json'))


def speedscope(path):
    try:
        data = json.load(open(path, encoding='utf-8'))
        jsonschema.validate(data, json.load(open(schema[0])))
    except (ValueError, jsonschema.ValidationError) as e:
        return str(e)[:300]
    for p in data['profiles']:
        opened, at = [], p['startValue']
        for e in p.get('events', []):
            if e['at'] < at or e['at'] > p['endValue']:
                return 'events of "%s" are not in the order of time' % p['name']
            at = e['at']
            if e['type'] == 'O':
                opened.append(e['frame'])
            elif not opened or opened.pop() != e['frame']:
                return 'events of "%s" do not balance' % p['name']
        if opened:
            return 'events of "%s" do not end' % p['name']
        if len(p.get('samples', [])) != len(p.get('weights', [])):
            return 'not one weight per sample'
        if name_of(path) == 'looks' and sum(p.get('weights', [])) != sums['looks'][0]:
            return 'weights add up to %d' % sum(p['weights'])
    return None


if need('speedscope, schema (npm speedscope, PyPI jsonschema)', jsonschema and schema):
    small = [f for f in files('speedscope') if name_of(f) != 'big']  # validating a schema of 9 MB takes a minute
    judge('speedscope, schema', speedscope, small,
          lambda: planted(directory + '/code.speedscope', lambda d: d.replace(b'"unit":"nanoseconds"', b'"unit":"fortnights"', 1)))

if need('speedscope, its own page (npm speedscope, chromium)', schema and shutil.which('node') and os.environ.get('CHROMIUM')):
    wanted = [f for kind in ('speedscope', 'chrome', 'folded') for f in files(kind)
              if name_of(f) in ('network', 'code', 'looks', 'cnn', 'two-threads')]
    garbage = planted(directory + '/code.speedscope', lambda d: d.replace(b'"events"', b'"fluents"'))
    if only in 'speedscope, its own page':
        code, out, err = run('node', 'tests/viewers/page.mjs', release, directory, *wanted, garbage)
        seen = {r['file']: r for r in map(json.loads, out.splitlines())}

        def page(path):
            r = seen.get(path)
            if r is None:
                return 'the page was not opened: ' + err[-300:]
            if not r['read']:
                return r['text'][:200] + ' '.join(r['errors'])[:200]
            first = {'looks': 'main', 'code': 'main'}.get(name_of(path), 'conv1')
            return None if first in r['text'] else 'it does not show %s: %s' % (first, r['text'][:200])
        judge('speedscope, its own page', page, wanted, lambda: garbage)

# --- Folded stacks: inferno -------------------------------------------------------------------------------------------
def folded(path):
    lines = open(path, encoding='utf-8').read().splitlines()
    if not lines:
        return None if name_of(path) == 'empty' else 'it is empty'
    code, out, err = run('inferno-flamegraph', path)
    if code or 'Ignored' in err:
        return err[:300]
    if name_of(path) == 'memory':
        return None if sum(int(l.rsplit(' ', 1)[1]) for l in lines) == 150 else 'the peak is not 150 bytes'
    count = re.search(r'<title>all \(([\d,]+) samples', out)
    return total_is(path, int(count.group(1).replace(',', '')) if count else None)


if need('folded, inferno (crates.io)', shutil.which('inferno-flamegraph')):
    judge('folded, inferno', folded, files('folded'), lambda: planted(directory + '/code.folded', lambda d: d.replace(b'main', b'main;x\ny', 1)))

# --- pprof --------------------------------------------------------------------------------------------------------------
pprof_command = ['pprof'] if shutil.which('pprof') else ['go', 'tool', 'pprof'] if shutil.which('go') else None


def pprof(path):
    code, out, err = run(*pprof_command, '-raw', path)
    if code:
        return err[:300]
    types = re.search(r'Samples:\n(.*)\n', out).group(1).split()
    want = ['time/nanoseconds', 'flops/count', 'bytes/bytes']
    if [t.replace('[dflt]', '') for t in types[:3]] != want:
        return 'its sample types are %s' % types
    rows = [[int(x) for x in m.group(1).split()] for m in re.finditer(r'^ +((?:\d+ +)*\d+): [\d ]*$', out, re.M)]
    totals = [sum(r[i] for r in rows) for i in range(len(types))] if rows else [0] * len(types)
    if name_of(path) == 'memory':
        return None if totals[3:] == [250, 100, 150] else 'memory adds up to %s' % totals
    for kind in range(3):
        wrong = total_is(path, totals[kind], kind)
        if wrong:
            return wrong
    if name_of(path) == 'empty':
        return None
    code, out, err = run(*pprof_command, '-top', '-sample_index=time', path)
    return None if code == 0 and 'flat%' in out else err[:300]


if need('pprof (Go module github.com/google/pprof)', pprof_command):
    def lost(data):  # a sample refers to a place that is not there
        raw = gzip.decompress(data)
        at = raw.index(b'\x12', 4)  # the first sample: its first place
        return gzip.compress(raw[:at + 4] + b'\x7f' + raw[at + 5:])
    judge('pprof', pprof, files('pprof'), lambda: planted(directory + '/code.pprof', lost))

# --- callgrind -------------------------------------------------------------------------------------------------------------
def callgrind(path):
    code, out, err = run('callgrind_annotate', '--threshold=100', path)
    if code or 'WARNING' in out + err or err.strip():
        return (err or out)[:300]
    total = re.search(r'^ *([\d,]+)[^\n]*PROGRAM TOTALS', out, re.M)
    first = int(total.group(1).replace(',', '')) if total else 0
    own = sum(int(m.group(1).replace(',', '')) for m in re.finditer(r'^ *([\d,]+) \([ \d.]+%\)[^\n]*\?\?\?:', out, re.M))
    if name_of(path) in ('memory', 'empty'):
        return None
    if name_of(path) in ('network', 'cnn') and own != first:
        return 'functions add up to %d, the summary says %d' % (own, first)
    return total_is(path, first)


if need('callgrind, callgrind_annotate (Debian valgrind)', shutil.which('callgrind_annotate')):
    judge('callgrind, callgrind_annotate', callgrind, [f for f in files('callgrind') if name_of(f) != 'empty'],
          lambda: planted(directory + '/code.callgrind', lambda d: d.replace(b'fn=', b'nf=', 1)))

# --- Metrics ------------------------------------------------------------------------------------------------------------------
try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
except ImportError:
    parse_open = None


def openmetrics(path):
    try:
        families = {f.name: f for f in parse_open(open(path, encoding='utf-8').read())}
    except ValueError as e:
        return str(e)
    if name_of(path) == 'network':
        h = {s.name[len('assay_run_duration_seconds'):] + s.labels.get('le', ''): s.value for s in families['assay_run_duration_seconds'].samples}
        if h['_count'] != 5 or h['_bucket+Inf'] != 5 or abs(h['_sum'] - 6e-6) > 1e-12:
            return 'the histogram is %s' % h
        if not any('\u20ac' in s.labels['layer'] and ';' in s.labels['layer'] for s in families['assay_step_work_flops'].samples):
            return 'the name of a layer is lost'
    return None


if need('openmetrics, prometheus_client (PyPI)', parse_open):
    judge('openmetrics, prometheus_client', openmetrics, files('openmetrics'),
          lambda: planted(directory + '/network.openmetrics', lambda d: d.replace(b'# EOF\n', b'')))


def prometheus(path):
    code, out, err = run('promtool', 'check', 'metrics', data=open(path, 'rb').read())
    return None if code == 0 else (out + err)[:300]


if need('prometheus, promtool (Debian prometheus)', shutil.which('promtool')):
    judge('prometheus, promtool', prometheus, files('prometheus'),
          lambda: planted(directory + '/network.prometheus', lambda d: d.replace(b'} ', b' ', 1)))

for f in failed:
    print('FAIL viewers: ' + f)
print('viewers: %d of %d checks passed%s' % (passed, passed + len({f.split(':')[0] for f in failed}), ''.join('; SKIPPED ' + s for s in skipped)))
sys.exit(1 if failed else 77 if skipped else 0)
