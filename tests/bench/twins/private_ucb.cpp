// Private forms of UCB1 that choose in every round.

#include <bit>

#include "twin.hpp"

using namespace twin;

// Cached: means and widths without noise; K fresh Laplace variables a round are the algorithm.
static void naive_dp_ucb(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    const double scale = K * static_cast<double>(problem.T) / problem.epsilon;
    Row total, n, mean, width, noise, index;  // noise: its scale
    for (int j = 0; j < K; ++j) {
        total[j] = mean[j] = rng.bernoulli(problem.means[j]);
        n[j] = width[j] = 1.0;
        noise[j] = scale;
        record.play(j);
    }
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double root = std::sqrt(2.0 * std::log(static_cast<double>(t)));
        for (int j = 0; j < K; ++j)
            index[j] = mean[j] + root * width[j] + rng.laplace(noise[j]);
        const int arm = argmax(index, K, rng);
        record.play(arm);
        total[arm] += rng.bernoulli(problem.means[arm]);
        n[arm] += 1.0;
        mean[arm] = total[arm] / n[arm];
        width[arm] = 1.0 / std::sqrt(n[arm]);
        noise[arm] = scale / n[arm];
    }
}

// Cached: (noisy sum + B) / n, 1/sqrt(n), and of each arm's tree the noise summed over the tiles
// of a prefix down to each level, so that a pull takes one draw. The bound B is "union".
static void dp_ucb(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    const int L = static_cast<int>(std::bit_width(static_cast<uint64_t>(problem.T)));
    const double scale = L / problem.epsilon;
    const double tail = std::log(2.0 / 0.1) + std::log(K * static_cast<double>(problem.T));
    const double B = scale * std::sqrt(std::max<double>(L, tail)) * std::sqrt(8.0 * tail);
    Row total, width, mean, index;
    Counts n;
    double tiles[MOST][64];
    const auto pull = [&](int j) {
        record.play(j);
        total[j] += rng.bernoulli(problem.means[j]);
        const uint64_t count = ++n[j], larger = count & (count - 1);
        double noise = rng.laplace(scale);
        if (larger != 0) noise += tiles[j][std::countr_zero(larger)];
        tiles[j][std::countr_zero(count)] = noise;
        const double pulls = static_cast<double>(count);
        mean[j] = (total[j] + noise + B) / pulls;
        width[j] = 1.0 / std::sqrt(pulls);
    };
    for (int j = 0; j < K; ++j) {
        total[j] = 0.0;
        n[j] = 0;
        pull(j);
    }
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double root = std::sqrt(2.0 * std::log(static_cast<double>(t)));
        for (int j = 0; j < K; ++j) index[j] = mean[j] + root * width[j];
        pull(argmax(index, K, rng));
    }
}

// Cached: private means and the two factors of ln t in each index. A batch's rewards are one
// binomial, drawn when the batch is full: nothing looks at them before.
static void anytime_lazy_ucb(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row mean, width, bonus, index;
    Counts O, N;
    const auto batch = [&](int j, int64_t n) {
        O[j] = n;
        N[j] = 2 * n;  // rounds until the next batch is full
        const double size = static_cast<double>(n);
        mean[j] = (rng.binomial(n, problem.means[j]) + rng.laplace(1.0 / problem.epsilon)) / size;
        width[j] = std::sqrt(3.0 / size);
        bonus[j] = 3.0 / (problem.epsilon * size);
    };
    for (int j = 0; j < K; ++j) {
        batch(j, 1);
        record.play(j);
    }
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double log_t = std::log(static_cast<double>(t)), root = std::sqrt(log_t);
        for (int j = 0; j < K; ++j) index[j] = mean[j] + root * width[j] + log_t * bonus[j];
        const int arm = argmax(index, K, rng);
        record.play(arm);
        if (--N[arm] == 0) batch(arm, 2 * O[arm]);
    }
}

int main(int count, char** words) {
    return program<Player>(count, words,
                           {{"naive_dp_ucb", naive_dp_ucb},
                            {"dp_ucb", dp_ucb},
                            {"anytime_lazy_ucb", anytime_lazy_ucb}});
}
