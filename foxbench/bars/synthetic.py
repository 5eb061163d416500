"""Synthetic bars that behave like the market's: the default data, so that no file is shipped.

A one-minute stochastic-volatility market: seasonal volatility times a fast and a slow AR(1) of
its logarithm times a three-state regime; heavy-tailed returns (Student t, 4 degrees); highs and
lows from the extremes of a Brownian bridge; volume that follows volatility and the size of the
move; quarterly rolls with a basis.  The tests hold it to bands measured on real futures.

The same arguments give the same bits on one machine and NumPy version; NumPy promises no stream
across versions (NEP 19).
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from foxbench.bars import calendar
from foxbench.bars.contracts import MONTH_CODES, Contract, contract
from foxbench.bars.scan import scan
from foxbench.bars.schema import Bars
from foxbench.errors import UsageError

#: Volatility of each Chicago hour against the day's, 0:00 first: quiet in Asia, up in London,
#: highest around the US data releases and the opening of US shares, quiet after 15:00.
_HOURLY = (
    *(0.62, 0.90, 1.12, 1.02, 0.88, 0.84, 0.84, 1.35, 1.60, 1.60, 1.18, 0.95),
    *(0.86, 1.05, 1.05, 0.60, 0.60, 0.52, 0.54, 0.60, 0.56, 0.50, 0.46, 0.50),
)
#: Data releases, the US open, central banks, the last hour: (minute of the day CT, extra share).
_BUMPS = ((450, 1.6), (510, 0.9), (780, 0.6), (840, 0.3))
_BUMP_DECAY_MINUTES = 6.0
#: Volume follows volatility more than in proportion over the day.
_VOLUME_POWER = 1.6

_FAST_AR, _FAST_SD = 0.977, 0.35
_SLOW_AR, _SLOW_SD = 0.99975, 0.45
_LOG_MEAN = 0.16  # half the sum of both variances: the factor's mean is 1
_REGIMES = (0.7, 1.0, 1.9)
_REGIME_SHARE = (0.45, 0.42, 0.13)
_REGIME_MINUTES = 400.0  # mean stay
_BRIDGE = 0.8  # share of sigma that the path inside a bar moves with
_GAP, _SESSION_GAP = 0.35, 0.15
_VOLUME_SD = 0.55
_ROLL_DAYS_BEFORE_EXPIRY = 8


def synthetic(root: str, days: int = 180, start: str = "2025-04-21", seed: int = 7) -> Bars:
    """Bars of ``root`` for the trade dates in ``[start, start + days)``.

    Parameters
    ----------
    root : str
        ``ES``, ``NQ``, ``6E`` or ``ZN``.
    days : int
        Calendar days; 180 give about 178,000 bars.
    start : str
        ISO date.
    seed : int
        At least 0.

    Returns
    -------
    Bars

    Raises
    ------
    UsageError
        An unknown root, a start that is no date, or no trading minute in the range.
    """
    spec = contract(root)
    try:
        first = np.datetime64(start, "D")
    except ValueError:
        raise UsageError(f"start {start!r} is not a date", "write it as 2025-04-21") from None
    # The daylight-saving rule and the table of expiries reach from 2007 to 2099.
    if not np.datetime64("2007-01-01") <= first <= np.datetime64("2098-01-01"):
        raise UsageError(
            f"start {start!r} is outside 2007 to 2097", "choose a date the calendar covers"
        )
    if not 1 <= days <= 366:
        raise UsageError(f"days is {days}, expected 1 to 366", "choose a range in that interval")
    if seed < 0:
        raise UsageError(f"seed is {seed}, expected 0 or more", "choose another seed")
    ts = calendar.session_minutes(str(first), days)
    if len(ts) == 0:
        raise UsageError(
            f"no trading minute in the {days} days from {start}", "choose a longer range"
        )
    rng = np.random.default_rng([seed, crc32(root.encode())])
    dates = calendar.trade_date(ts)
    opens_session = np.zeros(len(ts), dtype=np.bool_)
    opens_session[calendar.session_starts(dates)] = True
    contract_index, symbols = _front_contracts(dates, root)

    season = _season(calendar.minute_ct(ts))
    factor = _volatility_factor(rng, len(ts))
    sigma = spec.sigma_day / np.sqrt(calendar.SESSION_MINUTES) * season * factor
    z = rng.standard_t(4, len(ts)) / np.sqrt(2.0)  # the t's variance is 2
    log_open, log_close = _path(rng, spec, sigma, z, opens_session, contract_index)
    log_high, log_low = _extremes(rng, sigma, log_open, log_close)
    volume = _volume(rng, spec, season, factor, z)

    ticks = [
        np.rint(np.exp(log) * (1e9 / spec.tick_nano)).astype(np.int64)
        for log in (log_open, log_high, log_low, log_close)
    ]
    o, h, low, c = (np.maximum(t, 1) * spec.tick_nano for t in ticks)
    traded = volume > 0  # no trade, no bar: as vendors deliver it
    ids = np.array([crc32(s.encode()) for s in symbols], dtype=np.uint32)
    return Bars(
        ts_event=ts[traded],
        open=o[traded],
        high=h[traded],
        low=low[traded],
        close=c[traded],
        volume=volume[traded].astype(np.uint64),
        instrument_id=ids[contract_index[traded]],
        symbol_codes=contract_index[traded].astype(np.int32),
        symbols=symbols,
        root=root,
        tick_nano=spec.tick_nano,
        source=f"synthetic days={days} start={first} seed={seed}",
    )


def _season(minute: NDArray[np.int64]) -> NDArray[np.float64]:
    """Volatility of each minute of the day; its mean square over a full session is 1."""
    table = np.interp(
        np.arange(1440),
        60 * np.arange(-1, 25) + 30,
        np.array((_HOURLY[-1], *_HOURLY, _HOURLY[0])),
    )
    since = np.arange(1440)
    for at, extra in _BUMPS:
        after = since - at
        table = table * (
            1 + np.where(after >= 0, extra * np.exp(-np.abs(after) / _BUMP_DECAY_MINUTES), 0.0)
        )
    trading = (since < calendar.CLOSE_MINUTE_CT) | (since >= calendar.OPEN_MINUTE_CT)
    values: NDArray[np.float64] = table[minute] / np.sqrt(np.mean(table[trading] ** 2))
    return values


def _volatility_factor(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """exp(fast AR + slow AR - 0.16) times the regime's level."""
    log = np.full(n, -_LOG_MEAN)
    for decay, sd in ((_FAST_AR, _FAST_SD), (_SLOW_AR, _SLOW_SD)):
        shocks = rng.standard_normal(n) * (sd * np.sqrt(1 - decay * decay))
        log += scan(shocks, decay, float(rng.standard_normal()) * sd)
    changes = rng.random(n) < 1.0 / _REGIME_MINUTES
    drawn = rng.choice(len(_REGIMES), n, p=_REGIME_SHARE)
    changes[0] = True
    rows = np.maximum.accumulate(np.where(changes, np.arange(n), 0))
    levels: NDArray[np.float64] = np.exp(log) * np.array(_REGIMES)[drawn[rows]]
    return levels


def _front_contracts(
    dates: NDArray[np.int64], root: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Index of each bar's contract and the contracts' symbols.

    The front month changes at the session of the Thursday eight days before expiry.
    """
    expiries = calendar.expiries()
    number = np.searchsorted(expiries - _ROLL_DAYS_BEFORE_EXPIRY, dates, side="right")
    first = int(number[0])
    symbols = []
    for expiry in expiries[first : int(number[-1]) + 1]:
        month = int(np.datetime64(int(expiry), "D").astype("datetime64[M]").astype(np.int64))
        symbols.append(f"{root}{MONTH_CODES[month % 12]}{(month // 12) % 10}")
    return number - first, tuple(symbols)


def _path(
    rng: np.random.Generator,
    spec: Contract,
    sigma: NDArray[np.float64],
    z: NDArray[np.float64],
    opens_session: NDArray[np.bool_],
    contract_index: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log open and log close; a session's gap and a roll's basis stay, a bounce does not.

    A bounce is the first trade on the other side of the spread: at least a tick, and gone by the
    close.
    """
    n = len(sigma)
    normal = rng.standard_normal(n)
    tick = spec.tick_nano / 1e9 / spec.start_price
    bounce = np.sign(normal) * np.maximum(np.abs(normal) * _GAP * sigma, tick)
    bounce[(rng.random(n) >= spec.gap_probability) | opens_session] = 0.0
    gap = np.where(opens_session, _SESSION_GAP * spec.sigma_day * normal, 0.0)
    gap[0] = 0.0
    gap[1:] += spec.log_basis * np.diff(contract_index)
    move = sigma * z
    log_close = np.log(spec.start_price) + np.cumsum(gap + move)
    return log_close - move + bounce, log_close


def _extremes(
    rng: np.random.Generator,
    sigma: NDArray[np.float64],
    log_open: NDArray[np.float64],
    log_close: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximum and minimum of a Brownian bridge from open to close, drawn by inversion."""
    middle = 0.5 * (log_open + log_close)
    square = (log_close - log_open) ** 2
    spread = 2.0 * (_BRIDGE * sigma) ** 2
    # 1 - U lies in (0, 1]: its logarithm is finite.
    up = 0.5 * np.sqrt(square - spread * np.log(1.0 - rng.random(len(sigma))))
    down = 0.5 * np.sqrt(square - spread * np.log(1.0 - rng.random(len(sigma))))
    return middle + up, middle - down


def _volume(
    rng: np.random.Generator,
    spec: Contract,
    season: NDArray[np.float64],
    factor: NDArray[np.float64],
    z: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Poisson counts that follow season, volatility and the size of the move."""
    profile = season**_VOLUME_POWER
    profile /= profile.mean()
    noise = np.exp(_VOLUME_SD * rng.standard_normal(len(z)) - 0.5 * _VOLUME_SD**2)
    # E|z| is 1/sqrt(2): the last factor's mean is 1, and of the same shape as .35 + .5 |z|.
    rate = spec.volume_per_minute * profile * factor**0.9 * noise * (0.5 + 0.71 * np.abs(z))
    return rng.poisson(np.minimum(rate, 1e9))
