"""What a step needs by its arithmetic, where an account of the model exists."""

from __future__ import annotations

from foxbench.budget.result import Analytic
from foxbench.errors import FoxbenchError
from foxbench.models import account as accounts
from foxbench.models.dataset import outline
from foxbench.profile import settings
from foxbench.profile.result import Profile
from foxbench.profile.spec import Spec


def analytic(spec: Spec, profile: Profile) -> Analytic | None:
    """The account of the model that was trained, beside what was measured.

    Parameters
    ----------
    spec : Spec
        Model, settings and files.
    profile : Profile
        Its step peak; a run that failed has none, and then nothing is left to explain.

    Returns
    -------
    Analytic or None
        None where the model has no account, or its files are gone.
    """
    if spec.model not in accounts.names():
        return None
    try:
        data = outline(spec.files, spec.max_bars)
        config = settings.config(spec.model, spec.settings)
        found = accounts.account(spec.model, config, data, spec.device)
    except FoxbenchError:
        return None  # the run's own error says more
    measured = profile.step_peak_bytes if spec.device == "cpu" else None
    return Analytic(
        step_peak_bytes=found.step_peak_bytes,
        resident_bytes=found.resident_bytes,
        peak_at=found.peak_at,
        unexplained_bytes=None if measured is None else measured - found.step_peak_bytes,
    )
