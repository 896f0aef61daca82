"""The stopping_rule family: outcomes, horizons, samples, and what the registry promises of them."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest
from numba import njit
from scipy import stats

from algos import InputError, algorithms, replay, simulate
from algos.environments import pull
from algos.instances import resolve
from algos.random.seeding import state

RULES = [entry.name for entry in algorithms() if entry.family == "stopping_rule"]
COIN = {"name": "two_point", "mu": 0.5}


@njit
def block(env, rng, t, n, step):
    return pull(env, rng, 0, t, n, step)


@pytest.mark.parametrize("name", RULES)
def test_a_simulation_has_scalars_and_no_regret(name):
    result = simulate(name, COIN, epsilon=1.0, T=10**9, replicates=50, alpha=0.2, beta=0.1)
    assert result.regret.shape == (50, 0) and result.checkpoints.shape == (0,)
    assert result.stop_time.shape == result.estimate.shape == result.halted.shape == (50,)
    kinds = (result.stop_time.dtype, result.estimate.dtype, result.halted.dtype)
    assert kinds == (np.int64, np.float64, np.bool_)
    assert result.halted.all() and (np.abs(result.estimate - 0.5) < 0.1).all()


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_runs_out_of_samples_says_so(name):
    full = simulate(name, COIN, epsilon=1.0, T=10**6, replicates=20)
    T = int(np.median(full.stop_time)) - 1
    cut = simulate(name, COIN, epsilon=1.0, T=T, replicates=20)
    assert np.array_equal(cut.halted, full.stop_time <= T)
    assert np.array_equal(cut.stop_time, np.minimum(full.stop_time, T))
    assert np.array_equal(cut.estimate, np.where(cut.halted, full.estimate, np.nan), equal_nan=True)
    least = simulate(name, COIN, epsilon=1.0, T=1)
    assert least.stop_time.tolist() == [1] and not least.halted[0] and np.isnan(least.estimate[0])


@pytest.mark.parametrize("name", RULES)
def test_a_replay_marks_the_samples_and_releases_the_private_estimate(name):
    T = 30_000
    result = simulate(name, COIN, epsilon=1.0, T=T, seed=4)
    one = replay(name, COIN, epsilon=1.0, T=T, seed=4)
    stop = int(result.stop_time[0])
    assert result.halted[0] and stop < T
    assert (one.actions[:stop] == 0).all() and (one.actions[stop:] == -1).all()
    if name == "nas":
        assert one.message_value.size == 0
    else:
        assert one.message_round.tolist() == [stop] and one.message_arm.tolist() == [0]
        assert one.message_value.tolist() == result.estimate.tolist()
    short = replay(name, COIN, epsilon=1.0, T=stop - 1, seed=4)
    assert (short.actions == 0).all() and short.message_value.size == 0


def test_without_noise_dp_nas_is_nas_at_a_quarter_of_beta():
    """16t²/β = 4t²/(β/4) exactly in float64; at β itself the two differ."""
    rng = np.random.default_rng(1)
    stops = []
    for _ in range(20):
        raw = np.clip(rng.uniform(-1, 1) + 0.3 * rng.normal(size=2000), -1, 1)
        samples = (np.rint(raw * 2.0**30) / 2.0**30).tolist()  # exact sums, block by block
        instance = {"name": "sample_table", "samples": samples}
        given = {"T": 2000, "alpha": 0.8}
        private = simulate("dp_nas", instance, epsilon=inf, beta=0.2, **given)
        plain = [simulate("nas", instance, beta=beta, **given) for beta in (0.05, 0.2)]
        assert private.stop_time == plain[0].stop_time
        assert np.array_equal(private.estimate, plain[0].estimate, equal_nan=True)
        stops.append((int(private.stop_time[0]), int(plain[1].stop_time[0])))
    assert any(a != b for a, b in stops)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("mu", [1.0, -1.0])
def test_constant_samples(name, mu):
    result = simulate(name, {"name": "two_point", "mu": mu}, epsilon=inf, T=10**6, replicates=3)
    assert result.halted.all() and (result.estimate == mu).all() and np.ptp(result.stop_time) == 0


def test_an_impossible_accuracy_never_halts():
    for name in RULES:
        result = simulate(name, COIN, epsilon=1e-9, T=10**18, alpha=1e-300)
        assert result.stop_time.tolist() == [10**18] and not result.halted[0]


def test_skipping_rules_reach_far_horizons():
    far = simulate("dp_exp_nas", {"name": "two_point", "mu": 0.0}, epsilon=1.0, T=10**18)
    assert far.stop_time.tolist() == [10**18] and not far.halted[0]
    for name in RULES:
        tiny = simulate(name, {"name": "two_point", "mu": 3e-4}, epsilon=0.1, T=10**18)
        assert tiny.halted[0] and tiny.stop_time[0] > 10**9
        assert abs(tiny.estimate[0] - 3e-4) < 3e-5


SPECIFICATIONS = [
    ({"name": "two_point", "mu": -0.6, "R": 2.0}, 4.0 - 0.36),
    ({"name": "bounded_uniform", "mu": 0.6, "width": 0.3, "R": 2.0}, 0.09 / 12),
    ({"name": "bounded_uniform", "mu": -0.25}, 1.5**2 / 12),
]


@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize("n", [1, 2, 60, 10**6])
def test_a_block_has_the_mean_and_variance_of_its_samples(case, n):
    """z of the mean beyond 6: probability < 1e-8; the variance likewise (normal or exact)."""
    specification, variance = SPECIFICATIONS[case]
    if n > 1000 and specification["name"] != "two_point":
        return
    instance = resolve(specification)
    rng = state(n, [case])
    draws = np.array([block(instance.environment, rng, 1, n, 1) for _ in range(4000)])
    R = instance.environment.R
    assert instance.means == (specification["mu"],) and np.abs(draws).max() <= n * R
    assert abs(draws.mean() - n * instance.means[0]) < 6 * sqrt(n * variance / 4000)
    fourth = stats.kurtosis(draws, fisher=False)
    assert abs(draws.var() / (n * variance) - 1) < 7 * sqrt((fourth - 1) / 4000)


def test_a_table_gives_its_samples():
    samples = [0.5, -1.0, 0.25, 1.0, -0.5]
    instance = resolve({"name": "sample_table", "samples": samples, "R": 1})
    rng = state(0)
    assert instance.rounds == 5 and instance.means == (0.05,)
    assert block(instance.environment, rng, 2, 3, 1) == 0.25
    assert block(instance.environment, rng, 1, 3, 2) == 0.25
    assert rng.tolist() == state(0).tolist()
    with pytest.raises(InputError, match=r"from 1 to 5"):
        simulate("nas", {"name": "sample_table", "samples": samples}, T=6)


def test_labels_tell_instances_apart():
    assert resolve(SPECIFICATIONS[2][0]).label == "bounded_uniform(mu=-0.25)"
    labels = [resolve(s).row_label for s, _ in SPECIFICATIONS]
    assert labels == [
        "two_point(mu=-0.6, R=2)",
        "bounded_uniform(mu=0.6, width=0.3, R=2)",
        "bounded_uniform(mu=-0.25, width=1.5, R=1)",
    ]
    one, other = ({"name": "sample_table", "samples": [0.1, x]} for x in (0.2, 0.3))
    assert resolve(one).label != resolve(other).label
    assert resolve({"name": "two_point", "mu": 1, "R": 2}) == resolve(
        {"name": "two_point", "mu": 1.0, "R": 2.0}
    )


@pytest.mark.parametrize(
    ("instance", "says"),
    [
        ({"name": "two_point"}, "mu"),
        ({"name": "two_point", "mu": 1.5}, "[-1, 1]"),
        ({"name": "two_point", "mu": float("nan")}, "nan"),
        ({"name": "two_point", "mu": 0.1, "R": 0}, "> 0"),
        ({"name": "two_point", "mu": 0.1, "R": inf}, "> 0"),
        ({"name": "two_point", "mu": True}, "True"),
        ({"name": "bounded_uniform", "mu": 0.1, "widht": 1}, "closest: width"),
        ({"name": "bounded_uniform", "mu": 0.8, "width": 0.5}, "[0, 0.4]"),
        ({"name": "bounded_uniform", "mu": 0.8, "width": -0.1}, "width"),
        ({"name": "sample_table", "samples": []}, "samples"),
        ({"name": "sample_table", "samples": [0.5, 2.0]}, "2.0"),
        ({"name": "sample_table", "samples": 0.5}, "a list"),
        ("azize_fig3", "an instance of the family stopping_rule"),
    ],
)
def test_bad_instances_are_one_clear_line(instance, says):
    with pytest.raises(InputError) as caught:
        simulate("dp_exp_nas", instance, epsilon=1.0, T=100)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_other_families_refuse_samples():
    for entry in algorithms():
        if entry.family != "stopping_rule":
            with pytest.raises(InputError, match="an instance of the family"):
                simulate(entry.name, COIN, epsilon=1.0, T=100)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("change", [{"alpha": 1.0}, {"alpha": 0}, {"beta": 1}, {"beta": 0.0}])
def test_alpha_and_beta_have_ranges(name, change):
    with pytest.raises(InputError, match=next(iter(change))):
        simulate(name, COIN, epsilon=1.0, T=100, **change)


REPLICATES = 10_000
# Small samples and wide radii, so that a rule that halts too early would be seen to err.
SETTINGS = [(0.5, 0.05, 0.3, 0.3), (0.2, 0.08, -0.5, 3.0), (0.9, 0.05, 0.02, 1.0)]


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("alpha", "beta", "mu", "epsilon"), SETTINGS)
def test_the_estimate_is_as_good_as_promised(name, alpha, beta, mu, epsilon):
    """10,000 replicates: |estimate - mu| > alpha |mu| in no more of them than Binomial(n, beta)
    exceeds with probability 1e-9 (exact tail; a right rule fails here with at most that).
    """
    result = simulate(
        name, {"name": "two_point", "mu": mu}, epsilon=epsilon, T=10**12, replicates=REPLICATES,
        alpha=alpha, beta=beta,
    )  # fmt: skip
    assert result.halted.all()
    errors = int((np.abs(result.estimate - mu) > alpha * abs(mu)).sum())
    assert errors <= stats.binom.isf(1e-9, REPLICATES, beta)


@pytest.mark.slow
def test_the_guarantee_test_can_fail():
    """A rule for α = 0.9 is no rule for α = 0.01: the count of errors says so."""
    result = simulate(
        "dp_exp_nas", {"name": "two_point", "mu": 0.5}, epsilon=1.0, T=10**12,
        replicates=REPLICATES, alpha=0.9, beta=0.9,
    )  # fmt: skip
    errors = int((np.abs(result.estimate - 0.5) > 0.01 * 0.5).sum())
    assert errors > stats.binom.isf(1e-9, REPLICATES, 0.05)


def test_dp_exp_nas_halts_by_the_bound_of_theorem_3_3():
    """Of 2000 replicates no more are late than Binomial(2000, β) exceeds with probability 1e-9."""
    alpha, beta = 0.1, 0.05
    for mu, epsilon in ((0.5, 1.0), (0.1, 0.01), (0.01, 0.1)):
        inner = log(1 / beta * log(1 / (alpha * mu)))
        t0, t1 = inner / (alpha * mu) ** 2, inner / (epsilon * mu)
        t2 = log(1 / beta) / (epsilon * alpha * mu)
        result = simulate(
            "dp_exp_nas", {"name": "two_point", "mu": mu}, epsilon=epsilon, T=10**15,
            replicates=2000, alpha=alpha, beta=beta,
        )  # fmt: skip
        late = int((result.stop_time > 2000 * (t0 + t1 + t2)).sum())
        assert late <= stats.binom.isf(1e-9, 2000, beta)


SPREAD = 240  # values of μ within an octave


def extra_samples(epsilon: float, alpha: float, mu: float, seed: int) -> np.ndarray:
    """Samples of dp_exp_nas beyond its noiseless version, for SPREAD random |μ| within an octave
    of `mu`, each scaled back to `mu`: averaging over the octave removes the powers of two.
    """
    factors = 2.0 ** np.random.default_rng(seed).uniform(-0.5, 0.5, SPREAD)
    extra = []
    for factor in factors:
        instance = {"name": "two_point", "mu": mu * float(factor)}
        private, plain = (
            simulate("dp_exp_nas", instance, epsilon=e, T=10**18, alpha=alpha, replicates=3)
            for e in (epsilon, inf)
        )
        extra.append(factor * float((private.stop_time - plain.stop_time).mean()))
    return np.array(extra)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", np.geomspace(1e-10, 1e-8, 5)),
        ("alpha", np.geomspace(2e-4, 2e-3, 5)),
        ("mu", np.geomspace(0.02, 0.5, 5)),
    ],
)
def test_the_price_of_privacy_scales_as_one_over_epsilon_alpha_mu(name, values):
    """Fitted exponents of the extra samples, 95 % intervals, around ε = 1e-9, α = 1e-3, μ = 0.1:
    ε -1.002 [-1.009, -0.995],
    α -0.997 [-1.011, -0.984], |μ| -1.005 [-1.015, -0.995]; Theorems 3.3 and 3.4 say -1 each.

    The logarithms of c_t and the noiseless part move an exponent by less than 0.03 here. Beyond
    that the test allows 4.9 standard errors: a false alarm has probability 1e-6 a parameter.
    """
    base = {"epsilon": 1e-9, "alpha": 1e-3, "mu": 0.1}
    x = np.log(values) - np.log(values).mean()
    logs, errors = [], []
    for number, value in enumerate(values):
        extra = extra_samples(**(base | {name: float(value)}), seed=number)
        logs.append(log(extra.mean()))
        errors.append(stats.sem(extra) / extra.mean())
    exponent = float(x @ logs / (x @ x))
    error = float(sqrt(x**2 @ np.square(errors)) / (x @ x))
    assert error < 0.012
    assert abs(exponent + 1.0) < 0.03 + 4.9 * error
