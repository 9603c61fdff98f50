import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import generator, seeds
from theory import ArgumentError, complexity, kac_rice
from theory.mixtures import Mixture

indices = st.integers(0, 5)


def random_mixture(seed, p):
    """Weights of every shape; a sparse Dirichlet puts most mass on few degrees, r = 1 included."""
    rng = generator(seed)
    weights = rng.dirichlet(np.full(p, rng.choice([0.3, 1.0, 5.0])))
    return Mixture(weights)


mixtures = st.builds(random_mixture, seeds, st.integers(2, 9)).filter(lambda m: m.variance > 1e-3 and m.second > 1e-2)


def exponent_on_a_grid(mixture, u, outliers, bulk):
    """sup over y of the exponent, straight from its formula."""
    first, second, ratio = mixture.first, mixture.second, mixture.ratio
    y = -np.linspace(2, 40, 400_001)
    if bulk:
        y = np.concatenate((y, -y, np.linspace(-2, 2, 20_001)))
    size = np.maximum(np.abs(y), 2)
    rate = size / 4 * np.sqrt(size**2 - 4) - np.log((size + np.sqrt(size**2 - 4)) / 2)
    mean = first * math.sqrt(second) / (second + first) * y
    inside = -(ratio - 1) * y**2 / (4 * (ratio + 1)) - outliers * rate
    return 0.5 * math.log(ratio) + (inside - (second + first) / (2 * mixture.variance) * (u - mean) ** 2).max()


@given(mixtures, st.floats(-3, 3), indices)
def test_exponents_at_an_energy_against_a_grid(mixture, u, k):
    assume(abs(u) < 12 * math.sqrt(mixture.variance) + 2)  # beyond, the best y leaves the grid
    value = complexity.of_index_at(mixture, u, k)
    expected = exponent_on_a_grid(mixture, u, k + 1, bulk=False)
    assert expected - tolerances.EXPONENT_ABSOLUTE <= value <= expected + tolerances.GRID_MAXIMUM * (1 + abs(expected))
    total, expected = complexity.total_at(mixture, u), exponent_on_a_grid(mixture, u, 1, bulk=True)
    assert expected - tolerances.EXPONENT_ABSOLUTE <= total <= expected + tolerances.GRID_MAXIMUM * (1 + abs(expected))
    assert value <= total + tolerances.EXPONENT_ABSOLUTE
    assert total == pytest.approx(complexity.total_at(mixture, -u), abs=tolerances.EXPONENT_ABSOLUTE)


@given(mixtures, indices)
def test_the_largest_exponent_over_energies_is_that_of_the_index(mixture, k):
    top = complexity.most_frequent_energy(mixture, k)
    value = complexity.of_index(mixture, k)
    assert complexity.of_index_at(mixture, top, k) == pytest.approx(value, abs=tolerances.EXPONENT_ABSOLUTE)
    for away in (0.01, 0.3):
        assert complexity.of_index_at(mixture, top - away, k) < value
        assert complexity.of_index_at(mixture, top + away, k) < value + tolerances.EXPONENT_ABSOLUTE
        below = complexity.of_index_below(mixture, top - away, k)
        assert below == complexity.of_index_at(mixture, top - away, k)
    assert complexity.of_index_below(mixture, top + 0.3, k) == value


@given(mixtures)
def test_the_exponents_hold_on_both_sides_of_ratio_one(mixture):
    values = [complexity.of_index(mixture, k) for k in range(6)]
    total, ratio = complexity.total(mixture), mixture.ratio
    printed = complexity.ls_equation_31(mixture, 0)
    if mixture.regime == "trivial":
        assert total == values[0] == 0
        assert all(low < high for low, high in zip(values[1:], values, strict=False))
        # (31) is the limit of high index, negative although there is a minimum.
        assert printed.printed < values[-1] < 0
        assert complexity.of_index(mixture, 10**6) == pytest.approx(printed.printed, abs=1e-6)
        assert printed.differs
        assert "trivial" in printed.warning
        assert complexity.lowest_energy(mixture) == pytest.approx(math.sqrt(mixture.first))
        energy = -complexity.lowest_energy(mixture)
        assert complexity.of_index_at(mixture, energy) == pytest.approx(0, abs=tolerances.EXPONENT_ABSOLUTE)
    else:
        assert values == [values[0]] * 6
        assert 0 <= values[0] <= total == pytest.approx(0.5 * math.log(ratio))
        assert not printed.differs
        assert printed.warning == ""


@given(mixtures, indices)
def test_indices_separate_at_the_layering_energy(mixture, k):
    level = -complexity.layering_energy(mixture)
    gap = complexity.of_index_at(mixture, level, k)
    assert gap == pytest.approx(mixture.gap / 2, abs=tolerances.EXPONENT_ABSOLUTE)
    above = complexity.of_index_at(mixture, level + 0.05, k)
    below = complexity.of_index_at(mixture, level - 0.05, k)
    assert above == pytest.approx(
        complexity.of_index_at(mixture, level + 0.05, k + 1), abs=tolerances.EXPONENT_ABSOLUTE
    )
    assert below > complexity.of_index_at(mixture, level - 0.05, k + 1)


@pytest.mark.parametrize(("p", "energy"), [(3, 1.656998), (4, 1.794085), (5, 1.887989), (10, 2.135364)])
def test_lowest_energies_of_pure_models(p, energy):
    mixture = Mixture.pure(p)
    assert complexity.lowest_energy(mixture) == pytest.approx(energy, abs=6e-7)
    ladder = [complexity.lowest_energy(mixture, k) for k in range(5)]
    assert all(low > high > complexity.bulk_energy(mixture) for low, high in itertools.pairwise(ladder))
    assert complexity.bulk_energy(mixture) == pytest.approx(2 * math.sqrt((p - 1) / p))
    # A pure model has no point of fixed index above -E'_inf, and E* = E'_inf + something only through alpha > 0.
    assert complexity.of_index_at(mixture, -0.99 * complexity.bulk_energy(mixture)) == -math.inf


@given(st.integers(3, 30), st.floats(0.0, 3.0), indices)
def test_pure_models_follow_the_formula_of_auffinger_ben_arous_cerny(p, away, k):
    """theta_k(u) = 1/2 log(p-1) - (p-2) u^2/(4(p-1)) - (k+1) I_1(u) for u <= -E_inf, E_inf = 2 sqrt((p-1)/p)."""
    bulk = 2 * math.sqrt((p - 1) / p)
    u = -bulk - away
    root = math.sqrt(max(u * u - bulk * bulk, 0.0))
    rate = -u / bulk**2 * root - math.log(-u + root) + math.log(bulk)
    expected = 0.5 * math.log(p - 1) - (p - 2) / (4 * (p - 1)) * u**2 - (k + 1) * rate
    # At the edge y = u/c may round to inside the bulk, where a pure model has nothing.
    value = complexity.of_index_at(Mixture.pure(p), u - 1e-12, k)
    assert value == pytest.approx(expected, abs=tolerances.EXPONENT_ABSOLUTE)


@pytest.mark.parametrize(
    ("beta", "total", "minima"),
    [(0.05, 0, 0), (0.1, 0, 0), (0.2, 0.236014, 0.004287), (0.5, 0.578778, 0.057001), (1.0, 0.775542, 0.125401),
     (2.0, 0.915383, 0.191677)],
)  # fmt: skip
def test_exponents_of_the_reference(beta, total, minima):
    mixture = Mixture.from_depth_law(10, beta)
    assert complexity.total(mixture) == pytest.approx(total, abs=6e-7)
    assert complexity.of_index(mixture) == pytest.approx(minima, abs=6e-7)


def test_equation_31_denies_a_minimum_in_the_trivial_regime():
    """p = 10, beta = 0.05."""
    side_by_side = complexity.ls_equation_31(Mixture.from_depth_law(10, 0.05))
    assert side_by_side.printed == pytest.approx(-0.0553, abs=tolerances.PRINTED_FOUR_DECIMALS)
    assert side_by_side.true == 0
    assert side_by_side.differs
    exact = kac_rice.expected_critical_points(50, Mixture.from_depth_law(10, 0.05)).value
    assert exact == pytest.approx(2.0082, abs=tolerances.PRINTED_FOUR_DECIMALS)


@pytest.mark.parametrize("ratio", [0.05, 0.3])
def test_the_exponent_of_index_one_at_small_ratio_against_exact_counts(ratio):
    """theta_1 for R < 1 is a large-deviation argument; exact counts at N = 12..24 confirm it and refuse Eq. 31.

    log E = theta N + c log N + d + e/N is fitted. (Index 2 needs larger N: its fit still moves by 0.01.)
    """
    k = 1
    heavy = ratio / (6 - 2 * ratio)
    mixture = Mixture([1 - heavy, 0, heavy])
    sizes = np.array([12, 15, 18, 21, 24])
    logs = [kac_rice.expected_by_index(int(n), mixture)[k].log_value for n in sizes]
    terms = np.stack([sizes, np.log(sizes), np.ones(5), 1 / sizes], axis=1)
    slope = np.linalg.lstsq(terms, np.array(logs), rcond=None)[0][0]
    side_by_side = complexity.ls_equation_31(mixture, k)
    assert slope == pytest.approx(side_by_side.true, abs=tolerances.FITTED_EXPONENT)
    assert slope != pytest.approx(side_by_side.printed, abs=tolerances.FITTED_EXPONENT)


@given(seeds, st.integers(3, 12), indices)
def test_ls_theorem_5_without_and_with_a_field_term(seed, p, k):
    mixture = random_mixture(seed, p)
    assume(mixture.weights[-1] < 1 - 1e-9)
    pure = complexity.of_index(Mixture.pure(p), k)
    assert complexity.of_index(mixture, k) < pure
    without = mixture.weights.copy()
    without[0] = 0
    assume(without.sum() > 1e-6)
    without = Mixture(without / without.sum())
    assert without.excess >= -tolerances.MIXTURE_ABSOLUTE  # r >= 2 forces R >= 1
    assert complexity.of_index(without, k) <= pure


@given(st.floats(0, 1))
def test_theorem_5_is_not_unique_at_p_two_with_a_field(weight):
    """for p = 2, k = 0 every mixture ties at 0."""
    mixture = Mixture([1 - weight, weight])
    assert complexity.of_index(mixture, 0) == pytest.approx(0, abs=tolerances.EXPONENT_ABSOLUTE)


@given(st.lists(st.floats(1e-3, 1e2), min_size=2, max_size=2, unique=True), st.integers(3, 40))
def test_exponents_increase_with_beta(betas, p):
    low, high = (Mixture.from_depth_law(p, beta) for beta in sorted(betas))
    assert complexity.total(low) <= complexity.total(high) + tolerances.EXPONENT_ABSOLUTE
    assert complexity.of_index(low) <= complexity.of_index(high) + tolerances.EXPONENT_ABSOLUTE


@given(mixtures)
def test_annealed_lowest_energy_of_a_mixture_is_its_zero(mixture):
    energy = complexity.lowest_energy(mixture)
    assert complexity.of_index_at(mixture, -energy) == pytest.approx(0, abs=1e-9)
    assert complexity.of_index_at(mixture, -energy - 0.1) < 0
    if mixture.regime == "full mixture":
        # Edge-branch zero E'_inf + sqrt(2 alpha^2 f(R) / (nu' + nu'')).
        spread = 2 * mixture.variance * complexity.of_index(mixture) / (mixture.first + mixture.second)
        assert energy == pytest.approx(complexity.bulk_energy(mixture) + math.sqrt(spread), abs=1e-9)


def test_linear_fields_and_missing_points_are_named():
    linear = Mixture.pure(1)
    assert complexity.total(linear) == complexity.of_index(linear) == 0
    assert complexity.of_index(linear, 1) == complexity.ls_equation_31(linear).printed == -math.inf
    assert not complexity.ls_equation_31(linear, 1).differs
    assert complexity.lowest_energy(linear) == 1
    for call in (complexity.of_index_at, complexity.total_at):
        with pytest.raises(ArgumentError, match="a linear field has two critical points"):
            call(linear, -1.0)
    with pytest.raises(ArgumentError, match="index = 1: must be 0: at R < 1 only the minimum and the maximum"):
        complexity.lowest_energy(Mixture.from_depth_law(10, 0.05), 1)
    with pytest.raises(ArgumentError, match="index = -1"):
        complexity.of_index(linear, -1)
    with pytest.raises(ArgumentError, match=r"y = 1\.9"):
        complexity.outlier_rate(1.9)
