"""Adam (Kingma and Ba 2015, arXiv:1412.6980) with a global-norm clip, without ``torch.optim``.

Constructing any optimizer of ``torch.optim`` imports ``torch._dynamo`` and sympy: +71 MB and over
a second in every process, more than most of our models need.  The kernel below it,
``torch._fused_adam_``, costs 2 MB; where a torch version lacks it, public in-place operations do
the same update.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

#: One call updates every parameter.  A private name, so it is looked up and not assumed.
_FUSED: Any = getattr(torch, "_fused_adam_", None)


class Adam:
    """Adam over float32 parameters of one device.

    Its state (two tensors a parameter) is allocated by the first :meth:`step`, which also is
    the first to see gradients; so a process's first step shows what training adds.

    Parameters
    ----------
    params : iterable of torch.Tensor
        Leaves that require gradients.
    learning_rate : float
    betas : (float, float)
    eps : float
    grad_clip : float
        Global norm to which all gradients together are scaled down before the update.
    fused : bool or None
        Force (True) or avoid (False) the fused kernel; None takes it where it exists.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        learning_rate: float,
        *,
        grad_clip: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        fused: bool | None = None,
    ) -> None:
        self.params = list(params)
        self.learning_rate = learning_rate
        self.betas = betas
        self.eps = eps
        self.grad_clip = grad_clip
        self.fused = _FUSED is not None if fused is None else fused
        self.exp_avg: list[Tensor] = []
        self.exp_avg_sq: list[Tensor] = []
        # float32 on the parameters' device, as the fused kernel reads it; shared by all of them.
        self.count = torch.zeros((), device=self.params[0].device)

    @torch.no_grad()
    def step(self) -> None:
        """Clip the gradients, update the parameters, and free the gradients.

        The gradients are freed here and not before the next backward pass, so that between
        steps a trainer holds the least, and a step's peak shows all the step needs.
        """
        if not self.exp_avg:
            self.exp_avg = [torch.zeros_like(p) for p in self.params]
            self.exp_avg_sq = [torch.zeros_like(p) for p in self.params]
        grads = [p.grad for p in self.params]
        if any(g is None for g in grads):
            missing = [i for i, g in enumerate(grads) if g is None]
            raise ValueError(f"parameters {missing} have no gradient: run backward() first")
        present = [g for g in grads if g is not None]
        # >= 1: how many times the gradients are longer than they may be.
        excess = (global_norm(present) / self.grad_clip).clamp_(min=1.0)
        self.count += 1
        (self._update_fused if self.fused else self._update_plain)(present, excess)
        for p in self.params:
            p.grad = None

    def _update_fused(self, grads: list[Tensor], excess: Tensor) -> None:
        # ``grad_scale`` is what the kernel divides gradients by: the clip rides along for free.
        _FUSED(
            self.params,
            grads,
            self.exp_avg,
            self.exp_avg_sq,
            [],
            [self.count] * len(grads),
            amsgrad=False,
            lr=self.learning_rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=self.eps,
            maximize=False,
            grad_scale=excess,
            found_inf=None,
        )

    def _update_plain(self, grads: list[Tensor], excess: Tensor) -> None:
        beta1, beta2 = self.betas
        n = float(self.count)
        size = self.learning_rate / (1 - beta1**n)
        root = (1 - beta2**n) ** 0.5
        for p, g, m, v in zip(self.params, grads, self.exp_avg, self.exp_avg_sq, strict=True):
            g.div_(excess)
            m.lerp_(g, 1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            p.addcdiv_(m, (v.sqrt() / root).add_(self.eps), value=-size)

    def tensors(self) -> list[Tensor]:
        """The state: both moments of every parameter, and the step count."""
        return [*self.exp_avg, *self.exp_avg_sq, self.count]


def global_norm(tensors: Sequence[Tensor]) -> Tensor:
    """Euclidean norm of all ``tensors`` as if they were one vector; a scalar tensor."""
    norm = torch.linalg.vector_norm
    whole: Tensor = norm(torch.stack([norm(t) for t in tensors]))
    return whole
