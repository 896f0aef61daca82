// Thompson sampling with Beta priors and Lazy-DP-TS: every posterior is drawn in every round.

#include "twin.hpp"

using namespace twin;

// Cached: what the gamma variables need of each posterior; one of a round's 2K changes.
static void thompson_beta(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row hits, misses, theta;
    Gamma a[MOST], b[MOST];
    for (int j = 0; j < K; ++j) hits[j] = misses[j] = 1.0;
    for (int64_t t = 1; t <= problem.T; ++t) {
        for (int j = 0; j < K; ++j) theta[j] = rng.beta(a[j], b[j]);
        const int arm = argmax(theta, K, rng);
        record.play(arm);
        if (rng.uniform() < problem.means[arm])
            a[arm] = Gamma(++hits[arm]);
        else
            b[arm] = Gamma(++misses[arm]);
    }
}

// Cached: 3 / (epsilon O); posteriors move with ln t. A batch's rewards are one binomial, drawn
// when the batch is full: nothing looks at them before.
static void lazy_dp_ts(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row mean, O, bonus, theta;
    Counts N;
    const auto batch = [&](int j, int64_t n) {
        O[j] = static_cast<double>(n);
        N[j] = 2 * n;  // rounds until the next batch is full
        const double sum = rng.binomial(n, problem.means[j]) + rng.laplace(1.0 / problem.epsilon);
        mean[j] = sum / O[j];
        bonus[j] = 3.0 / (problem.epsilon * O[j]);
    };
    for (int j = 0; j < K; ++j) {
        batch(j, 1);
        record.play(j);
    }
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double log_t = std::log(static_cast<double>(t));
        for (int j = 0; j < K; ++j) {
            const double high = std::min(std::max(mean[j] + log_t * bonus[j], 0.0), 1.0);
            theta[j] = rng.beta(Gamma(high * O[j] + 1.0), Gamma((1.0 - high) * O[j] + 1.0));
        }
        const int arm = argmax(theta, K, rng);
        record.play(arm);
        if (--N[arm] == 0) batch(arm, 2 * static_cast<int64_t>(O[arm]));
    }
}

int main(int count, char** words) {
    return program<Player>(
        count, words, {{"thompson_beta", thompson_beta}, {"lazy_dp_ts", lazy_dp_ts}});
}
