// What the twins share: a fast generator and its distributions, Bernoulli arms, the recording of
// regret and pulls, and the program around them:
//
//     PROGRAM ALGORITHM T REPLICATES SEED EPSILON MEAN...
//
// plays the replicates one after another and prints one line of JSON: the seconds of that loop by
// a steady clock, and of every recorded number its mean and variance over the replicates.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace twin {

using std::int64_t;
using std::uint64_t;

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();
constexpr int MOST = 64;  // arms

using Row = double[MOST];
using Counts = int64_t[MOST];

// Layers of equal area under exp(-x²/2), widest first (the ziggurat of Marsaglia & Tsang 2000).
struct Ziggurat {
    static constexpr int LAYERS = 256;
    static constexpr double START = 3.6541528853610088;  // where the tail begins
    static constexpr double AREA = 0.00492867323399;     // of a layer
    double x[LAYERS + 1];
    double height[LAYERS + 1];

    Ziggurat() {
        x[0] = AREA * std::exp(0.5 * START * START);
        x[1] = START;
        for (int i = 1; i < LAYERS - 1; ++i)
            x[i + 1] = std::sqrt(-2.0 * std::log(AREA / x[i] + std::exp(-0.5 * x[i] * x[i])));
        x[LAYERS] = 0.0;
        for (int i = 0; i <= LAYERS; ++i) height[i] = std::exp(-0.5 * x[i] * x[i]);
    }
};

inline const Ziggurat ziggurat;

// What a gamma variable of shape a >= 1 needs of a; kept as long as a stays.
struct Gamma {
    double d, c;
    Gamma() : Gamma(1.0) {}
    explicit Gamma(double a) : d(a - 1.0 / 3.0), c(1.0 / std::sqrt(9.0 * d)) {}
};

// xoshiro256++ (Blackman & Vigna 2019), seeded by SplitMix64.
class Generator {
public:
    Generator(uint64_t seed, uint64_t replicate) {
        uint64_t state = mix(seed + STEP) + 4 * replicate * STEP;
        for (uint64_t& word : s) word = mix(state += STEP);
    }

    uint64_t bits() {
        const uint64_t sum = s[0] + s[3];
        const uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
        const uint64_t shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = (s[3] << 45) | (s[3] >> 19);
        return result;
    }

    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // in [0, 1)

    double positive() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }  // in (0, 1]

    int below(int n) { return static_cast<int>(uniform() * n); }

    double bernoulli(double p) { return uniform() < p ? 1.0 : 0.0; }

    double exponential() { return -std::log(positive()); }

    double laplace(double scale) {
        const uint64_t word = bits();  // its lowest bit is the sign, the upper ones the size
        const double size = -scale * std::log(static_cast<double>((word >> 11) + 1) * 0x1p-53);
        return word & 1 ? size : -size;
    }

    double normal() {
        for (;;) {
            const uint64_t word = bits();
            const int i = static_cast<int>(word & 255);
            const double u = static_cast<double>(static_cast<int64_t>(word) >> 11) * 0x1p-52;
            const double x = u * ziggurat.x[i];
            if (std::abs(x) < ziggurat.x[i + 1]) return x;
            if (i == 0) {
                double beyond;
                do beyond = exponential() / Ziggurat::START;
                while (2.0 * exponential() < beyond * beyond);
                return x < 0.0 ? -Ziggurat::START - beyond : Ziggurat::START + beyond;
            }
            const double low = ziggurat.height[i], high = ziggurat.height[i + 1];
            if (low + (high - low) * uniform() < std::exp(-0.5 * x * x)) return x;
        }
    }

    // Marsaglia & Tsang 2000, "A simple method for generating gamma variables".
    double gamma(const Gamma& shape) {
        for (;;) {
            const double x = normal();
            double v = 1.0 + shape.c * x;
            if (v <= 0.0) continue;
            v = v * v * v;
            const double u = positive(), x2 = x * x;
            if (u < 1.0 - 0.0331 * x2 * x2) return shape.d * v;
            if (std::log(u) < 0.5 * x2 + shape.d * (1.0 - v + std::log(v))) return shape.d * v;
        }
    }

    double beta(const Gamma& a, const Gamma& b) {
        const double x = gamma(a);
        return x / (x + gamma(b));
    }

    double binomial(int64_t n, double p) {
        if (n == 1) return bernoulli(p);
        if (p > 0.5) return static_cast<double>(n) - lower(n, 1.0 - p);
        return lower(n, p);
    }

private:
    static constexpr uint64_t STEP = 0x9e3779b97f4a7c15;
    uint64_t s[4];

    static uint64_t mix(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    double lower(int64_t n, double p) {
        return static_cast<double>(n) * p < 10.0 ? inversion(n, p) : rejection(n, p);
    }

    // Probabilities one after another, from 0 successes up; for n p < 10.
    double inversion(int64_t n, double p) {
        const double N = static_cast<double>(n), odds = p / (1.0 - p);
        const double none = std::exp(N * std::log1p(-p));
        for (;;) {
            double u = uniform(), mass = none;
            for (double k = 0.0; k <= 110.0 && k <= N; ++k) {
                if (u < mass) return k;
                u -= mass;
                mass *= odds * (N - k) / (k + 1.0);
            }
        }
    }

    static double log_factorial(double k) {
        static const auto small = [] {
            std::vector<double> table{0.0};
            for (int i = 1; i < 16; ++i) table.push_back(table.back() + std::log(i));
            return table;
        }();
        if (k < 16.0) return small[static_cast<int>(k)];
        const double w = 1.0 / (k * k);
        return (k + 0.5) * std::log(k) - k + 0.91893853320467274 +
               (1.0 / 12.0 - w * (1.0 / 360.0 - w / 1260.0)) / k;
    }

    // BTRS, Hörmann 1993; for p <= 1/2 and n p >= 10.
    double rejection(int64_t n, double p) {
        const double N = static_cast<double>(n), q = 1.0 - p;
        const double deviation = std::sqrt(N * p * q);
        const double b = 1.15 + 2.53 * deviation;
        const double a = -0.0873 + 0.0248 * b + 0.01 * p;
        const double centre = N * p + 0.5, box = 0.92 - 4.2 / b;
        for (;;) {
            const double u = uniform() - 0.5, v = positive();
            const double edge = 0.5 - std::abs(u);
            const double k = std::floor((2.0 * a / edge + b) * u + centre);
            if (edge >= 0.07 && v <= box) return k;
            if (!(k >= 0.0 && k <= N)) continue;
            const double mode = std::floor((N + 1.0) * p);
            const double alpha = (2.83 + 5.1 / b) * deviation;
            const double fall = log_factorial(mode) + log_factorial(N - mode) - log_factorial(k) -
                                log_factorial(N - k) + (k - mode) * std::log(p / q);
            if (std::log(v * alpha / (a / (edge * edge) + b)) <= fall) return k;
        }
    }
};

// The largest of K numbers, in eight running maxima that a compiler makes one register of.
inline double largest(const double* index, int K) {
    double top = index[0];
    int j = 1;
    if (K >= 8) {
        double lane[8];
        for (int l = 0; l < 8; ++l) lane[l] = index[l];
        for (j = 8; j + 8 <= K; j += 8)
            for (int l = 0; l < 8; ++l) lane[l] = index[j + l] > lane[l] ? index[j + l] : lane[l];
        for (int l = 0; l < 8; ++l) top = lane[l] > top ? lane[l] : top;
    }
    for (; j < K; ++j) top = index[j] > top ? index[j] : top;
    return top;
}

// The place of the largest; a tie is broken by one uniform number.
inline int argmax(const double* index, int K, Generator& rng) {
    int best = 0, tied = 1;
    if (K <= 8) {
        for (int j = 1; j < K; ++j) {
            if (index[j] > index[best]) {
                best = j;
                tied = 1;
            } else if (index[j] == index[best]) {
                ++tied;
            }
        }
    } else {
        const double top = largest(index, K);
        tied = 0;
        for (int j = 0; j < K; ++j) tied += index[j] == top;
        while (index[best] != top) ++best;
    }
    if (tied == 1) return best;
    const double top = index[best];
    int wanted = rng.below(tied);
    while (index[best] != top || wanted-- > 0) ++best;
    return best;
}

struct Problem {
    int64_t T;
    double epsilon;
    int K;
    Row means, gaps;
};

// Regret at the checkpoints and pulls of one replicate.
class Record {
public:
    Record(const Problem& problem, const int64_t* grid, double* regret, double* pulls)
        : gaps(problem.gaps), due(grid), at(regret), pulls(pulls) {}

    // The arm of the next n rounds.
    void play(int arm, int64_t n = 1) {
        const int64_t end = t + n;
        for (; *due <= end; ++due) *at++ = sum + gaps[arm] * static_cast<double>(*due - t);
        sum += gaps[arm] * static_cast<double>(n);
        pulls[arm] += static_cast<double>(n);
        t = end;
    }

    // S arms one after another for n rounds; the last pass may be cut.
    void play_in_turn(const int* arms, int S, int64_t n) {
        double before[MOST + 1] = {0.0};  // regret of the first arms of a pass
        for (int i = 0; i < S; ++i) before[i + 1] = before[i] + gaps[arms[i]];
        const int64_t end = t + n;
        const auto regret = [&](int64_t m) {
            return sum + before[S] * static_cast<double>(m / S) + before[m % S];
        };
        for (; *due <= end; ++due) *at++ = regret(*due - t);
        sum = regret(n);
        for (int i = 0; i < S; ++i) pulls[arms[i]] += static_cast<double>(n / S + (i < n % S));
        t = end;
    }

private:
    const double* gaps;
    const int64_t* due;  // the next checkpoint; the last is followed by NEVER
    double* at;
    double* pulls;
    double sum = 0.0;
    int64_t t = 0;
};

struct Stop {
    double time, estimate;  // the estimate is 0 where the rule has not halted
    bool halted;
};

// floor(2^(k/8)) up to T, and T.
inline std::vector<int64_t> checkpoints(int64_t T) {
    std::vector<int64_t> rounds{1};
    for (int k = 1;; ++k) {
        const auto t = static_cast<int64_t>(std::exp2(k / 8.0));
        if (t >= T) break;
        if (t > rounds.back()) rounds.push_back(t);
    }
    if (rounds.back() < T) rounds.push_back(T);
    return rounds;
}

// Prints `"name": {"mean": [...], "variance": [...]}` of a table with one row a replicate.
inline void print(const char* name, const std::vector<double>& table, std::size_t width) {
    const std::size_t rows = table.size() / width;
    std::vector<double> mean(width), variance(width);
    for (std::size_t i = 0; i < table.size(); ++i) mean[i % width] += table[i];
    for (double& value : mean) value /= rows;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const double off = table[i] - mean[i % width];
        variance[i % width] += rows > 1 ? off * off / (rows - 1) : 0.0;
    }
    std::printf(", \"%s\": {\"mean\": [", name);
    for (std::size_t i = 0; i < width; ++i) std::printf(i ? ", %.17g" : "%.17g", mean[i]);
    std::printf("], \"variance\": [");
    for (std::size_t i = 0; i < width; ++i) std::printf(i ? ", %.17g" : "%.17g", variance[i]);
    std::printf("]}");
}

using Player = void (*)(const Problem&, Generator&, Record&);
using Rule = Stop (*)(const Problem&, Generator&);

inline void measure(Player play, const Problem& problem, int64_t replicates, uint64_t seed) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<int64_t> grid = checkpoints(problem.T);
    const std::size_t C = grid.size(), K = problem.K;
    grid.push_back(NEVER);
    std::vector<double> regret(replicates * C), pulls(replicates * K);
    for (int64_t i = 0; i < replicates; ++i) {
        Generator rng(seed, i);
        Record record(problem, grid.data(), &regret[i * C], &pulls[i * K]);
        play(problem, rng, record);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("{\"seconds\": %.9f", took.count());
    print("regret", regret, C);
    print("pulls", pulls, K);
}

inline void measure(Rule stop, const Problem& problem, int64_t replicates, uint64_t seed) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<double> time(replicates), estimate(replicates), halted(replicates);
    for (int64_t i = 0; i < replicates; ++i) {
        Generator rng(seed, i);
        const Stop found = stop(problem, rng);
        time[i] = found.time;
        estimate[i] = found.estimate;
        halted[i] = found.halted;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("{\"seconds\": %.9f", took.count());
    print("stop_time", time, 1);
    print("estimate", estimate, 1);
    print("halted", halted, 1);
}

template <class Algorithm>
int program(int count, char** words, const std::vector<std::pair<const char*, Algorithm>>& known) {
    if (count == 1) {  // what is here
        for (const auto& [name, algorithm] : known) std::puts(name);
        return 0;
    }
    if (count < 7 || count - 6 > MOST) {
        std::fprintf(stderr, "usage: ALGORITHM T REPLICATES SEED EPSILON MEAN...\n");
        return 2;
    }
    Problem problem{std::atoll(words[2]), std::atof(words[5]), count - 6, {}, {}};
    double best = -INF;
    for (int j = 0; j < problem.K; ++j) {
        problem.means[j] = std::atof(words[6 + j]);
        best = std::max(best, problem.means[j]);
    }
    for (int j = 0; j < problem.K; ++j) problem.gaps[j] = best - problem.means[j];
    for (const auto& [name, algorithm] : known) {
        if (std::strcmp(name, words[1]) == 0) {
            measure(algorithm, problem, std::atoll(words[3]), std::strtoull(words[4], nullptr, 10));
            std::puts("}");
            return 0;
        }
    }
    std::fprintf(stderr, "no algorithm %s here\n", words[1]);
    return 2;
}

}  // namespace twin
