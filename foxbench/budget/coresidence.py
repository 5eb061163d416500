"""Which models fit on a device beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foxbench.budget.result import Coresidence, Row

#: Sets that are listed; with many models there can be very many.
MAX_SETS = 20


def coresidence(rows: Sequence[Row], limit_bytes: int | None) -> Coresidence:
    """Sum the peaks and find the sets that fit.

    Parameters
    ----------
    rows : sequence of Row
        Those without a peak take no part.
    limit_bytes : int or None
        Of the whole device.

    Returns
    -------
    Coresidence
        Each model counts with its peak and error bound.  Pages that processes share, such as
        libraries', count once for each, so that a set which fits here fits.
    """
    measured = [row for row in rows if row.peak_bytes is not None]
    left_out = tuple(row.name for row in rows if row.peak_bytes is None)
    sizes = [(row.name, (row.peak_bytes or 0) + (row.peak_err_bytes or 0)) for row in measured]
    total = sum(size for _, size in sizes) if sizes else None
    if limit_bytes is None:
        fits, sets, more, alone = None, [], False, []
    else:
        alone = [name for name, size in sizes if size > limit_bytes]
        inside = [(name, size) for name, size in sizes if size <= limit_bytes]
        found = maximal_sets(inside, limit_bytes)
        sets = [chosen for _, chosen in zip(range(MAX_SETS), found, strict=False)]
        more = next(found, None) is not None
        fits = _fits(total, limit_bytes, left_out)
    return Coresidence(
        limit_bytes=limit_bytes,
        sum_bytes=total,
        upper_bound=all(row.peak_err_bytes is not None for row in measured),
        fits=fits,
        sets=tuple(sets),
        more_sets=more,
        alone_too_large=tuple(alone),
        left_out=left_out,
    )


def _fits(total: int | None, limit_bytes: int, left_out: Sequence[str]) -> bool | None:
    if total is None:
        return None
    if total > limit_bytes:
        return False
    return None if left_out else True


def maximal_sets(sizes: Sequence[tuple[str, int]], limit: int) -> Iterator[tuple[str, ...]]:
    """Every set whose sum is at most ``limit`` and that no further model fits into.

    Parameters
    ----------
    sizes : sequence of (str, int)
        Name and size, none above ``limit``.

    Yields
    ------
    tuple of str
        In the order of ``sizes``, larger models first tried.
    """
    ordered = sorted(range(len(sizes)), key=lambda i: -sizes[i][1])
    rest = [0] * (len(ordered) + 1)
    for at in range(len(ordered) - 1, -1, -1):
        rest[at] = rest[at + 1] + sizes[ordered[at]][1]

    def search(at: int, slack: int, chosen: list[int], least: int) -> Iterator[tuple[str, ...]]:
        # ``least`` is the smallest size passed over; what is left must fill the room below it.
        if slack - rest[at] >= least:
            return
        if at == len(ordered):
            if chosen:
                yield tuple(sizes[i][0] for i in sorted(chosen))
            return
        index = ordered[at]
        size = sizes[index][1]
        if size <= slack:
            yield from search(at + 1, slack - size, [*chosen, index], least)
        yield from search(at + 1, slack, chosen, min(least, size))

    yield from search(0, limit, [], limit + 1)
