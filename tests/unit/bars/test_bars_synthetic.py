from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

from foxbench.bars import calendar
from foxbench.bars.contracts import CONTRACTS, asset_class_code, contract
from foxbench.bars.schema import Bars, check
from foxbench.bars.synthetic import synthetic
from foxbench.errors import UsageError

ROOTS = tuple(CONTRACTS)


def figures(bars):
    """The statistics that the market's bands are stated in; rolls left out."""
    same = bars.instrument_id[1:] == bars.instrument_id[:-1]
    r = np.diff(np.log(bars.close / 1e9))[same]
    size = np.abs(r)
    ticks = (bars.high - bars.low) / bars.tick_nano
    moved = ticks > 0
    volume = bars.volume.astype(float)
    return {
        "autocorr_1": np.corrcoef(size[1:], size[:-1])[0, 1],
        "autocorr_60": np.corrcoef(size[60:], size[:-60])[0, 1],
        "unchanged": (r == 0).mean(),
        "volume_range": np.corrcoef(np.log(volume[moved]), np.log(ticks[moved]))[0, 1],
        "median_ticks": np.median(ticks),
        "gaps": (bars.open[1:] != bars.close[:-1]).mean(),
        "sigma_day": r.std() * np.sqrt(1380),
    }


@pytest.mark.parametrize("root", ROOTS)
def test_synthetic_bars_are_valid_and_lie_in_the_calendar(markets, root):
    bars = markets[root]
    check(bars, root)
    assert 178_000 < len(bars) <= 178_440
    assert np.isin(bars.ts_event, calendar.session_minutes("2025-04-21", 180)).all()
    for name in ("open", "high", "low", "close"):
        assert (getattr(bars, name) % bars.tick_nano == 0).all()


@pytest.mark.parametrize("root", ROOTS)
def test_volatility_clusters_as_on_the_real_market(markets, root):
    found = figures(markets[root])
    assert 0.20 <= found["autocorr_1"] <= 0.35
    assert 0.14 <= found["autocorr_60"] <= 0.25


@pytest.mark.parametrize("root", ["ES", "NQ", "6E"])
def test_volume_goes_with_range_as_on_the_real_market(markets, root):
    assert 0.55 <= figures(markets[root])["volume_range"] <= 0.85


def test_the_euro_moves_in_as_few_ticks_as_the_real_one(markets):
    found = figures(markets["6E"])
    assert 0.20 <= found["unchanged"] <= 0.30
    assert 2 <= found["median_ticks"] <= 3


@pytest.mark.parametrize("root", ROOTS)
def test_open_differs_from_the_last_close_as_often_as_the_table_says(markets, root):
    assert figures(markets[root])["gaps"] == pytest.approx(contract(root).gap_probability, abs=0.03)


@pytest.mark.parametrize("root", ROOTS)
def test_a_days_volatility_and_volume_are_of_the_tables_order(markets, root):
    spec = contract(root)
    assert 0.7 <= figures(markets[root])["sigma_day"] / spec.sigma_day <= 1.8
    assert 0.6 <= markets[root].volume.mean() / spec.volume_per_minute <= 1.6


def test_real_bars_lie_in_the_same_bands(real_6e):
    from foxbench.bars.csv_import import import_csv

    found = figures(import_csv(real_6e, "6E"))
    assert 0.20 <= found["autocorr_1"] <= 0.35
    assert 0.14 <= found["autocorr_60"] <= 0.25
    assert 0.20 <= found["unchanged"] <= 0.30
    assert 0.55 <= found["volume_range"] <= 0.85
    assert found["median_ticks"] == 2


def test_prices_bounce_between_bid_and_ask(markets):
    bars = markets["6E"]
    into = np.log(bars.open[1:] / bars.close[:-1])
    inside = np.log(bars.close / bars.open)[1:]
    assert np.corrcoef(into, inside)[0, 1] < -0.02


def test_contracts_roll_eight_days_before_expiry_at_the_sessions_start(markets):
    bars = markets["ES"]
    assert bars.symbols == ("ESM5", "ESU5", "ESZ5")
    rows = np.flatnonzero(np.diff(bars.instrument_id.astype(np.int64))) + 1
    dates = calendar.trade_date(bars.ts_event)
    assert [str(np.datetime64(int(d), "D")) for d in dates[rows]] == ["2025-06-12", "2025-09-11"]
    assert (dates[rows] != dates[rows - 1]).all()
    assert [bars.symbol_at(r) for r in rows] == ["ESU5", "ESZ5"]
    jump = np.log(bars.open[rows] / bars.close[rows - 1])
    # The basis, blurred by the session's own gap (15 % of a day's sigma).
    np.testing.assert_allclose(jump, contract("ES").log_basis, atol=4 * 0.15 * 0.011)


def test_the_same_arguments_give_the_same_bits():
    a, b = synthetic("6E", days=10), synthetic("6E", days=10)
    for field in fields(Bars):
        x, y = getattr(a, field.name), getattr(b, field.name)
        assert x.tobytes() == y.tobytes() if isinstance(x, np.ndarray) else x == y


def test_another_seed_or_root_gives_another_market():
    closes = [synthetic(*a, days=3, seed=s).close for a, s in ((["ES"], 7), (["ES"], 8))]
    assert not np.array_equal(*closes)
    volumes = [synthetic(root, days=3).volume for root in ROOTS]
    assert not any(np.array_equal(x, y) for x, y in pairwise(volumes))


def test_a_start_on_another_day_moves_the_calendar():
    bars = synthetic("ES", days=1, start="2025-11-28")
    assert len(bars) == 1140
    assert bars.symbols == ("ESZ5",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"root": "CL"}, "unknown root 'CL'"),
        ({"root": "ES", "start": "yesterday"}, "'yesterday' is not a date"),
        ({"root": "ES", "start": "1999-01-01"}, "outside 2007 to 2097"),
        ({"root": "ES", "days": 0}, "days is 0"),
        ({"root": "ES", "seed": -1}, "seed is -1"),
        ({"root": "ES", "start": "2025-04-26", "days": 2}, "no trading minute"),
    ],
)
def test_arguments_that_make_no_market_are_refused_with_their_value(arguments, words):
    with pytest.raises(UsageError, match=words) as caught:
        synthetic(**arguments)
    assert caught.value.remedy


def test_a_root_of_ones_own_has_the_asset_class_other():
    assert [asset_class_code(r) for r in ("ES", "NQ", "6E", "ZN", "CL")] == [0, 0, 1, 2, 3]
