import subprocess
import sys

import numpy as np
import pytest

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic
from foxbench.errors import DataError
from foxbench.features import NAMES, WARMUP
from foxbench.models.dataset import from_parquet, outline, series, synthetic_market


def test_warm_up_rows_are_dropped_and_columns_named(month, month_features):
    made = series(month)
    assert made.features.dtype == np.float32
    assert made.feature_names == NAMES
    np.testing.assert_array_equal(made.features, month_features[WARMUP:])
    assert made.n_bars == len(made.returns) == len(month) - WARMUP


def test_returns_look_one_bar_ahead_and_stay_within_a_contract(month):
    made = series(month)
    close, opened = (np.log(x / 1e9) for x in (month.close, month.open))
    for t in (WARMUP, 5_000, 20_000):
        assert made.returns[t - WARMUP] == pytest.approx(close[t + 1] - close[t], rel=1e-5)
    roll = int(np.flatnonzero(np.diff(month.instrument_id.astype(np.int64)))[0]) + 1
    assert made.returns[roll - 1 - WARMUP] == pytest.approx(close[roll] - opened[roll], rel=1e-5)
    assert made.returns[-1] == 0.0


def test_a_return_is_the_next_rows_own_feature(month):
    made = series(month)
    own = made.features[1:, NAMES.index("r_1")]
    # r_1 is a difference of the continuous price, the return is the bar's own: last bits differ.
    np.testing.assert_allclose(made.returns[:-1], own, atol=1e-9)


def test_max_bars_takes_the_first_bars(month):
    made = series(month, max_bars=29_937)
    assert made.features.shape == (29_425, 225)
    np.testing.assert_array_equal(made.features, series(month).features[:29_425])


def test_statics_are_tick_volume_volatility_class_and_session(month):
    tick_bp, log_volume, sigma_day, asset_class, session = series(month).statics
    first = month[WARMUP : WARMUP + 6_000]
    assert tick_bp == pytest.approx(1e4 * 0.25 / (first.close.mean() / 1e9), rel=1e-5)
    assert log_volume == pytest.approx(np.log(1 + first.volume.mean()), rel=1e-5)
    assert 0.003 < sigma_day < 0.03
    assert asset_class == 0
    assert session == 1.0


def test_statics_look_at_the_first_rows_only(month):
    np.testing.assert_array_equal(series(month).statics, series(month, 7_000).statics)


@pytest.mark.parametrize("n", [0, 512, 513])
def test_fewer_bars_than_the_warm_up_needs_are_refused(month, n):
    with pytest.raises(DataError, match=f"ES: {n} bars, of which 512 are warm-up"):
        series(month, max_bars=n)


def test_a_market_has_its_roots_in_the_order_asked_for():
    market = synthetic_market(["ZN", "6E"], days=3, seed=1)
    assert [s.root for s in market.series] == ["ZN", "6E"]
    assert market.first.statics[3] == 2
    other = synthetic_market(["ZN"], days=3, seed=2)
    assert not np.array_equal(market.first.features, other.first.features)


def test_a_market_from_files_equals_that_from_memory(month, tmp_path):
    parquet.write(month, tmp_path / "es.parquet")
    found = from_parquet([tmp_path / "es.parquet"], max_bars=3_000).first
    expected = series(month[:3_000])
    np.testing.assert_array_equal(found.features, expected.features)
    np.testing.assert_array_equal(found.returns, expected.returns)


def test_a_synthetic_market_needs_neither_torch_nor_pyarrow():
    code = (
        "import sys; from foxbench.models.dataset import synthetic_market; "
        "synthetic_market(['ES'], days=1); "
        "print([m for m in ('torch', 'pyarrow', 'scipy', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_outline_has_the_shape_of_the_data_and_takes_no_memory(tmp_path):
    path = tmp_path / "es.parquet"
    parquet.write(synthetic("ES", days=5), path)
    whole, shape = from_parquet([path]).first, outline([path]).first
    assert shape.features.shape == whole.features.shape
    assert shape.returns.shape == whole.returns.shape
    assert shape.statics.shape == whole.statics.shape
    assert (shape.root, shape.feature_names) == (whole.root, whole.feature_names)
    assert shape.features.strides == (0, 0)
    assert outline([path], max_bars=600).first.n_bars == 600 - 512
    assert outline([path], max_bars=10).first.n_bars == 0
