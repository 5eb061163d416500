"""The chunked SSD against the recurrence it stands for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foxbench.models.ssd import ssd

BATCH, LENGTH, HEADS, WIDTH, STATE = 2, 64, 3, 4, 5


def recurrence(x: Tensor, log_decay: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """The definition, one step after the other."""
    state = x.new_zeros(x.shape[0], x.shape[2], x.shape[3], b.shape[-1])
    out = []
    for t in range(x.shape[1]):
        added = x[:, t, :, :, None] * b[:, t, None, None, :]
        state = log_decay[:, t, :, None, None].exp() * state + added
        out.append((state * c[:, t, None, None, :]).sum(-1))
    return torch.stack(out, 1)


def inputs(dtype: torch.dtype, length: int = LENGTH) -> list[Tensor]:
    g = torch.Generator().manual_seed(3)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype)

    tensors = [
        normal(BATCH, length, HEADS, WIDTH),
        -normal(BATCH, length, HEADS).abs() * 0.3,
        normal(BATCH, length, STATE),
        normal(BATCH, length, STATE),
    ]
    return [t.requires_grad_() for t in tensors]


def output_and_gradients(function, tensors: list[Tensor], *args: int) -> list[Tensor]:
    y = function(*tensors, *args)
    weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view_as(y).cos()
    return [y.detach(), *torch.autograd.grad((y * weights).sum(), tensors)]


def relative_error(got: Tensor, want: Tensor) -> float:
    return float((got.detach().double() - want).abs().max() / want.abs().max())


@pytest.mark.parametrize("chunk", [1, 16, 32, LENGTH])
def test_output_and_every_gradient_equal_the_recurrence_in_float64(chunk: int) -> None:
    want = output_and_gradients(recurrence, inputs(torch.float64))
    got = output_and_gradients(ssd, inputs(torch.float64), chunk)
    assert max(map(relative_error, got, want)) < 1e-13


@pytest.mark.parametrize("chunk", [1, 16, LENGTH])
def test_float32_stays_within_rounding_of_the_recurrence(chunk: int) -> None:
    want = output_and_gradients(recurrence, inputs(torch.float64))
    got = output_and_gradients(ssd, inputs(torch.float32), chunk)
    assert max(map(relative_error, got, want)) < 2e-5


def test_finite_differences_agree_with_the_gradients_written_by_hand() -> None:
    tensors = [t[:1, :8].detach().requires_grad_() for t in inputs(torch.float64)]
    assert torch.autograd.gradcheck(lambda *t: ssd(*t, 4), tensors)


def test_a_decay_of_exp_minus_320_stays_finite() -> None:
    x, log_decay, b, c = inputs(torch.float32)
    hard = torch.full_like(log_decay, -320.0).requires_grad_()
    got = output_and_gradients(ssd, [x, hard, b, c], 16)
    assert all(bool(t.isfinite().all()) for t in got)
    # Nothing survives a step of such a decay: each output is its own input alone.
    alone = x * (b * c).sum(-1)[:, :, None, None]
    torch.testing.assert_close(got[0], alone)


def test_chunks_that_decay_little_and_much_may_be_mixed() -> None:
    tensors = inputs(torch.float64)
    with torch.no_grad():
        tensors[1][:, 20:25] = -320.0
        tensors[1][:, 40:50] = 0.0
    want = output_and_gradients(recurrence, tensors)
    got = output_and_gradients(ssd, tensors, 16)
    assert max(map(relative_error, got, want)) < 1e-13


def test_a_length_that_chunks_do_not_divide_is_refused() -> None:
    with pytest.raises(RuntimeError):
        ssd(*inputs(torch.float64, length=60), 16)
