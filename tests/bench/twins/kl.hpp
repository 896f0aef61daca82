// The Bernoulli relative entropy d(p, q) and its inverse, in z = -ln(1 - q): q near 1 keeps its
// digits there, and indices are compared alike.

#pragma once

#include "twin.hpp"

namespace twin {

// -p ln p - (1 - p) ln(1 - p).
inline double entropy(double p) {
    if (p <= 0.0 || p >= 1.0) return 0.0;
    return -p * std::log(p) - (1.0 - p) * std::log(1.0 - p);
}

// A point q with the logarithms that d(p, q) is made of.
struct Upper {
    double q;
    double z;      // -ln(1 - q)
    double log_q;  // ln q
};

// The largest q with d(p, q) <= level, for `bound` = level + entropy(p) and p < 1: Newton on
// (1 - p) z - p ln(1 - exp(-z)) = bound, convex in z. `guess` is a start near it, or 0.
inline Upper kl_upper(double p, double bound, double guess) {
    const double one = 1.0 - p;
    double z = p > 0.0 ? guess : bound, rest = std::exp(-z);  // rest = 1 - q
    if (p > 0.0 && rest > 0.999 * one) {  // at q = p the slope is 0
        z = bound / one;
        rest = std::exp(-z);
    }
    for (int i = 0;; ++i) {
        const double q = 1.0 - rest, log_q = std::log(q), ratio = rest / q;
        const double move = (one * z - p * log_q - bound) / (one - p * ratio);
        z -= move;
        if (std::abs(move) <= 1e-8 * z || i == 60)
            return {q - move * rest, z, log_q - move * ratio};
        rest = std::exp(-z);
    }
}

}  // namespace twin
