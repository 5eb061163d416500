"""Every column against its formula, written again in plain loops."""

import numpy as np
from slow_features import Slow

from foxbench.features import NAMES, compute
from foxbench.features.matrix import BLOCK_ROWS


def compare(features, slow, rows):
    """Differences beyond float32 and the rounding of running sums, as readable lines."""
    spread = features.astype(np.float64).std(axis=0)
    wrong = []
    for row in rows:
        expected = slow.row(row)
        assert sorted(expected) == sorted(NAMES)
        for number, name in enumerate(NAMES):
            want, got = np.clip(expected[name], -1e4, 1e4), float(features[row, number])
            if abs(got - want) > 1e-5 * abs(want) + 2e-5 * spread[number]:
                wrong.append(f"{name} row {row}: {got:.9g}, formula {want:.9g}")
    return wrong


def test_every_column_is_its_formula_at_the_start_in_the_middle_and_over_a_roll(rough):
    rows = [*range(6), 14, 31, 61, 99, 100, 240, 250, 299, 480, 496, 497, 500, 510, 530, 535]
    sessions = np.flatnonzero(np.diff(rough.ts_event) > 30 * 60 * 10**9) + 1
    rolls = np.flatnonzero(np.diff(rough.instrument_id.astype(np.int64))) + 1
    assert len(sessions) == 1
    assert len(rolls) == 1
    rows += [int(sessions[0]) + k for k in (-1, 0, 1, 30)]
    rows += [600, 695, 800, len(rough) - 1]
    assert compare(compute(rough), Slow(rough), rows) == []


def test_every_column_is_its_formula_on_both_sides_of_a_blocks_edge(month, month_features):
    slow = Slow(month[: BLOCK_ROWS + 40])
    rows = [BLOCK_ROWS + k for k in (-2, -1, 0, 1, 39)]
    assert compare(month_features, slow, rows) == []


def test_every_column_is_its_formula_on_real_bars(real_6e):
    from foxbench.bars.csv_import import import_csv

    bars = import_csv(real_6e, "6E", stamp="close")[:2500]
    assert compare(compute(bars), Slow(bars), [700, 1365, 1366, 2000, 2499]) == []


def test_the_comparison_notices_a_column_off_by_a_thousandth_of_its_spread(rough):
    features = compute(rough)
    slow = Slow.__new__(Slow)
    truth = {name: float(features[700, i]) for i, name in enumerate(NAMES)}
    slow.row = lambda row: truth
    assert compare(features, slow, [700]) == []
    spread = features.astype(np.float64).std(axis=0)
    off = (features + 1e-3 * spread + 1e-3 * np.abs(features)).astype(np.float32)
    assert len(compare(off, slow, [700])) == len(NAMES)
