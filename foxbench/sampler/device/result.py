"""Contracts of device memory: frozen, in bytes; what was not measured is ``None``, never 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # result imports this module
    from foxbench.sampler.result import Timeline

#: ``process``: this process alone.  ``device``: everything on the device, others' too.
SCOPES = ("process", "device")

#: ``ok``; ``lost``: the device went away, the figures are those until then; ``not_measured``.
DEVICE_STATUSES = ("ok", "lost", "not_measured")


@dataclass(frozen=True)
class DeviceInfo:
    """A device as NVML names it.

    Attributes
    ----------
    index : int
        NVML's, which need not be CUDA's; the ``uuid`` is what identifies it.
    uuid : str or None
        None of a device that was lost before it could be asked.
    name : str
    total_bytes : int or None
    """

    index: int
    uuid: str | None
    name: str
    total_bytes: int | None


@dataclass(frozen=True)
class DeviceMemory:
    """What one device held during a measurement.

    Attributes
    ----------
    device : DeviceInfo
    status : str
        One of ``DEVICE_STATUSES``.
    reason : str
        Why it is not ``ok``; empty when it is.
    scope : str
        What ``peak_bytes`` is about: ``process`` where the driver tells it (read once a second),
        else ``device``.
    begin_bytes, peak_bytes : int or None
        First and largest reading of that scope; the peak is a lower bound, as between two
        readings nobody looks.
    used_begin_bytes, used_peak_bytes, used_end_bytes : int or None
        Of the whole device, read at the sampler's rate, without what the driver reserves where it
        tells that apart.
    n_samples, n_errors : int
        Readings of the whole device, and those that failed.
    timeline : Timeline or None
        ``used`` of the whole device; None where it was never read.
    """

    device: DeviceInfo
    status: str
    reason: str
    scope: str
    begin_bytes: int | None
    peak_bytes: int | None
    used_begin_bytes: int | None
    used_peak_bytes: int | None
    used_end_bytes: int | None
    n_samples: int
    n_errors: int
    timeline: Timeline | None

    @property
    def step_peak_bytes(self) -> int | None:
        """The peak above what was held at the begin, in the same scope; None without either."""
        if self.peak_bytes is None or self.begin_bytes is None:
            return None
        return self.peak_bytes - self.begin_bytes


@dataclass(frozen=True)
class DeviceMeasurement:
    """All devices during one ``foxbench.measure`` block.

    Attributes
    ----------
    status : str
        ``ok`` or ``not_measured``; a device that was lost says so itself.
    reason, remedy : str
        Why nothing was measured and what mends it; empty when it was.
    hz : float
    n_missed : int
        Ticks that came too late and were skipped: the thread needs the GIL.
    devices : tuple of DeviceMemory
    """

    status: str
    reason: str
    remedy: str
    hz: float
    n_missed: int
    devices: tuple[DeviceMemory, ...]


@dataclass(frozen=True)
class TorchMemory:
    """torch's own count for one device over an interval; exact for tensors.

    It knows nothing of the CUDA context and of other libraries.

    Attributes
    ----------
    index : int
        CUDA's, as torch numbers devices.
    allocated_begin_bytes, allocated_end_bytes : int
        Held by tensors.
    peak_allocated_bytes, peak_reserved_bytes : int
        Largest inside the interval; reserved is what the caching allocator took from the driver.
    """

    index: int
    allocated_begin_bytes: int
    allocated_end_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
