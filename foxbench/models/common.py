"""What all trainers share: one series on a device, scaled on the way out; seeds; byte counts."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from foxbench.errors import DataError
from foxbench.features.scaler import CLIP, Scaler
from foxbench.models.data import Series, train_bars


class Scale:
    """The scale of features, frozen: all that a live bot keeps of the bars it was trained on.

    Parameters
    ----------
    training : float32 array (n, n_features)
        Raw features of the training bars; :class:`~foxbench.features.scaler.Scaler` reads the
        first 6,000.
    device : str

    Attributes
    ----------
    mean, inv_sd : float32 (n_features,)
    """

    def __init__(self, training: NDArray[np.float32], device: str = "cpu") -> None:
        scaler = Scaler.fit(training)
        self.mean = _tensor(scaler.mean, device)
        self.inv_sd = _tensor(np.reciprocal(scaler.sd), device)

    def scale(self, raw: Tensor, out: Tensor | None = None) -> Tensor:
        """``(raw - mean) / sd``, clipped at ±``CLIP``; ``raw`` has shape (..., n_features)."""
        scaled = torch.sub(raw, self.mean, out=out)
        return scaled.mul_(self.inv_sd).clamp_(-CLIP, CLIP)

    def tensors(self) -> list[Tensor]:
        """What was allocated."""
        return [self.mean, self.inv_sd]


class Bars(Scale):
    """One series on a device; features are scaled as they are gathered.

    The raw float32 matrix is shared with the caller's :class:`~foxbench.models.data.Series` and
    never copied on the CPU: a second, scaled matrix would cost 26 MB at 29,425 bars and 154 MB
    at the full 179,275, while scaling the few rows of a step is some microseconds.  A
    memory-mapped matrix stays on disk but for the rows that are read.

    Parameters
    ----------
    series : Series
    device : str

    Attributes
    ----------
    x : float32 (n_bars, n_features)
        Raw features.
    mean, inv_sd : float32 (n_features,)
        Of the first 6,000 training bars, by :class:`~foxbench.features.scaler.Scaler`.
    r : float32 (n_bars,)
        Returns to the next bar's close / their standard deviation over the training bars.
    n, n_train : int
        All bars, and those trained on; bars ``n_train`` to ``n - 2`` are evaluated.
    """

    def __init__(self, series: Series, device: str = "cpu") -> None:
        self.n = series.n_bars
        self.n_train = train_bars(self.n)
        self.n_features = series.n_features
        super().__init__(series.features[: self.n_train], device)
        self.r = _tensor(scale_returns(series.returns, self.n_train), device)
        self.x = _tensor(series.features, device)

    def rows(self, t: Tensor, out: Tensor | None = None) -> Tensor:
        """Scaled features of bars ``t``.

        Parameters
        ----------
        t : int32 or int64 (n,)
        out : float32 (n, n_features), optional
            Written to and returned; may be a view into a wider block.

        Returns
        -------
        float32 (n, n_features)
        """
        return self.scale(self.x.index_select(0, t), out)

    def tensors(self) -> list[Tensor]:
        """What the trainer itself allocated; the shared ``x`` is not among them."""
        return [*super().tensors(), self.r]


def scale_returns(returns: NDArray[np.float32], n_train: int) -> NDArray[np.float32]:
    """Returns / their standard deviation over the training bars, clipped at ±``CLIP``.

    The last training bar's return ends in the held-out part, so it is left out of the scale.
    """
    finite = np.isfinite(returns)
    if not finite.all():
        raise DataError(f"returns: bar {int(finite.argmin())} holds a value that is not a number")
    scaled: NDArray[np.float32] = returns * returns_scale(returns, n_train)
    return scaled.clip(-CLIP, CLIP, out=scaled)


def returns_scale(returns: NDArray[np.float32], n_train: int) -> np.float32:
    """1 / the standard deviation of the training bars' returns; 1 in a market that never moves."""
    sd = float(returns[: n_train - 1].std(dtype=np.float64))
    scale: np.float32 = np.float32(1 / sd if sd > 0 else 1.0)
    return scale


def seeded(seed: int) -> np.random.Generator:
    """Seed torch (weights, dropout) and return the trainer's own NumPy generator.

    On one thread two trainers built from one seed then agree to the last digit.
    ``torch.use_deterministic_algorithms`` is left alone: it imports ``torch._dynamo`` (+71 MB).
    """
    torch.manual_seed(seed)
    return np.random.default_rng(seed)


class Mlp(nn.Module):
    """Linear layers of the given widths with an activation between them.

    The activation overwrites its input, which no backward pass needs: one tensor a layer less.

    Parameters
    ----------
    widths : iterable of int
        Input, hidden..., output.
    activate_ : callable
        In place and differentiable from its result, such as ``torch.relu_`` or ``torch.tanh_``.
    """

    def __init__(self, widths: Iterable[int], activate_: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(widths))
        self.activate_ = activate_

    def forward(self, x: Tensor) -> Tensor:
        """(n, widths[0]) to (n, widths[-1])."""
        *hidden, last = self.layers
        for layer in hidden:
            x = self.activate_(layer(x))
        out: Tensor = last(x)
        return out


def nbytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the distinct storages behind ``tensors``; views of one storage count once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())


def component_bytes(
    params: Iterable[Tensor],
    optimizer: Iterable[Tensor],
    buffers: Iterable[Tensor],
    data: Iterable[Tensor],
) -> dict[str, int]:
    """The figures of ``Trainer.bytes()``, of the tensors that stand at this moment.

    ``grads`` is what the parameters' gradients take now: 0 between steps, where they are freed,
    and as much as ``params`` at its most.
    """
    params = list(params)
    return {
        "params": nbytes(params),
        "grads": nbytes(p.grad for p in params if p.grad is not None),
        "optimizer": nbytes(optimizer),
        "buffers": nbytes(buffers),
        "data": nbytes(data),
    }


def _tensor(array: NDArray[np.float32], device: str) -> Tensor:
    """``array`` on ``device``; on the CPU it shares the array's memory."""
    with warnings.catch_warnings():
        # A read-only memory map: torch warns that writing would be undefined.  Nothing writes.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        tensor = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
    return tensor.to(device)
