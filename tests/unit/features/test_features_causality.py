"""No row may depend on a later bar, not even in its last bit."""

from dataclasses import replace

import numpy as np
import pytest

from foxbench.bars.synthetic import synthetic
from foxbench.features import NAMES, compute, matrix
from foxbench.features.matrix import BLOCK_ROWS, GROUPS


def first_difference(whole, part):
    """None where ``part`` is the beginning of ``whole`` bit for bit, else (row, column name)."""
    differs = whole[: len(part)].view(np.uint32) != part.view(np.uint32)
    if not differs.any():
        return None
    row, column = np.argwhere(differs)[0]
    return int(row), NAMES[int(column)]


def altered_from(bars, row):
    """The same bars up to ``row``; from there on every price and volume is another."""
    rng = np.random.default_rng(row)
    n = len(bars) - row
    ticks = rng.integers(5, 40, (4, n)) * bars.tick_nano
    o, c = bars.open[row:] + ticks[0], bars.close[row:] - ticks[1]
    arrays = {
        "open": o,
        "close": c,
        "high": np.maximum(np.maximum(o, c), bars.high[row:]) + ticks[2],
        "low": np.minimum(np.minimum(o, c), bars.low[row:]) - ticks[3],
        "volume": bars.volume[row:] + rng.integers(1, 500, n).astype(np.uint64),
    }
    joined = {k: np.concatenate((getattr(bars, k)[:row], v)) for k, v in arrays.items()}
    return replace(bars, **joined)


@pytest.mark.parametrize(
    "cut", [1, 2, 1000, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 20_000, 29_937]
)
def test_a_truncated_series_has_the_same_bits_up_to_its_end(month, month_features, cut):
    assert first_difference(month_features, compute(month[:cut])) is None


def test_half_a_year_truncated_in_its_seventh_block_has_the_same_bits():
    bars = synthetic("6E")
    assert first_difference(compute(bars), compute(bars[:100_001])) is None


@pytest.mark.parametrize("row", [5_000, BLOCK_ROWS, 20_000])
def test_other_bars_from_a_row_on_change_that_row_and_none_before(month, month_features, row):
    other = compute(altered_from(month, row))
    assert first_difference(month_features, other[:row]) is None
    assert (month_features[row] != other[row]).sum() > 150


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__.rpartition(".")[2])
@pytest.mark.parametrize("place", ["first", "last"])
def test_one_column_shifted_by_a_bar_into_the_past_is_caught(month, monkeypatch, group, place):
    name = group.NAMES[0 if place == "first" else -1]
    plain = group.columns

    def peeking(frame):
        for label, values in plain(frame):
            yield label, np.append(values[1:], values[-1]) if label == name else values

    monkeypatch.setattr(group, "columns", peeking)
    bars = month[:2_000]
    whole = compute(bars)
    # Several ends: a column that seldom changes (a count, a flag) does not show at each of them.
    found = [first_difference(whole, compute(bars[:cut])) for cut in range(600, 2_000, 100)]
    assert {where[1] for where in found if where is not None} == {name}


def test_carried_means_are_part_of_a_block_not_of_the_module(month, month_features):
    compute(month[5_000:9_000])
    assert first_difference(month_features, compute(month[:1_000])) is None


def test_blocks_lie_at_absolute_positions(month, month_features, monkeypatch):
    """Another block size is another definition: it may differ in last bits, no more."""
    monkeypatch.setattr(matrix, "BLOCK_ROWS", 4_096)
    other = compute(month)
    spread = month_features.astype(np.float64).std(axis=0)
    assert (np.abs(other - month_features) <= 1e-4 * np.maximum(spread, 1e-7)).all()
