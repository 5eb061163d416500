"""Where the bytes of a run should be by its model's arithmetic, beside what was measured."""

from __future__ import annotations

from foxbench.errors import FoxbenchError
from foxbench.models import account as accounts
from foxbench.models.dataset import outline
from foxbench.profile import settings
from foxbench.profile.result import Analytic, Part
from foxbench.profile.spec import Spec


def analytic(spec: Spec) -> Analytic | None:
    """The account of the model that was trained; nothing is trained or allocated for it.

    Returns
    -------
    Analytic or None
        None where the model has no account, its settings do not fit, or its files are gone: the
        run's own error says more.
    """
    if spec.model not in accounts.names():
        return None
    try:
        data = outline(spec.files, spec.max_bars)
        config = settings.config(spec.model, spec.settings)
        found = accounts.account(spec.model, config, data, spec.device)
    except FoxbenchError:
        return None
    return Analytic(
        params_bytes=found.params_bytes,
        grads_bytes=found.grads_bytes,
        optimizer_bytes=found.optimizer_bytes,
        buffers_bytes=found.buffers_bytes,
        data_bytes=found.data_bytes,
        resident_bytes=found.resident_bytes,
        activations=tuple(Part(part.name, part.bytes) for part in found.activations),
        step_peak_bytes=found.step_peak_bytes,
        peak_at=found.peak_at,
        peak_parts=tuple(Part(part.name, part.bytes) for part in found.peak_parts),
    )
