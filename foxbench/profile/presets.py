"""How much to train: named sizes of a run, for ``profile``, ``validate`` and ``sweep``."""

from __future__ import annotations

from dataclasses import dataclass

from foxbench.errors import UsageError


@dataclass(frozen=True)
class Preset:
    """One size of a run.

    Attributes
    ----------
    epochs : int
        Passes over the bars.
    max_bars : int or None
        First bars of each file to use; None for all.
    whole_epochs : bool
        Whether every step of an epoch is made; otherwise each workload's own bound cuts it
        (``profile_steps`` of :mod:`foxbench.models.registry`).
    summary : str
    """

    epochs: int
    max_bars: int | None
    whole_epochs: bool
    summary: str


PRESETS: dict[str, Preset] = {
    "quick": Preset(2, 4_000, False, "2 epochs cut short, 4,000 bars: about a minute in all"),
    "realistic": Preset(10, 10_000, True, "10 whole epochs of 10,000 bars"),
    "full": Preset(10, None, True, "10 whole epochs of every bar"),
}


def preset(name: str) -> Preset:
    """The preset of that name; :class:`UsageError` names the known ones otherwise."""
    try:
        return PRESETS[name]
    except KeyError:
        raise UsageError(f"unknown preset {name!r}", f"use one of: {', '.join(PRESETS)}") from None
