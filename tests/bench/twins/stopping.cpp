// The stopping rules on samples of 1 and -1, whose mean is the program's first MEAN: R = 1.

#include "twin.hpp"

using namespace twin;

constexpr double ALPHA = 0.1, BETA = 0.05;

static double barrier(double t, double log) {
    return std::sqrt(2.0 * t * log) * (1.0 + 1.0 / ALPHA);
}

// A sample and the test in every round; squares are compared, which saves the root.
static Stop nas(const Problem& problem, Generator& rng) {
    const double up = 0.5 * (1.0 + problem.means[0]);
    const double factor = 2.0 * (1.0 + 1.0 / ALPHA) * (1.0 + 1.0 / ALPHA);
    const double T = static_cast<double>(problem.T);
    double S = 0.0;
    for (double t = 1.0; t <= T; ++t) {
        S += rng.uniform() < up ? 1.0 : -1.0;
        if (S * S >= factor * t * std::log(4.0 * t * t / BETA)) return {t, S / t, true};
    }
    return {T, 0.0, false};
}

struct Noise {
    double sigma, sigma3, fixed;  // fixed: the part of c_t that does not move with t
    explicit Noise(double epsilon) : sigma(12.0 / epsilon), sigma3(4.0 / epsilon) {
        fixed = (sigma + sigma3 / ALPHA) * std::log(4.0 / BETA);
    }
};

// A sample, a Laplace variable and the test in every round; the two logarithms of t² differ by ln 2.
static Stop dp_nas(const Problem& problem, Generator& rng) {
    const Noise noise(problem.epsilon);
    const double up = 0.5 * (1.0 + problem.means[0]), T = static_cast<double>(problem.T);
    const double B = rng.laplace(noise.sigma);
    double S = 0.0;
    for (double t = 1.0; t <= T; ++t) {
        S += rng.uniform() < up ? 1.0 : -1.0;
        const double log16 = std::log(16.0 * t * t / BETA);
        const double c = noise.fixed + noise.sigma * (log16 - 0.69314718055994531);
        if (std::abs(S) >= barrier(t, log16) + c + B + rng.laplace(noise.sigma))
            return {t, (S + rng.laplace(noise.sigma3)) / t, true};
    }
    return {T, 0.0, false};
}

// Tests at powers of two; the samples between are one binomial.
static Stop dp_exp_nas(const Problem& problem, Generator& rng) {
    const Noise noise(problem.epsilon);
    const double up = 0.5 * (1.0 + problem.means[0]);
    const double B = rng.laplace(noise.sigma);
    double S = 0.0, k = 0.0;
    for (int64_t before = 0, t = 2; t <= problem.T; before = t, t *= 2) {
        k += 1.0;
        const int64_t n = t - before;
        S += 2.0 * rng.binomial(n, up) - static_cast<double>(n);
        const double time = static_cast<double>(t);
        const double c = noise.fixed + noise.sigma * std::log(8.0 * k * k / BETA);
        const double threshold = barrier(time, std::log(16.0 * k * k / BETA));
        if (std::abs(S) >= threshold + c + B + rng.laplace(noise.sigma))
            return {time, (S + rng.laplace(noise.sigma3)) / time, true};
    }
    return {static_cast<double>(problem.T), 0.0, false};
}

int main(int count, char** words) {
    return program<Rule>(count, words,
                         {{"nas", nas}, {"dp_nas", dp_nas}, {"dp_exp_nas", dp_exp_nas}});
}
