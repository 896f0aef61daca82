// UCB1, KL-UCB, MOSS and IMED, round by round.

#include "kl.hpp"

using namespace twin;

// Cached: means and 1/sqrt(n). Every index moves with ln t, so each is formed in every round.
static void ucb1(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row total, n, mean, width, index;
    for (int j = 0; j < K; ++j) {
        total[j] = mean[j] = rng.bernoulli(problem.means[j]);
        n[j] = width[j] = 1.0;
        record.play(j);
    }
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double root = std::sqrt(2.0 * std::log(static_cast<double>(t)));
        for (int j = 0; j < K; ++j) index[j] = mean[j] + root * width[j];
        const int arm = argmax(index, K, rng);
        record.play(arm);
        total[arm] += rng.bernoulli(problem.means[arm]);
        n[arm] += 1.0;
        mean[arm] = total[arm] / n[arm];
        width[arm] = 1.0 / std::sqrt(n[arm]);
    }
}

// Cached: means and entropies. Only the index q of the arm played last is computed, by Newton from
// its value before. Another arm's is larger where d(its mean, q) < ln t / n, which with ln q and
// ln(1 - q) at hand takes no further logarithm; then that arm's q is computed and is the one to
// beat. Arms in the same state tie, as do those that never missed (their index is 1).
static void kl_ucb(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row total, n, mean, H, guess;
    int perfect = 0;  // arms of mean 1
    for (int j = 0; j < K; ++j) {
        total[j] = mean[j] = rng.bernoulli(problem.means[j]);
        n[j] = 1.0;
        H[j] = guess[j] = 0.0;
        perfect += mean[j] == 1.0;
        record.play(j);
    }
    int arm = 0;
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double budget = std::log(static_cast<double>(t));
        if (perfect > 0) {
            int wanted = perfect > 1 ? rng.below(perfect) : 0;
            for (arm = 0; mean[arm] != 1.0 || wanted-- > 0;) ++arm;
        } else {
            Upper top = kl_upper(mean[arm], budget / n[arm] + H[arm], guess[arm]);
            const auto reaches = [&](int j, double level) {  // arm j's index that of `arm`
                const double d = (1.0 - mean[j]) * top.z - mean[j] * top.log_q - H[j];
                return (n[j] * d < level) | (mean[j] > top.q);
            };
            int near = 0;
            for (int j = 0; j < K; ++j) near += reaches(j, budget * (1.0 + 1e-6));
            if (near > 1) {
                const auto same = [&](int j) { return n[j] == n[arm] && total[j] == total[arm]; };
                for (int j = 0; j < K; ++j) {
                    if (same(j) || !reaches(j, budget)) continue;
                    guess[arm] = top.z;
                    arm = j;
                    top = kl_upper(mean[arm], budget / n[arm] + H[arm], guess[arm]);
                }
                int tied = 0;
                for (int j = 0; j < K; ++j) tied += same(j);
                int j = 0, wanted = tied > 1 ? rng.below(tied) : 0;
                while (!same(j) || wanted-- > 0) ++j;
                arm = j;
            }
            guess[arm] = top.z;
        }
        record.play(arm);
        perfect -= mean[arm] == 1.0;
        total[arm] += rng.bernoulli(problem.means[arm]);
        n[arm] += 1.0;
        mean[arm] = total[arm] / n[arm];
        perfect += mean[arm] == 1.0;
        H[arm] = entropy(mean[arm]);
    }
}

// Cached: all indices but that of the arm being played, and the largest of them: nothing moves
// with t, so an arm is played until its own index has fallen to that. A tie is kept as long as the
// index stays the same number.
static void moss(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    const double log_share = std::log(static_cast<double>(problem.T) / K);
    Row total, n, index;
    const auto refresh = [&](int j) {
        const double excess = std::max(0.0, log_share - std::log(n[j]));
        index[j] = total[j] / n[j] + std::sqrt(excess / n[j]);
    };
    for (int j = 0; j < K; ++j) {
        total[j] = rng.bernoulli(problem.means[j]);
        n[j] = 1.0;
        refresh(j);
        record.play(j);
    }
    for (int64_t t = K; t < problem.T;) {
        const int arm = argmax(index, K, rng);
        double others = -INF, before;
        for (int j = 0; j < K; ++j)
            if (j != arm) others = std::max(others, index[j]);
        do {
            ++t;
            record.play(arm);
            total[arm] += rng.bernoulli(problem.means[arm]);
            n[arm] += 1.0;
            before = index[arm];
            refresh(arm);
        } while (t < problem.T && (index[arm] > others || index[arm] == before));
    }
}

// Cached: means, entropies, ln n, the best mean and its logarithms: while it stays, only the index
// of the arm just played changes; when it moves, each index is n times two products.
static void imed(const Problem& problem, Generator& rng, Record& record) {
    const int K = problem.K;
    Row total, n, mean, H, log_n, index;  // index: with the sign turned, for argmax
    for (int j = 0; j < K; ++j) {
        total[j] = mean[j] = rng.bernoulli(problem.means[j]);
        n[j] = 1.0;
        H[j] = log_n[j] = 0.0;
        record.play(j);
    }
    double best = -1.0, log_best = 0.0, log_rest = 0.0;
    const auto refresh = [&](int j) {
        const double d = -H[j] - mean[j] * log_best - (1.0 - mean[j]) * log_rest;
        index[j] = -log_n[j] - (mean[j] < best ? n[j] * d : 0.0);
    };
    int arm = 0;
    for (int64_t t = K + 1; t <= problem.T; ++t) {
        const double highest = largest(mean, K);
        if (highest != best) {
            best = highest;
            log_best = std::log(best);
            log_rest = std::log(1.0 - best);
            for (int j = 0; j < K; ++j) refresh(j);
        } else {
            refresh(arm);
        }
        arm = argmax(index, K, rng);
        record.play(arm);
        total[arm] += rng.bernoulli(problem.means[arm]);
        n[arm] += 1.0;
        mean[arm] = total[arm] / n[arm];
        log_n[arm] = std::log(n[arm]);
        H[arm] = entropy(mean[arm]);
    }
}

int main(int count, char** words) {
    return program<Player>(
        count, words, {{"ucb1", ucb1}, {"kl_ucb", kl_ucb}, {"moss", moss}, {"imed", imed}});
}
