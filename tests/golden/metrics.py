#!/usr/bin/env python3
# metrics.py: writes metrics.h, what scikit-learn says about answers that metrics_test.c makes by the same rule.
# usage: metrics.py >src/train/test_metrics.h   (any Python with scikit-learn; then clang-format)
import sys

import numpy as np
import sklearn
from sklearn import metrics as sk

N, C = 90, 4


def score(i, c):
    return ((i * 53 + c * 29 + i * c * 11) % 37) / 8 - 2 + (1.5 if c == label(i) and i % 3 else 0)


def label(i):
    return (i * 7 + i // 5) % 3  # class 3 never occurs


def main():
    x = np.array([[score(i, c) for c in range(C)] for i in range(N)])
    y = np.array([label(i) for i in range(N)])
    answer = x.argmax(axis=1)
    ranks = np.array([sum(x[i, c] > x[i, y[i]] or (x[i, c] == x[i, y[i]] and c < y[i]) for c in range(C)) for i in range(N)])
    auc = [sk.roc_auc_score(y == c, x[:, c]) for c in range(3)]
    logit, truth = x[:, 1], (y == 1).astype(int)
    print("/* test_metrics.h - what scikit-learn %s says.  Written by tests/golden/metrics.py: do not edit. */" % sklearn.__version__)
    print("#ifndef AS_TRAIN_TEST_METRICS_H\n#define AS_TRAIN_TEST_METRICS_H\n")
    print("enum { GOLDEN_N = %d, GOLDEN_C = %d };" % (N, C))

    def number(name, v):
        print("static const double golden_%s = %r;" % (name, float(v)))

    def row(name, v):
        print("static const double golden_%s[] = {%s};" % (name, ", ".join(repr(float(a)) for a in v)))

    number("accuracy", sk.accuracy_score(y, answer))
    number("top2", (ranks < 2).mean())
    seen = sorted(set(y) | set(answer))
    for name, f in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
        number(name, f(y, answer, average="macro", zero_division=0))
        row(name + "_each", f(y, answer, average=None, labels=seen, zero_division=0))
    row("confusion", sk.confusion_matrix(y, answer, labels=range(C)).ravel())
    number("auc", np.mean(auc))
    row("auc_each", auc)
    number("binary_auc", sk.roc_auc_score(truth, logit))
    number("binary_f1", sk.f1_score(truth, logit > 0, average="macro"))
    number("r2", sk.r2_score(x[:, 0], x[:, 1]))
    number("mae", sk.mean_absolute_error(x[:, 0], x[:, 1]))
    print("\n#endif")
    return 0


if __name__ == "__main__":
    sys.exit(main())
