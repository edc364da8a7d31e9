#!/usr/bin/env python3
"""Writes special_functions_reference.csv: values of the special functions by mpmath, 60 digits, for the test.

Each line: the row's name, its operands as C hexadecimal floats, and the value as the sum of two such floats."""

import random
import sys

from mpmath import mp, mpf, mpc  # noqa: F401
import mpmath as m

mp.dps = 60
random.seed(20)
half = mpf(1) / 2


def uniform(low, high):
    return random.uniform(low, high)


def spread(low, high, signs=False):
    """Log-uniform magnitudes."""
    x = 2.0 ** random.uniform(low, high)
    return -x if signs and random.random() < 0.5 else x


def hurwitz(s, q):
    mp.dps = 60 + int(s * abs(m.log10(q))) + 10  # mpmath's zeta is accurate absolutely
    total = mpf(0)
    while q < 1:
        total += q ** -s
        q += 1
    total += m.zeta(s, q)
    mp.dps = 60
    return total


def chebyshev(first):
    def p(x, n):
        a, b = mpf(1), first(x)
        for _ in range(int(n)):
            a, b = b, 2 * x * b - a
        return a

    return p


def inverse_erfc(q):
    y = m.sqrt(-m.log(q)) if q < half else mpf("0.3")
    return m.findroot(lambda t: m.log(m.erfc(t)) - m.log(q), y)


def normal_quantile(p):
    return -m.sqrt(2) * inverse_erfc(2 * p) if p < half else m.sqrt(2) * m.erfinv(2 * p - 1)


# row: (function, generator of one operand list)
CASES = {
    "erf": (m.erf, lambda: [spread(-60, 2.6, True)]),
    "erfc": (m.erfc, lambda: [uniform(-5, 26)]),
    "special_erfcx": (lambda x: m.exp(x * x) * m.erfc(x), lambda: [uniform(-20, 60)]),
    "erfinv": (m.erfinv, lambda: [uniform(-0.999, 0.999)]),
    "special_ndtr": (lambda x: m.erfc(-x / m.sqrt(2)) / 2, lambda: [uniform(-35, 8)]),
    "special_ndtri": (normal_quantile, lambda: [random.choice([uniform(0.001, 0.999), spread(-900, -1)])]),
    "special_log_ndtr": (lambda x: m.log1p(-m.erfc(x / m.sqrt(2)) / 2), lambda: [uniform(-40, 30)]),
    "special_entr": (lambda x: -x * m.log(x), lambda: [spread(-40, 40)]),
    "sinc": (m.sincpi, lambda: [uniform(-20, 20)]),
    "lgamma": (lambda x: m.log(abs(m.gamma(x))), lambda: [random.choice([spread(-60, 60), uniform(-30, 30)])]),
    "digamma": (m.digamma, lambda: [random.choice([spread(-60, 60), uniform(-30, 30)])]),
    "trigamma": (lambda x: m.psi(1, x), lambda: [random.choice([spread(-60, 60), uniform(-30, 30)])]),
    "special_zeta": (hurwitz, lambda: [uniform(1.01, 60), spread(-10, 10)]),
    "igamma": (lambda a, x: m.gammainc(a, 0, x, regularized=True), lambda: gamma_operands()),
    "igammac": (lambda a, x: m.gammainc(a, x, regularized=True), lambda: gamma_operands()),
    "i0": (lambda x: m.besseli(0, x), lambda: [uniform(-100, 100)]),
    "special_i0e": (lambda x: m.besseli(0, x) * m.exp(-abs(x)), lambda: [spread(-20, 12, True)]),
    "special_i1": (lambda x: m.besseli(1, x), lambda: [uniform(-100, 100)]),
    "special_i1e": (lambda x: m.besseli(1, x) * m.exp(-abs(x)), lambda: [spread(-20, 12, True)]),
    "special_modified_bessel_k0": (lambda x: m.besselk(0, x), lambda: [spread(-40, 9)]),
    "special_modified_bessel_k1": (lambda x: m.besselk(1, x), lambda: [spread(-40, 9)]),
    "special_scaled_modified_bessel_k0": (lambda x: m.besselk(0, x) * m.exp(x), lambda: [spread(-40, 13)]),
    "special_scaled_modified_bessel_k1": (lambda x: m.besselk(1, x) * m.exp(x), lambda: [spread(-40, 13)]),
    "special_bessel_j0": (lambda x: m.besselj(0, x), lambda: [random.choice([uniform(0, 60), spread(-20, 30)])]),
    "special_bessel_j1": (lambda x: m.besselj(1, x), lambda: [random.choice([uniform(0, 60), spread(-20, 30)])]),
    "special_bessel_y0": (lambda x: m.bessely(0, x), lambda: [random.choice([uniform(0, 60), spread(-20, 30)])]),
    "special_bessel_y1": (lambda x: m.bessely(1, x), lambda: [random.choice([uniform(0, 60), spread(-20, 30)])]),
    "special_spherical_bessel_j0": (lambda x: m.sin(x) / x, lambda: [spread(-20, 10, True)]),
    "special_airy_ai": (m.airyai, lambda: [random.choice([uniform(-40, 10), uniform(-1, 80)])]),
    "special_chebyshev_polynomial_t": (chebyshev(lambda x: x), lambda: polynomial_operands(2)),
    "special_chebyshev_polynomial_u": (chebyshev(lambda x: 2 * x), lambda: polynomial_operands(2)),
    "special_chebyshev_polynomial_v": (chebyshev(lambda x: 2 * x - 1), lambda: polynomial_operands(2)),
    "special_chebyshev_polynomial_w": (chebyshev(lambda x: 2 * x + 1), lambda: polynomial_operands(2)),
    "special_hermite_polynomial_h": (lambda x, n: m.hermite(n, x), lambda: polynomial_operands(6)),
    "special_hermite_polynomial_he": (
        lambda x, n: 2 ** (-n / 2) * m.hermite(n, x / m.sqrt(2)), lambda: polynomial_operands(6)),
    "special_laguerre_polynomial_l": (lambda x, n: m.laguerre(n, 0, x), lambda: polynomial_operands(10)),
    "special_legendre_polynomial_p": (lambda x, n: m.legendre(n, x), lambda: polynomial_operands(1)),
}  # fmt: skip


def gamma_operands():
    if random.random() < 0.2:
        return [spread(-60, 0), spread(-20, 4)]
    a = spread(-5, 12)
    return [a, a * random.choice([1.0, uniform(0.5, 1.5), uniform(0.05, 4)])]


def polynomial_operands(width):
    return [uniform(-width, width), float(random.randint(0, 15))]


def main():
    print("# written by special_functions_reference.py")
    for name, (function, operands) in CASES.items():
        for _ in range(25):
            xs = operands()
            value = m.re(function(*map(mpf, xs)))
            high = float(value)
            low = float(value - mpf(high))
            if abs(high) < 1e-290 or abs(high) > 1e300:
                continue
            print(",".join([name, *(x.hex() for x in xs), high.hex(), low.hex()]))


if __name__ == "__main__":
    sys.exit(main())
