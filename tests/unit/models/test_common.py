"""One series on a device: shared, scaled on the way out, and without a look ahead."""

import dataclasses

import numpy as np
import pytest
import torch

from foxbench.errors import DataError
from foxbench.features import Scaler
from foxbench.models.common import Bars, nbytes, scale_returns


def test_gathered_rows_are_what_the_features_scaler_makes_of_them(small_market):
    series = small_market.first
    bars = Bars(series)
    expected = Scaler.fit(series.features[:400]).transform(series.features)
    t = torch.tensor([3, 499, 3])
    assert bars.rows(t).numpy() == pytest.approx(expected[t.numpy()], abs=1e-5)
    block = torch.full((3, 13), 7.0)
    bars.rows(t, out=block[:, :-1])
    assert torch.equal(block[:, :-1], bars.rows(t))
    assert (block[:, -1] == 7).all()


def test_rows_far_from_the_mean_are_clipped(small_market):
    series = small_market.first
    features = series.features.copy()
    features[450] = 1e6
    bars = Bars(dataclasses.replace(series, features=features))
    assert (bars.rows(torch.tensor([450])) == 10).all()


def test_held_out_bars_move_neither_scale(small_market):
    series = small_market.first
    features, returns = series.features.copy(), series.returns.copy()
    features[400:] *= 50
    returns[399:] *= 50  # the return of bar 399 ends at bar 400
    a, b = Bars(series), Bars(dataclasses.replace(series, features=features, returns=returns))
    assert torch.equal(a.mean, b.mean)
    assert torch.equal(a.inv_sd, b.inv_sd)
    assert torch.equal(a.r[:399], b.r[:399])


def test_returns_get_a_standard_deviation_of_1_and_are_clipped():
    returns = np.random.default_rng(0).normal(0, 1e-4, 1_000).astype(np.float32)
    returns[900] = 1.0
    kept = returns.copy()
    scaled = scale_returns(returns, 800)
    assert scaled[:799].std() == pytest.approx(1.0, rel=1e-5)
    assert scaled[900] == 10
    assert scaled.dtype == np.float32
    assert np.array_equal(returns, kept)
    assert not scale_returns(np.zeros(10, np.float32), 8).any()


def test_a_value_that_is_not_a_number_is_refused(small_market):
    series = small_market.first
    features, returns = series.features.copy(), series.returns.copy()
    features[7, 3] = np.nan
    returns[9] = np.inf
    with pytest.raises(DataError, match="row 7, column 3"):
        Bars(dataclasses.replace(series, features=features))
    with pytest.raises(DataError, match="returns: bar 9 holds a value that is not a number"):
        Bars(dataclasses.replace(series, returns=returns))


def test_a_read_only_memory_map_is_used_as_it_is(tmp_path, small_market, recwarn):
    np.save(tmp_path / "x.npy", small_market.first.features)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    bars = Bars(dataclasses.replace(small_market.first, features=mapped))
    assert bars.x.data_ptr() == mapped.ctypes.data
    assert torch.equal(
        bars.rows(torch.arange(500)), Bars(small_market.first).rows(torch.arange(500))
    )
    assert not recwarn.list


def test_views_of_one_storage_count_once():
    whole = torch.zeros(10)
    assert nbytes([whole, whole[:3], whole.view(2, 5)]) == 40
    assert nbytes([whole, torch.zeros(1, dtype=torch.int8)]) == 41
    assert nbytes([]) == 0
