"""The closed list of warnings that a measurement can carry, each with its advice."""

from __future__ import annotations

import errno
import os

from foxbench.sampler.device.result import DeviceMeasurement
from foxbench.sampler.handles import SamplerStats
from foxbench.sampler.provenance import NO_CLEAR_REFS_ENV, clear_refs_allowed
from foxbench.sampler.result import Interval

#: Below this share of skipped ticks a timeline is as good as asked for; a busy torch makes 2-4 %.
MISSED_SHARE = 0.05
#: A bound above this share of the peak makes the peak a rough figure.
ROUGH_SHARE = 0.10


def notices(
    whole: Interval,
    hwm_errno: int,
    stats: SamplerStats,
    open_phases: tuple[str, ...],
    devices: DeviceMeasurement | None = None,
) -> tuple[str, ...]:
    """What the reader must know to trust the figures, most important first.

    Parameters
    ----------
    whole : Interval
        The measured block.
    hwm_errno : int
        Why it has no high-water mark; 0 when it has one.
    stats : SamplerStats
        Of the stopped sampling thread.
    open_phases : tuple of str
        Names of the phases that had not ended when the block did.
    devices : DeviceMeasurement, optional
        None when devices were not to be measured.
    """
    found = [
        _no_mark(hwm_errno),
        _ended_early(stats),
        _sample_above_mark(whole),
        _spike_between_samples(whole),
        _rough(whole),
        _missed(stats),
        *(
            f"phase {name!r} was still open when the block ended: it has no figure; "
            "end every phase inside the block"
            for name in open_phases
        ),
        *_devices(devices),
    ]
    return tuple(text for text in found if text)


def _no_mark(hwm_errno: int) -> str:
    if not hwm_errno:
        return ""
    why = os.strerror(hwm_errno)
    if hwm_errno == errno.ENOSYS:
        why = "a reset is accepted and does nothing, as in a sandbox that emulates /proc"
    if not clear_refs_allowed():
        why = f"switched off by {NO_CLEAR_REFS_ENV}"
    return (
        f"the kernel's high-water mark could not be used ({why}): peaks are the largest sample, "
        "a lower bound; sample faster, or allow writing to /proc/self/clear_refs"
    )


def _ended_early(stats: SamplerStats) -> str:
    if not stats.n_errors:
        return ""
    return (
        f"{stats.n_errors} samples failed, the first with: {os.strerror(stats.first_errno)}; "
        "the timeline has gaps, look for code that closes file descriptors it did not open"
    )


def _sample_above_mark(whole: Interval) -> str:
    mark, sampled, err = whole.peak.hwm_bytes, whole.peak.sampled_bytes, whole.peak.err_bytes
    if mark is None or sampled is None or err is None or sampled <= mark + err:
        return ""
    return (
        f"a sample lies {sampled - mark} bytes above the high-water mark, more than its error "
        f"bound of {err}: something else resets the mark of this process; stop it"
    )


def _spike_between_samples(whole: Interval) -> str:
    mark, sampled, err = whole.peak.hwm_bytes, whole.peak.sampled_bytes, whole.peak.err_bytes
    if mark is None or err is None:
        return ""
    seen = max(sampled or 0, whole.rss_begin_bytes, whole.rss_end_bytes)
    if mark <= seen + err:
        return ""
    return (
        f"the peak was too short for the timeline, which shows {mark - seen} bytes less; "
        "the peak itself is exact, sample faster to see when it was"
    )


def _rough(whole: Interval) -> str:
    err = whole.peak.err_bytes
    if err is None or err <= ROUGH_SHARE * whole.peak.bytes:
        return ""
    return (
        f"on a machine with so many CPUs the kernel's mark may be {err} bytes low, over "
        f"{ROUGH_SHARE:.0%} of the peak; measure on fewer CPUs to have it closer"
    )


def _missed(stats: SamplerStats) -> str:
    ticks = stats.n_samples + stats.n_missed
    if stats.n_missed <= MISSED_SHARE * ticks:
        return ""
    return (
        f"{stats.n_missed} of {ticks} ticks came too late and were skipped: the machine is busy; "
        "lower hz, or leave the sampler a core"
    )


def _devices(found: DeviceMeasurement | None) -> list[str]:
    if found is None:
        return []
    if found.status != "ok":
        advice = f"; {found.remedy}" if found.remedy else ""
        return [f"device memory was not measured: {found.reason}{advice}"]
    notes = []
    for one in found.devices:
        name = f"{one.device.name} ({one.device.uuid})" if one.device.uuid else one.device.name
        if one.status == "not_measured":
            notes.append(
                f"the memory of {name} was not measured: {one.reason}; use torch's own figures"
            )
        elif one.status == "lost":
            notes.append(
                f"{name} could not be read any more: {one.reason}; its figures are those until "
                "then, reset the device and measure again"
            )
        elif one.scope == "device":
            notes.append(
                f"the driver does not tell what this process holds on {name}: its figures are the "
                "whole device's; stop what else runs there, or use torch's own figures"
            )
    return notes
