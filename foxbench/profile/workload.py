"""What the training process trains: trainers by registered name or by ``module:Class``.

Imports nothing heavy at its top, so that each phase pays for what it needs itself.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from foxbench.errors import EnvironmentFault, NotMeasured, UsageError
from foxbench.profile.spec import Spec, is_user_trainer

if TYPE_CHECKING:
    from foxbench.bars.schema import Bars
    from foxbench.models.data import MarketData

#: Modules that only some models need, and the extra that brings them.
_EXTRAS = {"torch": "pip install 'foxbench[models]'"}


def import_trainer(spec: Spec) -> Any:
    """Import everything the run needs and return the trainer's class.

    Raises
    ------
    UsageError
        ``module:Class`` does not exist, or has no ``step``.
    EnvironmentFault
        A package that the model needs is not installed.
    """
    # Paid for here and not in the phases that use them first.
    import pyarrow.parquet  # noqa: F401

    import foxbench.bars.parquet
    import foxbench.models.dataset  # noqa: F401

    if is_user_trainer(spec.model):
        return _user_class(spec.model, spec.search)
    from foxbench.models import registry

    module, _, attribute = registry.entry(spec.model).trainer.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        remedy = _EXTRAS.get(error.name or "", "")
        raise EnvironmentFault(f"{spec.model} needs the package {error.name!r}", remedy) from error


def _user_class(path: str, search: Sequence[str]) -> Any:
    module, _, attribute = path.partition(":")
    # Behind the installed packages: a stray torch.py in the folder must shadow nothing.
    sys.path.extend(folder for folder in search if folder not in sys.path)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise  # the user's module was found and lacks a package of its own
        raise UsageError(
            f"no module {module!r}", f"run in the folder that holds it, or set PYTHONPATH ({path})"
        ) from error
    except AttributeError as error:
        raise UsageError(f"module {module!r} has no {attribute!r}", "correct MODEL") from error
    if not callable(getattr(found, "step", None)):
        raise UsageError(
            f"{path} has no method step()", "see docs/own-trainer.md for what a trainer is"
        )
    return found


def load_bars(spec: Spec) -> list[Bars]:
    """Read and validate every file; the first ``max_bars`` bars of each."""
    from foxbench.bars import parquet

    loaded = [parquet.read(path) for path in spec.files]
    return loaded if spec.max_bars is None else [bars[: spec.max_bars] for bars in loaded]


def reads_bars(cls: Any) -> bool:
    """Whether the workload takes raw bars (``reads = "bars"``) and makes its own features.

    Raises
    ------
    UsageError
        ``reads`` is neither ``"bars"`` nor ``"market"``.
    """
    reads = getattr(cls, "reads", "market")
    if reads not in ("bars", "market"):
        raise UsageError(
            f"{cls.__name__}.reads is {reads!r}",
            'write reads = "bars", or leave it out for features',
        )
    return bool(reads == "bars")


def market(loaded: list[Bars]) -> MarketData:
    """Compute features, returns and statics of every instrument."""
    from foxbench.models.data import MarketData
    from foxbench.models.dataset import series

    return MarketData(tuple(series(bars) for bars in loaded))


def build(spec: Spec, cls: Any, data: Any) -> tuple[Any, Any]:
    """Check the config against the data and build the trainer.

    Parameters
    ----------
    data : MarketData or tuple of Bars
        See :func:`reads_bars`.

    Returns
    -------
    trainer
        Has ``step()``; a registered model has the whole protocol.
    config or None
        Of a ``module:Class`` an instance of its ``Config``; None where it has none.

    Raises
    ------
    NotMeasured
        There is no such device here.
    """
    _require(spec.device)
    if is_user_trainer(spec.model):
        config = _user_config(spec, cls)
        return cls(data, config, spec.device), config
    from foxbench.models import registry
    from foxbench.profile import settings

    config = settings.config(spec.model, spec.settings)
    return registry.build(spec.model, data, config, spec.device), config


def _user_config(spec: Spec, cls: Any) -> Any:
    """The trainer's ``Config``, a dataclass, with the settings asked for; None without one."""
    from foxbench.profile import settings

    kind = getattr(cls, "Config", None)
    if kind is None:
        if spec.settings:
            raise UsageError(
                f"--set does not apply to {spec.model}: it has no Config",
                "name a dataclass of its settings as the class's attribute Config",
            )
        return None
    if not dataclasses.is_dataclass(kind):
        raise UsageError(f"{spec.model}.Config is not a dataclass", "decorate it with @dataclass")
    values = settings.typed(spec.model, cast(type[Any], kind), spec.settings.items())
    return settings.made(cast(type[Any], kind), values)


def _require(device: str) -> None:
    """Refuse a device that is not there, before anything is built for it."""
    if device == "cpu":
        return
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        raise NotMeasured(
            f"no {device} device here", "run where torch sees one, or use --device cpu"
        )


def config_values(config: Any) -> dict[str, Any] | None:
    """Every setting in force."""
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        return None
    return dataclasses.asdict(config)


def steps_per_full_epoch(trainer: Any) -> int | None:
    """The model's own epoch; None where a user's trainer does not say."""
    ask = getattr(trainer, "steps_per_epoch", None)
    return int(ask()) if callable(ask) else None
