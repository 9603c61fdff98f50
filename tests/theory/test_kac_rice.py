import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import generator, seeds
from theory import ArgumentError, complexity
from theory.kac_rice import expected_by_index, expected_critical_points
from theory.kac_rice_by_index import by_counting
from theory.mixtures import Mixture

# Totals of the reference, all digits; LW stands for the law as printed, indep for independent layers, p = 10.
REFERENCE = {
    "pure 3": (Mixture.pure(3), {4: 18.79023380103015, 5: 31.49691420943657, 8: 124.09198604727099,
                                 10: 286.91587955004934, 50: 741791537.3950119}),
    "pure 4": (Mixture.pure(4), {5: 65.88635910740263, 8: 464.8111260165989, 20: 572929.2250168733}),
    "LW 0.1": (Mixture.from_depth_law(10, 0.1), {4: 6.434332524065059, 5: 7.490490045025809, 8: 9.72508946990213,
                                                 50: 7.416550168089627, 200: 3.742278015841168}),
    "indep 0.1": (Mixture.from_depth_law(10, 0.1, "independent"),
                  {5: 2.2525155068731486, 8: 2.0869320017475994, 50: 2.0000138243043857, 100: 2.0000000037691112}),
}  # fmt: skip
# Reference table, 6 digits.
TABLE = {0.5: {5: 73.5341, 8: 565.367}, 1.0: {5: 154.869, 8: 2124.80}, 2.0: {5: 265.406, 8: 5513.43}}
# N = 5 and 8 by index: Monte Carlo means and standard errors of the reference (independent samples).
BY_INDEX = {
    ("pure 3", 5): ((3.9988119, 0.0010032), (7.3750765, 0.0008876), (8.7491374, 0.0009523)),
    ("pure 4", 5): ((6.7882950, 0.0027649), (15.9737958, 0.0024656), (20.3621775, 0.0031351)),
    ("LW 0.1", 5): ((1.7263997, 0.0000914), (1.3725500, 0.0000829), (1.2925908, 0.0000502)),
    ("LW 0.1", 8): ((1.6653314, 0.0001890), (1.2074232, 0.0001465), (1.0300957, 0.0000773), (0.9596945, 0.0000338)),
}

ratios = st.floats(1e-3, 1e2, allow_subnormal=False)


def mixture_of_ratio(ratio):
    """Weights at r = 1 and one larger degree p, chosen so that nu''/nu' = ratio."""
    p = max(3, math.ceil(ratio) + 2)
    heavy = ratio / (p * (p - 1) - ratio * (p - 1))
    mixture = Mixture(np.concatenate(([1 - heavy], np.zeros(p - 2), [heavy])))
    assert mixture.ratio == pytest.approx(ratio)
    return mixture


@pytest.mark.parametrize("case", REFERENCE)
def test_totals_of_the_reference(case):
    mixture, totals = REFERENCE[case]
    for n, total in totals.items():
        found = expected_critical_points(n, mixture)
        assert found.value == pytest.approx(total, rel=tolerances.KAC_RICE_RELATIVE)
        assert (found.standard_error, found.method) == (0, "quadrature")


@pytest.mark.parametrize("beta", TABLE)
def test_totals_of_the_table(beta):
    for n, total in TABLE[beta].items():
        value = expected_critical_points(n, Mixture.from_depth_law(10, beta)).value
        assert value == pytest.approx(total, rel=tolerances.PRINTED_SIX_DIGITS)


@given(ratios)
def test_circle_and_sphere_have_closed_forms_on_both_sides_of_one(ratio):
    mixture = mixture_of_ratio(ratio)
    ratio = mixture.ratio
    root = math.sqrt(3 * ratio + 1)
    for n, total in ((2, 2 * root), (3, 2 + 8 * ratio**1.5 / root)):
        assert expected_critical_points(n, mixture).value == pytest.approx(total, rel=tolerances.KAC_RICE_RELATIVE)
        by_index = expected_by_index(n, mixture)
        assert sum(each.value for each in by_index) == pytest.approx(total, rel=tolerances.KAC_RICE_RELATIVE)
        # Euler characteristic: minima - saddles + maxima, 0 on the circle and 2 on the sphere.
        euler = sum((-1) ** k * each.value for k, each in enumerate(by_index))
        assert euler == pytest.approx(1 + (-1) ** (n - 1), abs=tolerances.KAC_RICE_RELATIVE * total)
        # Morse: at least as many saddles as extrema beyond the first of each.
        assert by_index[0].value == by_index[-1].value >= 1
        assert {each.method for each in by_index} == {"closed form"}


@given(st.integers(2, 40), st.floats(0.05, 20), seeds)
def test_totals_depend_on_the_ratio_alone(n, ratio, seed):
    two = mixture_of_ratio(ratio)
    # Another mixture with the same ratio: spread over the degrees, its weight at r = 1 or p moved to match.
    p = max(3, math.ceil(two.ratio) + 3)
    weights = generator(seed).dirichlet(np.ones(p))
    degrees = np.arange(1.0, p + 1)
    surplus = weights @ (degrees * (degrees - 1 - two.ratio))
    end = 0 if surplus > 0 else p - 1
    weights[end] += surplus / (degrees[end] * (two.ratio + 1 - degrees[end]))
    other = Mixture(weights / weights.sum())
    first, second = (expected_critical_points(n, mixture) for mixture in (two, other))
    assert first.log_value == pytest.approx(second.log_value, abs=n * tolerances.KAC_RICE_RELATIVE)


@pytest.mark.parametrize("n", [2, 3, 7, 64, 301, 2000])
def test_ratio_one_has_two_points_a_dimension(n):
    assert expected_critical_points(n, Mixture.pure(2)).value == pytest.approx(2 * n, rel=tolerances.KAC_RICE_RELATIVE)


@given(st.integers(2, 100), ratios, st.floats(1.01, 3))
def test_totals_increase_with_the_ratio_and_are_at_least_two(n, ratio, factor):
    """LS Theorem 5 at finite N, in expectation: proved at N = 2, 3, observed here."""
    low, high = (expected_critical_points(n, mixture_of_ratio(value)).log_value for value in (ratio, ratio * factor))
    slack = n * tolerances.KAC_RICE_RELATIVE
    assert math.log(2) - slack <= low <= high + slack


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_the_exponent_of_the_total_is_the_limit(beta):
    mixture = Mixture.from_depth_law(10, beta)
    limit = complexity.total(mixture)
    # Difference (log N)/(2N) + c/N with c of order 1.
    n = 800
    assert abs(expected_critical_points(n, mixture).log_value / n - limit) < (0.5 * math.log(n) + 2) / n


def test_the_prefactor_of_the_total():
    """E Crt_N ~ R^(N/2) (4 sqrt 2 / sqrt pi) sqrt(N / (R-1)); the ratio at R = 2, N = 800 is 0.9987."""
    log_ratio = expected_critical_points(800, Mixture.pure(3)).log_value - 400 * math.log(2)
    assert math.exp(log_ratio) / (4 * math.sqrt(2 * 800 / math.pi)) == pytest.approx(0.9987, abs=5.1e-5)


def test_values_beyond_float64_keep_their_logarithm():
    found = expected_critical_points(2000, Mixture.pure(10))
    assert found.value == math.inf
    assert found.log_value / 2000 == pytest.approx(math.log(9) / 2, abs=4e-3)


@pytest.mark.parametrize(("case", "n"), BY_INDEX)
def test_counts_by_index_against_the_reference(case, n):
    mixture = REFERENCE[case][0]
    exact, sampled = expected_by_index(n, mixture), expected_by_index(n, mixture, samples=6000, seed=20163)
    for k, (mean, error) in enumerate(BY_INDEX[case, n]):
        for each, estimate in ((exact[k], sampled[k]), (exact[n - 1 - k], sampled[n - 1 - k])):
            assert (each.method, estimate.method) == ("quadrature", "sampled")
            assert abs(each.value - mean) < tolerances.STANDARD_ERRORS * error
            assert abs(each.value - estimate.value) < tolerances.STANDARD_ERRORS * estimate.standard_error


@pytest.mark.parametrize("mixture", [Mixture.pure(3), *(Mixture.from_depth_law(10, b) for b in (0.03, 0.1, 0.5))])
@pytest.mark.parametrize("n", [4, 7, 12])
@pytest.mark.parametrize("below", [None, -1.0, 0.3])
def test_index_sums_are_the_total_and_euler_holds(mixture, n, below):
    """Exactly where exact; within standard errors where sampled, indices that no spectrum reached aside."""
    total = expected_critical_points(n, mixture, below=below).value
    euler = 1 + (-1) ** (n - 1)
    exact = expected_by_index(n, mixture, below)
    slack = tolerances.KAC_RICE_RELATIVE * expected_critical_points(n, mixture).value
    assert math.fsum(each.value for each in exact) == pytest.approx(total, abs=slack)
    sampled = expected_by_index(n, mixture, below, samples=3000, seed=20164)
    error = math.fsum(each.standard_error for each in sampled)
    assert abs(math.fsum(each.value for each in sampled) - total) <= tolerances.STANDARD_ERRORS * error
    if below is None:
        for counts, allowed in ((exact, slack), (sampled, tolerances.STANDARD_ERRORS * error)):
            assert abs(math.fsum((-1) ** k * each.value for k, each in enumerate(counts)) - euler) <= allowed
            assert [each.value for each in counts] == pytest.approx([each.value for each in counts[::-1]])
    for one, other in zip(exact, sampled, strict=True):
        if other.standard_error > 0.01 * (1 + other.value):
            assert abs(one.value - other.value) < tolerances.STANDARD_ERRORS * other.standard_error
    assert expected_critical_points(n, mixture, 1, below) == exact[1]


@given(st.integers(2, 3), ratios)
def test_the_laws_of_eigenvalues_reproduce_the_closed_forms(n, ratio):
    mixture = mixture_of_ratio(ratio)
    closed = [each.value for each in expected_by_index(n, mixture)]
    np.testing.assert_allclose(
        by_counting(n, mixture, None), closed, rtol=0, atol=tolerances.KAC_RICE_RELATIVE * sum(closed)
    )


@given(st.integers(4, 12), st.floats(0.05, 10))
def test_morse_inequalities_hold_in_expectation(n, ratio):
    """Each function has c_k - c_{k-1} + ... >= (-1)^k (and >= b_0 = 1 for minima); expectations inherit it."""
    counts = [each.value for each in expected_by_index(n, mixture_of_ratio(ratio))]
    slack = tolerances.KAC_RICE_RELATIVE * sum(counts)
    running = 0.0
    for k in range(n):
        running = counts[k] - running
        betti = (-1) ** k if k < n - 1 else 1 + (-1) ** (n - 1)
        assert running >= betti - slack


@given(st.integers(2, 12), st.floats(0.02, 1.5), st.lists(st.floats(-3, 3), min_size=2, max_size=5))
def test_energy_resolved_totals_are_a_distribution_function(n, beta, levels):
    mixture = Mixture.from_depth_law(8, beta)
    counts = [expected_critical_points(n, mixture, below=level).value for level in sorted(levels)]
    total = expected_critical_points(n, mixture).value
    slack = tolerances.KAC_RICE_RELATIVE * total
    assert all(low <= high + slack for low, high in itertools.pairwise(counts))
    assert expected_critical_points(n, mixture, below=50.0).value == pytest.approx(total)
    # H and -H have the same law, so half of all points lie below energy 0.
    assert expected_critical_points(n, mixture, below=0.0).value == pytest.approx(total / 2)
    mirrored = expected_critical_points(n, mixture, below=levels[0]).value
    assert mirrored + expected_critical_points(n, mixture, below=-levels[0]).value == pytest.approx(total)


def test_pure_models_are_the_limit_of_small_spread_in_energy():
    nearly = Mixture([0, 0, 1 - 1e-9, 1e-9])
    for below in (-1.8, -1.0, 0.4):
        pure = expected_critical_points(6, Mixture.pure(3), below=below).value
        assert expected_critical_points(6, nearly, below=below).value == pytest.approx(pure, rel=1e-3)


def circle_counts(mixture, level, samples, rng):
    """Critical points and minima of a sampled polynomial on the circle, all and below ``level``, by sign changes."""
    p = mixture.weights.size
    angles = np.linspace(0, 2 * math.pi, 720, endpoint=False)
    cosine, sine = np.cos(angles), np.sin(angles)
    features = np.stack([
        math.sqrt(mixture.weights[r - 1] * math.comb(r, a)) * cosine**a * sine ** (r - a)
        for r in range(1, p + 1) if mixture.weights[r - 1] > 1e-12 for a in range(r + 1)
    ])  # fmt: skip
    fields = rng.standard_normal((samples, len(features))) @ features
    rising = np.roll(fields, -1, axis=1) > fields
    minima, maxima = ~np.roll(rising, 1, axis=1) & rising, np.roll(rising, 1, axis=1) & ~rising
    low = fields <= level
    return [each.sum(axis=1) for each in (minima | maxima, (minima | maxima) & low, minima & low)]


@pytest.mark.parametrize(
    "mixture", [Mixture.pure(3), Mixture.pure(4), *(Mixture.from_depth_law(10, b) for b in (0.1, 1.0))]
)
def test_counted_points_of_sampled_fields_on_the_circle(mixture):
    """Twelve comparisons; the grid of 720 angles misses pairs closer than half a degree, a share below 1e-3."""
    below = -0.5
    counts = circle_counts(mixture, math.sqrt(2) * below, 3000, np.random.default_rng(20165))
    minima = expected_critical_points(2, mixture, 0, below)
    expected = [expected_critical_points(2, mixture), expected_critical_points(2, mixture, below=below), minima]
    for count, exact in zip(counts, expected, strict=True):
        error = math.hypot(count.std(ddof=1) / math.sqrt(3000), exact.standard_error)
        assert abs(count.mean() - exact.value) < tolerances.STANDARD_ERRORS * error


def test_a_linear_field_has_one_minimum_and_one_maximum():
    mixture = Mixture.pure(1)
    by_index = expected_by_index(6, mixture)
    assert [each.value for each in by_index] == [1, 0, 0, 0, 0, 1]
    assert expected_critical_points(6, mixture).value == 2
    # nu'' -> 0 continues it, energies included.
    nearly = Mixture([1 - 1e-5, 1e-5])
    assert expected_critical_points(6, nearly).value == pytest.approx(2, abs=1e-3)
    for below in (-1.2, -0.7, 0.9):
        found = expected_critical_points(6, nearly, below=below).value
        assert found == pytest.approx(expected_critical_points(6, mixture, below=below).value, abs=1e-3)


def test_minima_of_a_trivial_landscape_are_found_where_no_sample_is():
    """beta = 0.03, N = 40: the minimum sits at an eigenvalue far outside the bulk; E Crt -> 2."""
    by_index = expected_by_index(40, Mixture.from_depth_law(10, 0.03), samples=500)
    assert by_index[0].method == "sampled"
    assert by_index[0].value == pytest.approx(1, abs=1e-3)
    assert by_index[-1].value == pytest.approx(1, abs=1e-3)
    assert abs(by_index[20].value) < 1e-3


def test_the_seed_repeats_a_count():
    first, second, other = (expected_critical_points(5, Mixture.pure(3), 1, samples=50, seed=s) for s in (1, 1, 2))
    assert first == second != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, "n = 1: must be a whole number at least 2"),
        ({"index": 5}, "index = 5: must be a whole number between 0 and 4"),
        ({"index": 1, "samples": 1}, "samples = 1"),
        ({"index": 1, "seed": -1}, "seed = -1"),
        ({"below": math.nan}, "below = nan"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        expected_critical_points(**{"n": 5, "mixture": Mixture.pure(3), **arguments})


def test_two_thousand_dimensions(benchmark):
    found = benchmark(expected_critical_points, 2000, Mixture.from_depth_law(10, 0.05))
    assert found.value == pytest.approx(2, rel=tolerances.KAC_RICE_RELATIVE)
