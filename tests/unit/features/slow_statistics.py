"""Means, variances, correlations of one window, in plain Python."""

import math

TINY = 1e-12


def div(a, b):
    return a / b if abs(b) > TINY else 0.0


def mean(values):
    return math.fsum(values) / len(values)


def var(values):
    m = mean(values)
    return math.fsum((x - m) ** 2 for x in values) / len(values)


def sd(values):
    return math.sqrt(var(values))


def cov(xs, ys):
    mx, my = mean(xs), mean(ys)
    return math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / len(xs)


def corr(xs, ys):
    return div(div(cov(xs, ys), sd(xs)), sd(ys))


def sign(x):
    return (x > 0) - (x < 0)
