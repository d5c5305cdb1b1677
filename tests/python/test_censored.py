"""Statistics of samples in which some observations are lower bounds."""

import numpy as np
import pytest

from unpause.statistics.censored import LARGEST, Sample, joined, needed, tail


def sample(known, bounds=()):
    return Sample(np.array(known, float), np.array(bounds, float))


def test_a_sample_without_bounds_has_its_percentiles_and_its_mean():
    every = sample([4, 1, 2, 3])
    assert every.percentile(50).value == 2.5
    assert every.percentile(LARGEST).value == 4
    assert every.mean().value == 2.5
    assert every.share_known == 1


def test_an_empty_sample_has_no_statistic():
    assert sample([]).percentile(50) is None
    assert sample([]).mean() is None
    assert sample([]).share_known == 1


def test_a_percentile_below_every_bound_is_known():
    every = sample([1, 2, 3, 4], [9])
    assert every.percentile(50).value == 3
    assert every.percentile(75).value == 4
    assert every.percentile(LARGEST).value is None
    assert every.percentile(LARGEST).at_least == 9


def test_a_percentile_above_a_bound_is_a_bound():
    # The last flow took longer than 1, maybe than 4.
    every = sample([1, 2, 3, 4], [1])
    assert every.percentile(50).value is None
    assert every.percentile(50).at_least == 2
    # As long as two of three are the smallest known value, the first is known.
    assert sample([1, 5], [1]).percentile(0).value == 1


def test_a_percentile_between_a_value_and_a_bound_is_a_bound():
    every = sample([0], [10])
    assert (every.percentile(50).at_least, every.percentile(50).is_exact) == (5, False)


def test_the_mean_of_a_sample_with_a_bound_is_a_bound():
    every = sample([1, 2], [6])
    assert (every.mean().at_least, every.mean().value) == (3, None)
    assert every.share_known == pytest.approx(2 / 3)


def test_whatever_the_others_took_the_statistics_bound_it():
    random = np.random.default_rng(1)
    exact = 0
    for _ in range(500):
        values = random.pareto(1.2, random.integers(1, 30)) + 1
        limits = random.uniform(0, 8, len(values))
        ended = values <= limits
        observed = Sample(values[ended], limits[~ended])
        truth = Sample(values, np.empty(0))
        for percent in (0, 25, 50, 90, 95, 99, LARGEST):
            estimate, right = observed.percentile(percent), truth.percentile(percent).value
            assert estimate.at_least <= right * (1 + 1e-12)
            if estimate.is_exact:
                assert estimate.value == pytest.approx(right, rel=1e-12)
                exact += 1
        assert observed.mean().at_least <= truth.mean().value * (1 + 1e-12)
    assert exact > 100


def test_the_distribution_is_of_all_observations():
    values, share = sample([3, 1], [2, 2]).distribution()
    assert list(values) == [1, 3]
    assert list(share) == [0.25, 0.5]


def test_samples_are_joined():
    both = joined([sample([1], [2]), sample([3])])
    assert len(both) == 3
    assert len(both.known) == 2
    assert len(joined([])) == 0


def test_ten_observations_lie_beyond_a_percentile():
    assert [needed(percent) for percent in (50, 90, 95, 99)] == [20, 100, 200, 1000]
    assert [tail(count) for count in (0, 8, 99, 100, 199, 200, 999, 1000)] == [
        100, 100, 100, 90, 90, 95, 95, 99,
    ]  # fmt: skip
