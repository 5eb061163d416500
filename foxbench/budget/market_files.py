"""The bars a validation trains on: the user's files, or synthetic ones made for the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foxbench.errors import UsageError
from foxbench.models import registry
from foxbench.profile.spec import is_user_trainer

#: Without a bound on the bars, as many days as :func:`foxbench.bars.synthetic.synthetic` makes.
_ALL_DAYS = 180

#: Bars of a whole trading day; a week has five.
_BARS_A_DAY = 1380


@dataclass(frozen=True)
class MarketFiles:
    """Parquet files of bars.

    Attributes
    ----------
    by_root : dict of str to Path
        Synthetic ones, by instrument; empty for the user's.
    given : tuple of Path
        The user's, in the order given; empty for synthetic ones.
    """

    by_root: dict[str, Path]
    given: tuple[Path, ...]

    @property
    def synthetic(self) -> bool:
        """Whether they were made for this run."""
        return not self.given

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file."""
        return self.given or tuple(self.by_root.values())

    def of(self, model: str) -> tuple[Path, ...]:
        """The files of one model: one for each of its instruments, or all that were given to one
        that trains on several.
        """
        roots = _roots(model)
        if self.synthetic:
            return tuple(self.by_root[root] for root in roots)
        several = len(roots) > 1 or is_user_trainer(model)
        return self.given if several else self.given[:1]


def given(files: Sequence[Path]) -> MarketFiles:
    """The user's files, each read once and dropped, so that none is refused after minutes.

    Raises
    ------
    DataError
        A file that is missing, no Parquet, of another schema, or with rows that are refused.
    """
    from foxbench.bars import parquet

    for path in files:
        parquet.read(path)
    return MarketFiles({}, tuple(path.absolute() for path in files))


def synthetic(models: Iterable[str], max_bars: int | None, folder: Path) -> MarketFiles:
    """Make bars of every instrument that ``models`` train on; at least ``max_bars`` of each.

    Raises
    ------
    UsageError
        The folder cannot be written to.
    """
    from foxbench.bars import parquet
    from foxbench.bars.synthetic import synthetic as make

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make {folder}: {error.strerror}", "name a folder with --out DIR"
        ) from error
    by_root: dict[str, Path] = {}
    for model in models:
        for root in _roots(model):
            if root in by_root:
                continue
            days = _ALL_DAYS if max_bars is None else 7 * (max_bars // (5 * _BARS_A_DAY) + 2)
            bars = make(root, days=days)
            while max_bars is not None and len(bars) < max_bars:  # a market with few bars
                days *= 2
                bars = make(root, days=days)
            by_root[root] = folder / f"{root}-{days}-days.parquet"
            parquet.write(bars, by_root[root])
    return MarketFiles(by_root, ())


def _roots(model: str) -> tuple[str, ...]:
    return ("ES",) if is_user_trainer(model) else registry.entry(model).roots
