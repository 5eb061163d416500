"""Tries sizes by training under the limit, and learns from each what the next will need."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from foxbench.fit import search
from foxbench.fit.result import SCHEMA_VERSION, Fit, Trial
from foxbench.fit.sizes import Sizes, sizes
from foxbench.profile import plan, result, runner
from foxbench.profile.result import Profile
from foxbench.profile.runner import Listener

#: Steps of a training: the first, and two warm ones.
_STEPS = 3

#: What the kernel counts beside the pages themselves, page tables above all (8 bytes for each of
#: 4096), and the error bound of a peak.
_BESIDE_SHARE = 256
_BESIDE_BYTES = 2 * 2**20

#: How many times the largest size that fits the next one may be: what two small sizes needed says
#: little about a large one, and their arithmetic much.
_FARTHEST_MEASURED = 16
_FARTHEST_BY_ACCOUNT = 2**31

#: Says that a training begins: its size, and what it is thought to need.
Announce = Callable[[int, int | None], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class Wishes:
    """What the user asked for.

    Attributes
    ----------
    model : str
    files : tuple of Path
    limit_bytes : int
    setting : str or None
        None for what the model's memory grows with most directly.
    assignments : tuple of str
    max_bars : int or None
    quiet_allocator : bool
    timeout_s : float or None
        For each training.
    """

    model: str
    files: tuple[Path, ...]
    limit_bytes: int
    setting: str | None = None
    assignments: tuple[str, ...] = ()
    max_bars: int | None = None
    quiet_allocator: bool = True
    timeout_s: float | None = None


def run(wishes: Wishes, folder: Path, announce: Announce) -> Fit:
    """Search, one training after the other.

    Parameters
    ----------
    wishes : Wishes
    folder : Path
        Gets one folder for each training, and ``fit.json`` after each.
    announce : callable

    Raises
    ------
    UsageError, ConfigError, DataError
        What can be refused before anything is trained.
    """
    of = sizes(wishes.model, wishes.files, wishes.max_bars, wishes.assignments, wishes.setting)
    trainings = _Trainings(wishes, of, folder, announce)
    plan.check(trainings.request(of.start))
    bounds = search.search(
        of.start,
        of.smallest,
        of.cap,
        wishes.limit_bytes,
        trainings.need_bytes,
        trainings.attempt,
        of.round_down,
        _FARTHEST_MEASURED if of.analytic(of.start) is None else _FARTHEST_BY_ACCOUNT,
    )
    return trainings.fit(bounds)


class _Trainings:
    """The trainings so far, and what they tell of further sizes."""

    def __init__(self, wishes: Wishes, of: Sizes, folder: Path, announce: Announce) -> None:
        self._wishes, self._of, self._folder, self._announce = wishes, of, folder, announce
        self._started_at = datetime.datetime.now(datetime.timezone.utc).isoformat(
            timespec="seconds"
        )
        self._trials: list[Trial] = []
        self._profiles: dict[int, Profile] = {}

    def request(self, value: int) -> plan.Request:
        """A training with that size."""
        wishes = self._wishes
        return plan.Request(
            model=wishes.model,
            files=wishes.files,
            # One step an epoch: the total is then this, however long the model's own is.
            epochs=_STEPS,
            steps_per_epoch=1,
            max_bars=wishes.max_bars,
            assignments=self._of.assignments(value),
            quiet_allocator=wishes.quiet_allocator,
            limit_bytes=wishes.limit_bytes,
        )

    def need_bytes(self, value: int) -> int | None:
        """What the kernel will count of a training with that size, from what was measured."""
        fitted = sorted((t.value, t.need_bytes) for t in self._trials if t.need_bytes is not None)
        if not fitted:
            return None
        at, measured = fitted[-1]
        here, there = self._of.analytic(value), self._of.analytic(at)
        if here is not None and there is not None:
            need = measured + sum(here) - sum(there)
        elif len(fitted) > 1:
            before, less = fitted[-2]
            need = measured + (value - at) * max(0, measured - less) // (at - before)
        else:
            return None
        return need + need // _BESIDE_SHARE + _BESIDE_BYTES

    def attempt(self, value: int, predicted_bytes: int | None) -> search.Outcome:
        """Train with that size under the limit."""
        request = self.request(value)
        directory = runner.make_directory(self._folder, f"{self._of.setting}-{value}")
        spec = plan.spec(request, directory)
        with self._announce(value, predicted_bytes) as listen:
            profile = runner.run(spec, directory, self._wishes.timeout_s, listen)
        trial = self._trial(value, predicted_bytes, profile, directory)
        self._trials.append(trial)
        self._profiles[value] = profile
        fits = {"ok": True, "oom": False}.get(profile.status)
        return search.Outcome(fits, trial.need_bytes)

    def fit(self, bounds: search.Bounds) -> Fit:
        """The result so far."""
        wishes, of = self._wishes, self._of
        named = None if bounds.fits is None else self._profiles[bounds.fits]
        profiles = list(self._profiles.values())
        kinds = [p.limit.kind for p in profiles if p.limit is not None]
        return Fit(
            schema_version=SCHEMA_VERSION,
            model=wishes.model,
            setting=of.setting,
            verdict=_verdict(bounds, of),
            value=bounds.fits,
            too_large=bounds.too_large,
            config=named.config if named else None,
            limit_bytes=wishes.limit_bytes,
            limit_kind=next(iter(kinds), None),
            predicted_by="measured" if of.analytic(of.start) is None else "account",
            quiet_allocator=wishes.quiet_allocator,
            files=tuple(str(path) for path in wishes.files),
            started_at=self._started_at,
            trials=tuple(self._trials),
            provenance=next((p.provenance for p in profiles if p.provenance), None),
            folder=str(self._folder),
        )

    def _trial(
        self, value: int, predicted_bytes: int | None, profile: Profile, directory: Path
    ) -> Trial:
        grown = result.growth(profile.phases) if profile.status == "ok" else None
        need_bytes = None
        if grown is not None and profile.file_bytes is not None:
            need_bytes = sum(grown) - profile.file_bytes
        steps, analytic = profile.steps, self._of.analytic(value)
        wall_ns = steps.median_wall_ns if steps else None
        return Trial(
            value=value,
            status=profile.status,
            error=None if profile.error is None else profile.error.message,
            predicted_bytes=predicted_bytes,
            need_bytes=need_bytes,
            step_peak_bytes=profile.step_peak_bytes,
            analytic_step_peak_bytes=None if analytic is None else analytic[1],
            seen_peak_bytes=profile.seen_peak_bytes,
            seconds=None if wall_ns is None else wall_ns / 1e9,
            run=str(directory),
        )


def _verdict(bounds: search.Bounds, of: Sizes) -> str:
    if bounds.failed:
        return "not_measured"
    if bounds.fits is None:
        return "nothing"
    if bounds.fits >= of.cap:
        return "all_fit"
    above = bounds.too_large
    # A size that has to be a multiple of something may have no neighbour that is close.
    if above is None or (
        above > bounds.fits * search.CLOSE and of.round_down(above - 1) > bounds.fits
    ):
        return "unproven"
    return "found"
