"""sides: candidates of a benchmark, each a process of its own that answers lines, and the race between them.  Used by bench-peers and bench-train."""
import math
import os
import random
import statistics
import subprocess
import time

SAMPLE, WARM = 0.2, 1.0  # seconds


class Side:
    """A worker, as a process that answers lines.  Its first line is "ready" and words about itself."""

    def __init__(self, name, command, environment):
        self.name, self.failure = name, ""
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.ready = self.process.stdout.readline().split()
        if not self.ready:
            self.failure = self.last_words()

    def last_words(self):
        return (self.process.stderr.read().strip().splitlines() or ["it ended"])[-1]

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(self.last_words())
        return [float(word) for word in answer.split()]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def race(sides, rounds, sample=SAMPLE, warm=WARM, rest=0.0):
    """Seconds of one run, for every side and round: all are warm, a sample is long, the order of a round is drawn, the others wait meanwhile.
    rest: seconds before a sample, for threads of the last one that still spin."""
    times, runs = {side: [] for side in sides}, {}
    for side in sides:
        once = side.ask("time 3")[0]
        side.ask(f"time {max(1, int(warm / max(once, 1e-7)))}")
        runs[side] = max(1, math.ceil(sample / max(side.ask("time 5")[0], 1e-7)))
    for _ in range(rounds):
        for side in random.sample(sides, len(sides)):
            time.sleep(rest)
            side.ask(f"time {max(1, runs[side] // 10)}")  # its threads are awake and its caches warm
            times[side].append(side.ask(f"time {runs[side]}")[0])
    return times


def interval(ratios):
    """Median and the interval of the median at 95 %, by order statistics."""
    ratios, n = sorted(ratios), len(ratios)
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    return statistics.median(ratios), ratios[low], ratios[n - 1 - low]


def ratio(times, ours, theirs):
    return interval([b / a for a, b in zip(times[ours], times[theirs])])


def machine():
    try:
        with open("/proc/cpuinfo") as file:
            cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")
    except OSError:
        cpu = "?"
    return f"{cpu}, {os.cpu_count()} CPUs; load at the end {os.getloadavg()[0]:.1f}"


def page_put(path, begin, end, lines):
    """Replaces what stands between the two marks of a page."""
    with open(path) as file:
        text = file.read()
    if begin not in text or end not in text:
        raise SystemExit(f"{path} has no place for the tables (the marks '{begin}' and '{end}')")
    with open(path + ".new", "w") as file:
        file.write(text[:text.index(begin)] + "\n".join([begin, "", *lines, "", end]) + text[text.index(end) + len(end):])
    os.replace(path + ".new", path)
