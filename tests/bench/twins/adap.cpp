// AdaP with four indices: an episode is one binomial, and only its start computes indices.

#include "kl.hpp"

using namespace twin;

constexpr double ALPHA = 3.1;

// `fill(mean, n, log_t, index)` forms the indices, larger ones first; n and T as doubles.
template <class Fill>
static void episodes(const Problem& problem, Generator& rng, Record& record, Fill fill) {
    const int K = problem.K;
    Row mean, n, index;  // private means and the samples behind them
    Counts N;
    for (int j = 0; j < K; ++j) {
        mean[j] = rng.bernoulli(problem.means[j]) + rng.laplace(1.0 / problem.epsilon);
        n[j] = 1.0;
        N[j] = 1;
        record.play(j);
    }
    for (int64_t t = K; t < problem.T;) {
        fill(mean, n, std::log(static_cast<double>(t + 1)), index);
        const int arm = argmax(index, K, rng);
        const int64_t length = N[arm];
        if (length > problem.T - t) {
            record.play(arm, problem.T - t);
            return;
        }
        record.play(arm, length);
        t += length;
        N[arm] += length;
        n[arm] = static_cast<double>(length);
        const double noise = rng.laplace(1.0 / (problem.epsilon * n[arm]));
        mean[arm] = rng.binomial(length, problem.means[arm]) / n[arm] + noise;
    }
}

static double clipped(double x) { return std::min(std::max(x, 0.0), 1.0); }

static void adap_ucb(const Problem& problem, Generator& rng, Record& record) {
    episodes(problem, rng, record, [&](const Row& mean, const Row& n, double log_t, Row& index) {
        const double budget = ALPHA * log_t, bonus = budget / problem.epsilon;
        for (int j = 0; j < problem.K; ++j)
            index[j] = mean[j] + std::sqrt(budget / (2.0 * n[j])) + bonus / n[j];
    });
}

static void adap_klucb(const Problem& problem, Generator& rng, Record& record) {
    episodes(problem, rng, record, [&](const Row& mean, const Row& n, double log_t, Row& index) {
        const double budget = ALPHA * log_t, bonus = budget / problem.epsilon;
        for (int j = 0; j < problem.K; ++j) {
            const double p = clipped(mean[j] + bonus / n[j]);
            index[j] = p < 1.0 ? kl_upper(p, budget / n[j] + entropy(p), 0.0).z : INF;
        }
    });
}

static void adap_moss(const Problem& problem, Generator& rng, Record& record) {
    const double share = static_cast<double>(problem.T) / problem.K;
    episodes(problem, rng, record, [&](const Row& mean, const Row& n, double log_t, Row& index) {
        const double bonus = ALPHA * log_t / problem.epsilon;
        for (int j = 0; j < problem.K; ++j) {
            const double excess = std::max(0.0, std::log(share / n[j]));
            index[j] = mean[j] + std::sqrt(excess / n[j]) + bonus / n[j];
        }
    });
}

static void adap_imed(const Problem& problem, Generator& rng, Record& record) {
    episodes(problem, rng, record, [&](const Row& mean, const Row& n, double log_t, Row& index) {
        const double bonus = ALPHA * log_t / problem.epsilon;
        Row p;
        double best = 0.0;
        for (int j = 0; j < problem.K; ++j) {
            p[j] = clipped(mean[j] + bonus / n[j]);
            best = std::max(best, p[j]);
        }
        const double log_best = std::log(best), log_rest = std::log(1.0 - best);
        for (int j = 0; j < problem.K; ++j) {
            double d = 0.0;  // of the best from itself
            if (p[j] < best) d = -entropy(p[j]) - p[j] * log_best - (1.0 - p[j]) * log_rest;
            index[j] = -(n[j] * std::max(0.0, d) + std::log(n[j]));
        }
    });
}

int main(int count, char** words) {
    return program<Player>(count, words,
                           {{"adap_ucb", adap_ucb},
                            {"adap_klucb", adap_klucb},
                            {"adap_moss", adap_moss},
                            {"adap_imed", adap_imed}});
}
