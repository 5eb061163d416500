"""Our Adam against torch's, and its two ways against each other."""

import pytest
import torch

from foxbench.models import adam as adam_module
from foxbench.models.adam import Adam, global_norm

SHAPES = ((64, 17), (64,), (3, 64), ())


def leaves(n: int) -> list[list[torch.Tensor]]:
    """``n`` equal sets of parameters."""
    torch.manual_seed(0)
    start = [torch.randn(s) for s in SHAPES]
    return [[t.clone().requires_grad_() for t in start] for _ in range(n)]


def feed(*sets: list[torch.Tensor], scale: float = 1.0) -> None:
    """Give every set the same random gradients."""
    grads = [scale * torch.randn(s) for s in SHAPES]
    for params in sets:
        for p, g in zip(params, grads, strict=True):
            p.grad = g.clone()


def distance(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    return max((p - q).abs().max().item() for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("grad_clip", [0.5, 1e9])
def test_it_agrees_with_torchs_own_adam(fused, grad_clip):
    if fused and adam_module._FUSED is None:
        fused = None
    ours, theirs = leaves(2)
    adam = Adam(ours, 1e-2, grad_clip=grad_clip, eps=1e-5, fused=fused)
    reference = torch.optim.Adam(theirs, 1e-2, eps=1e-5)
    for i in range(40):
        feed(ours, theirs, scale=0.01 if i % 3 else 10.0)
        adam.step()
        torch.nn.utils.clip_grad_norm_(theirs, grad_clip)
        reference.step()
    assert distance(ours, theirs) < 2e-6
    assert distance(ours, leaves(1)[0]) > 0.01  # they did move


@pytest.mark.skipif(adam_module._FUSED is None, reason="this torch has no fused Adam")
def test_the_fused_and_the_plain_update_agree():
    a, b = leaves(2)
    fused = Adam(a, 1e-3, grad_clip=0.5, fused=True)
    plain = Adam(b, 1e-3, grad_clip=0.5, fused=False)
    for _ in range(50):
        feed(a, b)
        fused.step()
        plain.step()
    assert distance(a, b) < 1e-6
    assert distance(fused.tensors(), plain.tensors()) < 1e-6


@pytest.mark.parametrize("fused", [None, False])
def test_gradients_longer_than_the_clip_are_scaled_to_it_and_shorter_ones_kept(fused):
    for scale, expected in ((100.0, 0.5), (1e-3, None)):
        (params,) = leaves(1)
        adam = Adam(params, 1e-3, grad_clip=0.5, fused=fused)
        feed(params, scale=scale)
        norm = global_norm([p.grad for p in params]).item()
        adam.step()
        # The first moment after one step is (1 - beta1) * clipped gradient.
        used = global_norm(adam.exp_avg).item() / (1 - adam.betas[0])
        assert used == pytest.approx(norm if expected is None else expected, rel=1e-5)


def test_gradients_are_freed_by_a_step_and_the_state_is_made_by_the_first():
    (params,) = leaves(1)
    adam = Adam(params, 1e-3, grad_clip=1.0)
    assert len(adam.tensors()) == 1  # the count alone
    feed(params)
    adam.step()
    assert all(p.grad is None for p in params)
    assert len(adam.tensors()) == 2 * len(params) + 1
    assert adam.count.item() == 1


def test_a_step_without_gradients_is_refused_and_changes_nothing():
    (params,) = leaves(1)
    adam = Adam(params, 1e-3, grad_clip=1.0)
    feed(params)
    params[1].grad = None
    with pytest.raises(ValueError, match=r"parameters \[1\] have no gradient"):
        adam.step()
    assert distance(params, leaves(1)[0]) == 0
    assert adam.count.item() == 0


def test_the_norm_of_all_tensors_is_that_of_one_long_vector():
    a, b = torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])
    assert global_norm([a, b]).item() == pytest.approx(5.0)
