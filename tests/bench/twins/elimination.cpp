// Successive elimination, with and without privacy: an epoch is one binomial for each arm.

#include "twin.hpp"

using namespace twin;

static void eliminate(const Problem& problem, Generator& rng, Record& record, double epsilon) {
    const double beta = 1.0 / static_cast<double>(problem.T);
    std::vector<int> arms(problem.K);
    for (int j = 0; j < problem.K; ++j) arms[j] = j;
    Row mean;
    int64_t t = 0;
    double epoch = 0.0, Delta = 1.0;
    while (arms.size() > 1 && t < problem.T) {
        const int S = static_cast<int>(arms.size());
        epoch += 1.0;
        Delta /= 2.0;
        const double log8 = std::log(8.0 * S * epoch * epoch / beta);
        const double log4 = std::log(4.0 * S * epoch * epoch / beta);
        const double R =
            std::max(32.0 * log8 / (Delta * Delta), 8.0 * log4 / (epsilon * Delta)) + 1.0;
        const double needed = std::min(std::ceil(R), static_cast<double>(problem.T));
        const auto passes = static_cast<int64_t>(needed);
        if (passes > (problem.T - t) / S)
            return record.play_in_turn(arms.data(), S, problem.T - t);
        record.play_in_turn(arms.data(), S, passes * S);
        t += passes * S;
        double best = -INF;
        for (int i = 0; i < S; ++i) {
            mean[i] = rng.binomial(passes, problem.means[arms[i]]) / needed;
            if (epsilon < INF) mean[i] += rng.laplace(1.0 / (epsilon * needed));
            best = std::max(best, mean[i]);
        }
        const double far = 2.0 * std::sqrt(log8 / (2.0 * R)) + 2.0 * log4 / (R * epsilon);
        std::size_t kept = 0;
        for (int i = 0; i < S; ++i)
            if (best - mean[i] <= far) arms[kept++] = arms[i];
        arms.resize(kept);
    }
    if (t < problem.T) record.play(arms[0], problem.T - t);
}

static void dp_se(const Problem& problem, Generator& rng, Record& record) {
    eliminate(problem, rng, record, problem.epsilon);
}

static void successive_elimination(const Problem& problem, Generator& rng, Record& record) {
    eliminate(problem, rng, record, INF);
}

int main(int count, char** words) {
    return program<Player>(
        count, words,
        {{"dp_se", dp_se}, {"successive_elimination", successive_elimination}});
}
