"""The benchmarks of a whole trainer, in anybody's asv suite.

Five lines give ``time_step``, ``peakmem_step``, ``steppeak_step`` and ``steppeak_first_step``::

    from foxbench.trainer_suite import TrainerSuite

    class Ranges(TrainerSuite):
        trainer = "mypkg.ranges:Trainer"
        params = [[64, 256]]
        param_names = ["batch"]
"""

from __future__ import annotations

import abc
import inspect
from pathlib import Path
from typing import Any

from foxbench.suite import StepSuite


class TrainerSuite(StepSuite):
    """Mixin of the benchmarks of a trainer's step.

    asv's parameters are settings of the trainer's config, by ``param_names``; one that is called
    ``device`` is the device it is built for.

    Attributes
    ----------
    trainer : str
        A registered name or ``module:Class``, see docs/own-trainer.md.
    settings : dict
        Further settings, e.g. ``{"window": 30}``.
    files : tuple of str
        Bars in parquet, one file an instrument; empty for synthetic ones.  Relative names lie
        beside the file of the benchmark: asv runs it in a folder of its own.
    roots : tuple of str
        Instruments of the synthetic bars.
    days : int
        Calendar days of synthetic bars; 30 are about 29,000 bars.
    """

    settings: dict[str, Any] = {}  # noqa: RUF012  a subclass replaces it
    files: tuple[str, ...] = ()
    roots: tuple[str, ...] = ("ES",)
    days: int = 30
    param_names: Any = ()

    @property
    @abc.abstractmethod
    def trainer(self) -> str:
        """Which one; a plain class attribute in a subclass."""

    def prepare(self, *params: Any) -> None:
        """Load or make the bars, compute the features where they are wanted, and build."""
        from foxbench.profile import workload
        from foxbench.profile.spec import Spec

        given = dict(zip(self.param_names, params, strict=True))
        device = given.pop("device", "cpu")
        folder = Path(inspect.getfile(type(self))).parent if self.files else Path()
        spec = Spec(
            model=self.trainer,
            files=tuple(str(folder / name) for name in self.files),
            epochs=1,
            steps_per_epoch=2,
            max_bars=None,
            settings={**self.settings, **given},
            hz=1000.0,
            quiet_allocator=False,
            threads=self.threads,
            search=(),
            log="",
            device=device,
        )
        cls = workload.import_trainer(spec)
        bars = workload.load_bars(spec) if self.files else self._synthetic()
        data = tuple(bars) if workload.reads_bars(cls) else workload.market(bars)
        self._trainer, _ = workload.build(spec, cls, data)

    def step(self) -> object:
        """Train one step."""
        return self._trainer.step()

    def _synthetic(self) -> Any:
        from foxbench.bars.synthetic import synthetic

        return [synthetic(root, days=self.days, seed=7) for root in self.roots]
