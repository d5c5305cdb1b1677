"""Student's t distribution: scipy takes longer to import than a small report takes to draw.

The incomplete beta function is the continued fraction of Press et al., Numerical Recipes (2007),
section 6.4, by the modified Lentz method.
"""

from __future__ import annotations

import math
from functools import cache

_MOST_TERMS = 10_000
_TINY = 1e-300


def below(degrees: float, t: float) -> float:
    """The probability of a value of at most `t`."""
    tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2
    return tail if t < 0 else 1 - tail


@cache
def quantile(degrees: float, probability: float) -> float:
    """The value that is not exceeded with `probability`, which is above 1/2."""
    low, high = 0.0, 1.0
    while below(degrees, high) < probability:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        # The tail is exact where the probability itself is close to 1.
        if below(degrees, -middle) > 1 - probability:
            low = middle
        else:
            high = middle


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function: at `x` the beta distribution's probability."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    size = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(size + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    c, value = 1.0, d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
