import numpy as np
import pytest

from foxbench.errors import DataError
from foxbench.features import WARMUP, Scaler
from foxbench.features.scaler import CLIP, FIT_ROWS


def test_the_first_six_thousand_rows_have_mean_zero_and_deviation_one(month_features):
    rows = month_features[WARMUP:]
    scaled = Scaler.fit(rows).transform(rows)[:FIT_ROWS].astype(np.float64)
    moving = np.ptp(rows[:FIT_ROWS], axis=0) > 0
    unclipped = moving & (np.abs(scaled).max(axis=0) < CLIP)
    assert unclipped.sum() > 100
    np.testing.assert_allclose(scaled[:, unclipped].mean(axis=0), 0.0, atol=1e-3)
    np.testing.assert_allclose(scaled[:, unclipped].std(axis=0), 1.0, atol=1e-3)


def test_later_rows_do_not_move_the_scale(month_features):
    rows = month_features[WARMUP:].copy()
    before = Scaler.fit(rows)
    rows[FIT_ROWS:] += 100.0
    after = Scaler.fit(rows)
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(before.sd, after.sd)


def test_values_are_clipped_at_ten_deviations():
    rows = np.zeros((100, 1), np.float32)
    rows[::2] = 1.0
    scaler = Scaler.fit(rows)
    assert scaler.transform(np.array([[1e6], [-1e6]], np.float32)).ravel().tolist() == [10, -10]


def test_a_column_that_stood_still_keeps_its_own_unit():
    rows = np.full((100, 1), 0.1, np.float32)
    scaler = Scaler.fit(rows)
    assert scaler.sd.tolist() == [1.0]
    assert scaler.transform(rows).max() == 0.0


def test_scaling_in_place_is_the_same(month_features):
    rows = month_features[WARMUP : WARMUP + 10_000]
    scaler = Scaler.fit(rows)
    apart, place = scaler.transform(rows), rows.copy()
    assert scaler.transform(place, out=place) is place
    np.testing.assert_array_equal(apart, place)


def test_one_row_is_not_enough():
    with pytest.raises(DataError, match="at least 2 rows, got 1"):
        Scaler.fit(np.ones((1, 3), np.float32))


def test_a_value_that_is_not_finite_is_named():
    rows = np.ones((10, 3), np.float32)
    rows[4, 2] = np.inf
    with pytest.raises(DataError, match="row 4, column 2 is not finite"):
        Scaler.fit(rows)


def test_the_scaler_cannot_be_refitted():
    scaler = Scaler.fit(np.eye(3, dtype=np.float32))
    with pytest.raises(AttributeError):
        scaler.mean = scaler.sd
