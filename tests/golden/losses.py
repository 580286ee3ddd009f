#!/usr/bin/env python3
"""losses.py: writes torch_losses.h, the losses of 200 training steps of PyTorch, for src/train/torch_test.c.

usage: losses.py > tests/golden/torch_losses.h      with a Python that has torch, numpy and ncps, and build/train-worker (make build/train-worker)

Weights, batches and their order are those of build/train-worker, which makes them from seeds, so the test needs the losses alone.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKER, TORCH = os.path.join(ROOT, "build", "train-worker"), os.path.join(ROOT, "tools", "bench-train-torch")
STEPS = 200
# name, spec, dimensions, loss, batch, optimiser, units of a wiring
NETWORKS = [
    ("mlp", "mlp", "", "ce", 16, "adam:lr=1e-3", 0),
    ("cnn-small", "cnn-small", "", "ce", 8, "sgd:lr=0.01,momentum=0.9", 0),
    ("lstm", "lstm:inputs=8,units=20,steps=10", "", "ce", 16, "adamw:lr=1e-3,decay=0.01", 0),
    ("gru", "gru:inputs=8,units=20,steps=10", "", "ce", 16, "adam:lr=1e-3", 0),
    ("cfc", "cfc:input=4,units=20,out=2,wiring=autoncp,wiring_seed=22222", "seq=12", "mse", 16, "adam:lr=1e-3", 20),
    ("ltc", "ltc:input=4,units=12,out=2,wiring=autoncp,wiring_seed=22222", "seq=6", "mse", 16, "adam:lr=1e-3", 12),
]


def losses(command, environment, folder):
    process = subprocess.run(command, input=f"losses {STEPS}\n", capture_output=True, text=True, env={**os.environ, **environment})
    lines = process.stdout.splitlines()
    if len(lines) < 2:
        sys.exit(f"losses.py: {command[1]}: {process.stderr.strip()}")
    return lines[0].split(), [float(word) for word in lines[1].split()]


print("/* Written by tests/golden/losses.py: do not edit. */")
version, all_ = "", []
for name, spec, dims, loss, batch, optimizer, units in NETWORKS:
    with tempfile.TemporaryDirectory() as folder:
        words = {"OMP_NUM_THREADS": "1", "TRAIN_DIM": dims, "TRAIN_UNITS": str(units)}
        _, ours = losses([WORKER, spec, str(batch), "1", loss, optimizer, folder], words, folder)
        ready, theirs = losses([sys.executable, TORCH, name, "eager", "1", loss, optimizer, folder], words, folder)
        version = ready[1]
        far = max(abs(a - b) / max(abs(a), abs(b)) for a, b in zip(ours, theirs))
        print(f"{name}: largest relative gap {far:.2e}, {theirs[0]:.4f} to {theirs[-1]:.4f}", file=sys.stderr)
        numbers = [", ".join(f"{x:.8g}" for x in theirs[i:i + 10]) for i in range(0, STEPS, 10)]
        body = ",\n".join("     " + line for line in numbers)
        all_.append(f'    {{"{spec}", "{dims}", "{loss}", {batch}, "{optimizer}", {{\n{body}}}}}')
print(f'#define TORCH_VERSION "{version}"')
print("enum { TORCH_STEPS = %d };" % STEPS)
print("static const struct torch_losses {\n    const char *spec, *dim, *loss;\n    int         batch;\n    const char *optimizer;\n    double      losses[TORCH_STEPS];")
print("} torch_losses[] = {\n" + ",\n".join(all_) + "};")
