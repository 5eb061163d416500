"""The contracts foxbench knows: what is fixed by the exchange, and how a synthetic one behaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foxbench.errors import UsageError

#: Codes of the asset classes, as the TFT's static feature.
ASSET_CLASSES: Mapping[str, int] = {"equity": 0, "fx": 1, "rates": 2, "other": 3}

#: CME month codes, January first.
MONTH_CODES = "FGHJKMNQUVXZ"


@dataclass(frozen=True)
class Contract:
    """One root.

    Attributes
    ----------
    root : str
    asset_class : str
        A key of ``ASSET_CLASSES``.
    tick_nano : int
        Price step of outright trades on the exchange, in units of 1e-9.
    start_price : float
        First price of the synthetic series.
    sigma_day : float
        Standard deviation of the log return of a quiet-to-normal synthetic day.
    volume_per_minute : float
        Contracts in an average synthetic minute.
    gap_probability : float
        Share of bars whose open differs from the previous close.
    log_basis : float
        Log price of the next contract above the expiring one at a roll.
    """

    root: str
    asset_class: str
    tick_nano: int
    start_price: float
    sigma_day: float
    volume_per_minute: float
    gap_probability: float
    log_basis: float


CONTRACTS: Mapping[str, Contract] = {
    c.root: c
    for c in (
        Contract("ES", "equity", 250_000_000, 5600.0, 0.011, 1100.0, 0.55, 0.0095),
        Contract("NQ", "equity", 250_000_000, 19500.0, 0.014, 420.0, 0.80, 0.0105),
        Contract("6E", "fx", 50_000, 1.135, 0.0048, 145.0, 0.43, 0.0050),
        Contract("ZN", "rates", 15_625_000, 111.0, 0.0035, 1000.0, 0.35, -0.0015),
    )
}


def contract(root: str) -> Contract:
    """The contract of ``root``; :class:`UsageError` names the known ones otherwise."""
    try:
        return CONTRACTS[root]
    except KeyError:
        raise UsageError(
            f"unknown root {root!r}",
            f"use one of {', '.join(CONTRACTS)}; bars of your own can be imported with their tick",
        ) from None


def asset_class_code(root: str) -> int:
    """Code of the root's asset class; that of ``other`` for a root not in the table."""
    known = CONTRACTS.get(root)
    return ASSET_CLASSES[known.asset_class if known else "other"]
