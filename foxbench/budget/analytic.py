"""What a step needs by its arithmetic, as a row of a validation shows it."""

from __future__ import annotations

from foxbench.budget.result import Analytic
from foxbench.profile.result import Profile


def analytic(profile: Profile) -> Analytic | None:
    """The model's account beside what was measured; None where the model has none."""
    found = profile.analytic
    if found is None:
        return None
    return Analytic(
        step_peak_bytes=found.step_peak_bytes,
        resident_bytes=found.resident_bytes,
        peak_at=found.peak_at,
        unexplained_bytes=profile.unexplained_bytes,
    )
