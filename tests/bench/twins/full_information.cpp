// The full-information algorithms: every round or epoch shows the rewards of all actions.

#include "twin.hpp"

using namespace twin;

// A tie is drawn anew when a sum has changed since.
static void ftl(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row total = {};
    int leader = argmax(total, K, rng);
    for (int64_t t = 1;; ++t) {
        record.play(leader);
        if (t == problem.T) return;
        double changed = 0.0;
        for (int j = 0; j < K; ++j) {
            const double reward = rng.bernoulli(problem.means[j]);
            total[j] += reward;
            changed += reward;
        }
        if (changed > 0.0) leader = argmax(total, K, rng);
    }
}

// Nothing to cache: the rate moves with t, and so does every weight.
static void decreasing_hedge(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    const double log_K = std::log(static_cast<double>(K));
    Row total = {}, weight;
    for (int64_t t = 1; t <= problem.T; ++t) {
        const double rate = 2.0 * std::sqrt(log_K / static_cast<double>(t));
        const double highest = largest(total, K);
        double sum = 0.0;
        for (int j = 0; j < K; ++j) sum += weight[j] = std::exp(rate * (total[j] - highest));
        double left = rng.uniform() * sum - weight[0];
        int action = 0;
        while (left >= 0.0 && action < K - 1) left -= weight[++action];
        record.play(action);
        for (int j = 0; j < K; ++j) total[j] += rng.bernoulli(problem.means[j]);
    }
}

// An epoch is one binomial for each action.
static void noisy_leader(const Problem& problem, Generator& rng, Record& record, double scale) {
    const int K = problem.K;
    Row sum;
    int leader = 0;
    int64_t t = 0;
    for (int64_t length = 1; length <= problem.T - t; length *= 2) {
        record.play(leader, length);
        t += length;
        for (int j = 0; j < K; ++j)
            sum[j] = rng.binomial(length, problem.means[j]) + rng.laplace(scale);
        leader = argmax(sum, K, rng);
    }
    if (t < problem.T) record.play(leader, problem.T - t);
}

static void ftnl(const Problem& problem, Generator& rng, Record& record) {
    noisy_leader(problem, rng, record, problem.K / problem.epsilon);
}

static void rnm_ftnl(const Problem& problem, Generator& rng, Record& record) {
    noisy_leader(problem, rng, record, 1.0 / problem.epsilon);
}

int main(int count, char** words) {
    return program<Player>(count, words,
                           {{"ftl", ftl},
                            {"decreasing_hedge", decreasing_hedge},
                            {"ftnl", ftnl},
                            {"rnm_ftnl", rnm_ftnl}});
}
