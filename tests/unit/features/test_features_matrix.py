from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from foxbench.bars.synthetic import synthetic
from foxbench.errors import DataError, UsageError
from foxbench.features import NAMES, WARMUP, compute
from foxbench.features.frame import Frame, Market
from foxbench.features.matrix import CLIP, GROUPS
from foxbench.models.configs.tft import KNOWN, OBSERVED

SIZES = {
    "shape": 15,
    "returns": 27,
    "volatility": 40,
    "trend": 49,
    "technical": 24,
    "volume": 28,
    "microstructure": 22,
    "calendar": 20,
}


def test_there_are_225_features_with_names_of_their_own():
    assert len(NAMES) == len(set(NAMES)) == 225
    assert {g.__name__.rpartition(".")[2]: len(g.NAMES) for g in GROUPS} == SIZES


def test_the_names_the_forecaster_asks_for_are_there():
    assert set(KNOWN) | set(OBSERVED) <= set(NAMES)


@pytest.mark.parametrize("root", ["ES", "NQ", "6E", "ZN"])
def test_no_column_is_constant_and_no_two_say_the_same(root):
    features = compute(synthetic(root, days=30, start="2025-06-02"))[WARMUP:].astype(np.float64)
    assert np.isfinite(features).all()
    still = [NAMES[i] for i in np.flatnonzero(np.ptp(features, axis=0) == 0)]
    assert still == []
    size = np.abs(np.corrcoef(features.T))
    np.fill_diagonal(size, 0.0)
    pairs = [(NAMES[i], NAMES[j], size[i, j]) for i, j in np.argwhere(size > 0.999) if i < j]
    assert pairs == []


def test_real_bars_give_finite_columns_none_constant_but_the_roll_week(real_6e):
    from foxbench.bars.csv_import import import_csv

    features = compute(import_csv(real_6e, "6E", stamp="close"))
    assert features.shape == (29_996, 225)
    assert np.isfinite(features).all()
    still = [NAMES[i] for i in np.flatnonzero(np.ptp(features[WARMUP:], axis=0) == 0)]
    assert still == ["roll_week"]  # January has none


def test_two_runs_give_the_same_bits(month, month_features):
    assert compute(month).tobytes() == month_features.tobytes()


def test_the_result_can_be_written_into_a_file_that_is_mapped(month, month_features, tmp_path):
    bars = month[:2_000]
    mapped = np.lib.format.open_memmap(
        tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(2_000, 225)
    )
    assert compute(bars, out=mapped) is mapped
    mapped.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), month_features[:2_000])


@pytest.mark.parametrize(
    "out", [np.empty((100, 224), np.float32), np.empty((99, 225), np.float32), np.empty((100, 225))]
)
def test_an_out_of_another_shape_or_dtype_is_refused_with_both(month, out):
    with pytest.raises(UsageError, match=r"expected float32\[100, 225\]"):
        compute(month[:100], out=out)


def test_bars_with_a_price_of_zero_raise_instead_of_giving_a_nan(month):
    low = month.low[:100].copy()
    low[7] = 0
    with pytest.raises(DataError, match=r"column low, row 7 .*not positive"):
        compute(replace(month[:100], low=low))


def test_a_column_that_is_not_a_number_raises_with_its_name_and_row(month, monkeypatch):
    plain = GROUPS[1].columns

    def spoilt(frame):
        for name, values in plain(frame):
            if name == "r_5":
                values[42] = np.nan
            yield name, values

    monkeypatch.setattr(GROUPS[1], "columns", spoilt)
    with pytest.raises(DataError, match="feature r_5 is not finite at row 42"):
        compute(month[:100])


def test_a_single_bar_has_all_its_features(month):
    assert np.isfinite(compute(month[:1])).all()


def test_a_market_that_never_moves_has_finite_features(month):
    n = 1_500
    flat = np.full(n, month.close[0])
    bars = replace(
        month[:n], open=flat, high=flat, low=flat, close=flat, volume=np.zeros(n, np.uint64)
    )
    features = compute(bars)
    assert np.isfinite(features).all()
    for name in ("r_1", "sigma_240", "price_z_60", "rsi_14", "autocorr_240", "jump_share_30"):
        assert (features[:, NAMES.index(name)] == 0).all(), name


def test_absurd_prices_are_clipped_not_infinite(month):
    n = 600
    high = month.high[:n].copy()
    high[300] = 9 * 10**18
    volume = month.volume[:n].copy()
    volume[400] = 2**64 - 1
    features = compute(replace(month[:n], high=high, volume=volume))
    assert np.isfinite(features).all()
    assert np.abs(features).max() <= CLIP


def test_a_roll_adds_nothing_to_the_continuous_price(month):
    roll = int(np.flatnonzero(np.diff(month.instrument_id.astype(np.int64)))[0]) + 1
    market = Market(month)
    own = np.log(month.close[roll] / month.open[roll])
    jump = np.log(month.close[roll] / month.close[roll - 1])
    assert market.r[roll] == pytest.approx(own, abs=1e-12)
    assert abs(jump - own) > 0.003  # the basis and the session's gap, which r leaves out
    assert market.p[-1] == pytest.approx(market.r.sum(), abs=1e-9)


def test_a_group_that_yields_another_name_than_it_lists_is_found(month, monkeypatch):
    monkeypatch.setattr(GROUPS[0], "columns", lambda frame: iter([("bodie", frame.r)]))
    with pytest.raises(AssertionError, match="feature 0 is bodie, NAMES says body"):
        compute(month[:10])


def test_sessions_of_a_block_begin_where_the_session_does(month):
    market = Market(month)
    frame = Frame(market, 16_384, 20_000, 512, {})
    spans = list(frame.sessions())
    assert spans[0][0] < 16_384
    assert spans[0][0] in market.starts
    assert spans[-1][1] == 20_000
    assert all(a[1] == b[0] for a, b in pairwise(spans))
