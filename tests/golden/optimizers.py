#!/usr/bin/env python3
# optimizers.py: writes optimizers.h, what PyTorch's own optimisers make of a block of parameters in 100 steps, in double.
# usage: optimizers.py >tests/golden/optimizers.h   (any Python with torch; then clang-format)
# The gradients are multiples of 1/64 by a formula that optimizers_test.c repeats, so no file has to hold them.
import sys

import torch

torch.set_default_dtype(torch.float64)
N, STEPS = 24, 100
STARTS = [0, 5, 17]
RATES, DECAYS = [1.0, 0.5, 2.0], [1.0, 0.0, 2.0]


def f32(x):
    return float(torch.tensor(x, dtype=torch.float32))


def weight(i):
    return ((i * 29) % 31 - 15) / 16


def gradient(t, i):
    return ((t * 37 + i * 101 + t * i * 7) % 257 - 128) / 64


CASES = [
    # name, class, rate, decay, arguments, clip by norm, clip by value, the same as a text
    ("sgd", torch.optim.SGD, 0.01, 0.02, {}, 0, 0, "sgd:lr=0.01,decay=0.02"),
    ("sgd_momentum", torch.optim.SGD, 0.01, 0.0, dict(momentum=0.9, dampening=0.25), 1.5, 0, "sgd:lr=0.01,momentum=0.9,dampening=0.25"),
    ("sgd_nesterov", torch.optim.SGD, 0.005, 0.02, dict(momentum=0.9, nesterov=True), 0, 0.75, "sgd:lr=0.005,decay=0.02,momentum=0.9,nesterov=1"),
    ("adam", torch.optim.Adam, 0.01, 0.02, {}, 0, 0, "adam:lr=0.01,decay=0.02"),
    ("adam_clipped", torch.optim.Adam, 0.01, 0.0, dict(betas=(0.8, 0.95), eps=1e-6), 2.0, 0.5, "adam:lr=0.01,beta1=0.8,beta2=0.95,eps=1e-6"),
    ("adamw", torch.optim.AdamW, 0.01, 0.05, {}, 1.0, 0, "adamw:lr=0.01,decay=0.05"),
    ("rmsprop", torch.optim.RMSprop, 0.005, 0.02, {}, 0, 0, "rmsprop:lr=0.005,decay=0.02"),
    ("rmsprop_centered", torch.optim.RMSprop, 0.002, 0.01, dict(alpha=0.9, momentum=0.5, centered=True), 0, 0, "rmsprop:lr=0.002,decay=0.01,alpha=0.9,momentum=0.5,centered=1"),
    ("rmsprop_momentum", torch.optim.RMSprop, 0.002, 0.0, dict(momentum=0.9), 0, 1.0, "rmsprop:lr=0.002,momentum=0.9"),
    ("adagrad", torch.optim.Adagrad, 0.05, 0.02, dict(lr_decay=0.01, initial_accumulator_value=0.1), 0, 0, "adagrad:lr=0.05,decay=0.02,lr_decay=0.01,initial=0.1"),
    ("adadelta", torch.optim.Adadelta, 0.5, 0.02, dict(rho=0.95), 3.0, 0, "adadelta:lr=0.5,decay=0.02,rho=0.95"),
    ("nadam", torch.optim.NAdam, 0.01, 0.02, {}, 0, 0, "nadam:lr=0.01,decay=0.02"),
    ("nadam_decoupled", torch.optim.NAdam, 0.01, 0.05, dict(decoupled_weight_decay=True, momentum_decay=0.01), 1.0, 0, "nadam:lr=0.01,decay=0.05,decoupled=1,momentum_decay=0.01"),
]


def run(cls, rate, decay, args, clip_norm, clip_value):
    ends = STARTS[1:] + [N]
    parameters = [torch.nn.Parameter(torch.tensor([weight(i) for i in range(a, b)])) for a, b in zip(STARTS, ends)]
    groups = [dict(params=[p], lr=f32(rate * r), weight_decay=f32(decay * d)) for p, r, d in zip(parameters, RATES, DECAYS)]
    optimizer = cls(groups, lr=f32(rate), **args)
    for t in range(1, STEPS + 1):
        for p, a, b in zip(parameters, STARTS, ends):
            p.grad = torch.tensor([gradient(t, i) for i in range(a, b)])
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(parameters, clip_norm)
        if clip_value:
            torch.nn.utils.clip_grad_value_(parameters, clip_value)
        optimizer.step()
    return torch.cat([p.detach() for p in parameters]).tolist()


def rosenbrock(dtype, steps):
    w = torch.nn.Parameter(torch.tensor([-1.2, 1.0, 0.5, 2.0], dtype=dtype))
    o = torch.optim.LBFGS([w], max_iter=4, line_search_fn="strong_wolfe")
    out = []

    def closure():
        o.zero_grad()
        loss = sum(100 * (w[i + 1] - w[i] ** 2) ** 2 + (1 - w[i]) ** 2 for i in range(3))
        loss.backward()
        return loss

    for _ in range(steps):
        o.step(closure)
        out.append(w.detach().tolist())
    return out


def quadratic(steps):
    w = torch.nn.Parameter(torch.tensor([float(i % 5 - 2) for i in range(12)]))
    o = torch.optim.LBFGS([w], lr=0.5, max_iter=2, history_size=3, line_search_fn="strong_wolfe")
    scale = torch.tensor([1.0 + 3 * i for i in range(12)])
    out = []

    def closure():
        o.zero_grad()
        loss = 0.5 * (scale * (w - 1) ** 2).sum() + (w[0] * w[5]) + w.sum() ** 2 / 8
        loss.backward()
        return loss

    for _ in range(steps):
        o.step(closure)
        out.append(w.detach().tolist())
    return out


def numbers(values):
    return ", ".join(repr(v) for v in values)


def main():
    print("/* optimizers.h - what PyTorch %s makes of the same gradients, in double.  Written by optimizers.py: do not edit. */" % torch.__version__.split("+")[0])
    print("#ifndef AS_TESTS_GOLDEN_OPTIMIZERS_H\n#define AS_TESTS_GOLDEN_OPTIMIZERS_H\n")
    print("enum { GOLDEN_N = %d, GOLDEN_STEPS = %d, GOLDEN_GROUPS = %d };\n" % (N, STEPS, len(STARTS)))
    print("typedef struct golden {\n    const char *name, *text;\n    double clip_norm, clip_value;\n    double w[GOLDEN_N]; /* after all steps */\n} golden;\n")
    print("static const golden goldens[] = {")
    for name, cls, rate, decay, args, clip_norm, clip_value, text in CASES:
        w = run(cls, rate, decay, args, clip_norm, clip_value)
        print('    {"%s", "%s", %r, %r, {%s}},' % (name, text, clip_norm, clip_value, numbers(w)))
    print("};\n")
    print("/* LBFGS(max_iter=4) on Rosenbrock's function of four, and LBFGS(lr=0.5, max_iter=2, history_size=3) on a quadratic of twelve, both\n * with strong_wolfe: after each step. */")
    r, q = rosenbrock(torch.float64, 12), quadratic(8)
    print("static const double golden_rosenbrock[%d][4] = {%s};" % (len(r), ", ".join("{%s}" % numbers(v) for v in r)))
    print("static const double golden_quadratic[%d][12] = {%s};\n" % (len(q), ", ".join("{%s}" % numbers(v) for v in q)))
    print("#endif")
    return 0


if __name__ == "__main__":
    sys.exit(main())
