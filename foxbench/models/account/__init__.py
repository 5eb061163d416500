"""The analytic memory account: where the bytes of a training run are, before one is made.

An account follows from a config and the data's shape alone.  Nothing here imports torch or
allocates what it counts, so that a search may ask for hundreds of accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foxbench.models.account import dqn, mamba2, ppo, tft
from foxbench.models.account.parts import Account, Part
from foxbench.models.account.sizing import resized, size_setting, unknown
from foxbench.models.data import MarketData
from foxbench.models.protocol import Config

__all__ = ["Account", "Part", "account", "names", "resized", "size_setting"]

_ACCOUNTS: Mapping[str, Callable[[Any, MarketData, str], Account]] = {
    "dqn": dqn.account,
    "ppo": ppo.account,
    "mamba2": mamba2.account,
    "tft": tft.account,
}


def names() -> tuple[str, ...]:
    """Models that have an account."""
    return tuple(_ACCOUNTS)


def account(model: str, config: Config, data: MarketData, device: str = "cpu") -> Account:
    """Where the bytes of one model's training are.

    Parameters
    ----------
    model : str
        A registered name; a trainer given as ``module:Class`` has no account.
    config : Config
        The model's own.
    data : MarketData
        Only shapes are looked at: :func:`foxbench.models.dataset.outline` is enough.
    device : str
        Decides the default micro-batch; what the allocator adds is counted on the CPU only.

    Returns
    -------
    Account

    Raises
    ------
    UsageError
        ``model`` has no account.
    ConfigError
        The config does not fit itself or the data.
    """
    if model not in _ACCOUNTS:
        raise unknown(model)
    config.check(data)
    return _ACCOUNTS[model](config, data, device)
