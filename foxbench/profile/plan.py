"""From what the user asked for to a :class:`Spec`; refuses early, before anything is started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foxbench.errors import DataError, UsageError
from foxbench.models import registry
from foxbench.profile import presets, settings
from foxbench.profile.spec import (
    ALL_STEPS,
    DEFAULT_EPOCHS,
    USER_STEPS_PER_EPOCH,
    Spec,
    is_user_trainer,
)


@dataclass(frozen=True)
class Request:
    """The command line's wishes; None stands for the default.

    A ``preset`` gives the epochs, bars and bound that are not given themselves.
    """

    model: str
    files: tuple[Path, ...]
    epochs: int | None = None
    steps_per_epoch: int | None = None
    max_bars: int | None = None
    assignments: tuple[str, ...] = ()
    hz: float = 1000.0
    quiet_allocator: bool = True
    device: str = "cpu"
    soak_s: float | None = None
    limit_bytes: int | None = None
    gauges: bool = False
    preset: str | None = None
    whole_epochs: bool = False


def spec(request: Request, directory: Path) -> Spec:
    """The full plan of a run whose files go to ``directory``.

    Raises
    ------
    UsageError, ConfigError, DataError
        For an unknown model, a setting that does not exist or fit, an unreadable file.
    """
    model = request.model
    if is_user_trainer(model):
        # Its module is imported in the training process alone, which knows the settings' types.
        values, bound = dict(settings.pairs(request.assignments)), USER_STEPS_PER_EPOCH
    else:
        bound = registry.entry(model).profile_steps  # names the known models where it is none
        values = settings.parse(model, request.assignments)
    size = presets.preset(request.preset) if request.preset else None
    if request.whole_epochs or (size is not None and size.whole_epochs):
        bound = ALL_STEPS
    return Spec(
        model=model,
        files=tuple(_readable(path) for path in request.files),
        epochs=request.epochs or (size.epochs if size else DEFAULT_EPOCHS),
        steps_per_epoch=request.steps_per_epoch or bound,
        max_bars=request.max_bars or (size.max_bars if size else None),
        settings=values,
        hz=request.hz,
        quiet_allocator=request.quiet_allocator,
        threads=1,
        search=(os.getcwd(),),
        log=str(directory / "log.jsonl"),
        device=request.device,
        soak_s=request.soak_s,
        limit_bytes=request.limit_bytes,
        gauges=request.gauges,
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
