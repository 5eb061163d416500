"""From what the user asked for to a :class:`Spec`; refuses early, before anything is started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foxbench.errors import DataError, UsageError
from foxbench.models import registry
from foxbench.profile import settings
from foxbench.profile.spec import (
    DEFAULT_EPOCHS,
    DEFAULT_STEPS_PER_EPOCH,
    USER_STEPS_PER_EPOCH,
    Spec,
    is_user_trainer,
)


@dataclass(frozen=True)
class Request:
    """The command line's wishes; None stands for the default."""

    model: str
    files: tuple[Path, ...]
    epochs: int | None
    steps_per_epoch: int | None
    max_bars: int | None
    assignments: tuple[str, ...]
    hz: float
    quiet_allocator: bool


def spec(request: Request, directory: Path) -> Spec:
    """The full plan of a run whose files go to ``directory``.

    Raises
    ------
    UsageError, ConfigError, DataError
        For an unknown model, a setting that does not exist or fit, an unreadable file.
    """
    model = request.model
    if is_user_trainer(model):
        if request.assignments:
            raise UsageError(
                f"--set does not apply to {model}: a trainer of your own has no config",
                "leave --set out, or let the class read its settings elsewhere",
            )
        values, bound = {}, USER_STEPS_PER_EPOCH
    else:
        registry.entry(model)  # names the known models when it is none of them
        values, bound = settings.parse(model, request.assignments), DEFAULT_STEPS_PER_EPOCH[model]
    return Spec(
        model=model,
        files=tuple(_readable(path) for path in request.files),
        epochs=request.epochs or DEFAULT_EPOCHS,
        steps_per_epoch=request.steps_per_epoch or bound,
        max_bars=request.max_bars,
        settings=values,
        hz=request.hz,
        quiet_allocator=request.quiet_allocator,
        threads=1,
        search=(os.getcwd(),),
        log=str(directory / "log.jsonl"),
    )


def check(request: Request) -> None:
    """Refuse what cannot work before a folder is made, torch imported or anything allocated.

    Raises
    ------
    UsageError, DataError
        As :func:`spec`.
    ConfigError
        The settings do not fit each other or the files' shape; every mismatch is listed.
    """
    planned = spec(request, Path())
    if is_user_trainer(planned.model):
        return
    from foxbench.models.dataset import outline

    try:
        market = outline(planned.files, planned.max_bars)
    except DataError:
        return  # the run itself says more: which column, which row
    if all(series.n_bars for series in market.series):
        settings.config(planned.model, planned.settings).check(market)


def check_writable(path: Path) -> None:
    """Refuse now a file that could only be refused after minutes of training."""
    folder = path.absolute().parent
    if path.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {path}", "name a file in a folder you may write to")


def _readable(path: Path) -> str:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror}",
            "make a file of bars with `foxbench bars make ES -o es.parquet`",
        ) from error
    return str(path.absolute())
