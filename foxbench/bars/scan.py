"""First-order recursions without a loop over rows and with NumPy alone.

``y[t] = decay * y[t-1] + x[t]`` by prefix doubling inside groups of 128 rows (Hillis & Steele,
"Data parallel algorithms", CACM 29(12), 1986), then one carry per group.  Every operation on a
row is element-wise and groups lie at fixed positions, so row t has the same bits however many
rows follow it: the features' causality tests rest on that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GROUP = 128


def scan(x: NDArray[np.float64], decay: float, before: float) -> NDArray[np.float64]:
    """Solve ``y[t] = decay * y[t-1] + x[t]``.

    Parameters
    ----------
    x : float64 array (n,)
    decay : float
        In [0, 1).
    before : float
        ``y[-1]``, the value before the first row.

    Returns
    -------
    float64 array (n,)
    """
    n = x.shape[0]
    groups = -(-n // _GROUP)
    y = np.zeros((groups, _GROUP))
    y.reshape(-1)[:n] = x
    shift, factor = 1, decay
    while shift < _GROUP:
        y[:, shift:] += factor * y[:, :-shift]
        shift, factor = 2 * shift, factor * factor
    powers = decay ** np.arange(1, _GROUP + 1)
    carries = []
    carry = before
    step = float(powers[-1])
    for last in y[:, -1].tolist():
        carries.append(carry)
        carry = last + carry * step
    y += np.array(carries)[:, None] * powers
    return y.reshape(-1)[:n]
