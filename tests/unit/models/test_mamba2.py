"""MAMBA-2: causal, exact gradients from its hand-written nodes, and it learns a planted rule."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import functional

from foxbench.models.configs import Mamba2Config
from foxbench.models.mamba2 import Mamba2, Mamba2Trainer
from foxbench.models.mamba2_block import Weights, block, rms_norm
from foxbench.models.ssd import ssd

SMALL = Mamba2Config(
    d_model=16, layers=2, headdim=8, d_state=4, chunk=8, seq_len=32, batch=4, micro=2
)


def small(data, **settings):
    return Mamba2Trainer(data, dataclasses.replace(SMALL, **settings))


def gradients(trainer, starts):
    for p in trainer.model.parameters():
        p.grad = None
    loss = trainer.accumulate(starts)
    return loss, [p.grad.clone() for p in trainer.model.parameters()]


def test_the_model_has_501345_parameters(make_market):
    trainer = Mamba2Trainer(make_market(n_bars=400), Mamba2Config())
    assert sum(p.numel() for p in trainer.model.parameters()) == 501_345
    assert trainer.bytes()["params"] == 4 * 501_345


def test_inputs_from_bar_100_on_change_no_earlier_output_by_a_single_bit():
    torch.manual_seed(0)
    model = Mamba2(20, Mamba2Config(d_model=32, layers=2, chunk=32))
    x = torch.randn(2, 256, 20)
    changed = x.clone()
    changed[:, 100:] = torch.randn(2, 156, 20) * 3
    before, after = model(x), model(changed)
    assert torch.equal(before[:, :100], after[:, :100])
    assert (before[:, 100:] != after[:, 100:]).float().mean() > 0.99


def test_a_chunk_changes_nothing_but_rounding():
    outputs = []
    for chunk in (1, 16, 64):
        torch.manual_seed(0)
        model = Mamba2(5, dataclasses.replace(SMALL, chunk=chunk)).double()
        outputs.append(model(torch.linspace(-2, 2, 2 * 64 * 5).double().view(2, 64, 5)))
    for other in outputs[1:]:
        torch.testing.assert_close(other, outputs[0], rtol=1e-11, atol=1e-12)


HEADS, WIDTH, STATE, TAPS, MODEL = 3, 4, 5, 4, 6
INNER = HEADS * WIDTH
SEEN = INNER + 2 * STATE
SHAPES = Weights(
    norm=(MODEL,),
    in_proj=(2 * INNER + 2 * STATE + HEADS, MODEL),
    conv=(TAPS, SEEN),
    conv_bias=(SEEN,),
    dt_bias=(HEADS,),
    a_log=(HEADS,),
    skip=(HEADS,),
    out_norm=(INNER,),
    out_proj=(MODEL, INNER),
)


def block_inputs(length):
    """x (2,length,MODEL) and every weight, all of them away from their start values."""
    g = torch.Generator().manual_seed(1)
    shapes = [(2, length, MODEL), *SHAPES]
    tensors = [torch.randn(s, generator=g, dtype=torch.float64) for s in shapes]
    return [t.requires_grad_() for t in tensors]


def plain_block(x, *weights):
    """The same from torch's own conv1d, rms_norm and autograd."""
    w = Weights(*weights)
    projected = functional.rms_norm(x, (MODEL,), w.norm, 1e-5) @ w.in_proj.T
    z, u, dt = projected.split([INNER, SEEN, HEADS], -1)
    padded = functional.pad(u.mT, (TAPS - 1, 0))
    conv = functional.conv1d(padded, w.conv.T[:, None], w.conv_bias, groups=SEEN)
    xs, b, c = functional.silu(conv.mT).split([INNER, STATE, STATE], -1)
    xs = xs.unflatten(-1, (HEADS, WIDTH))
    dt = functional.softplus(dt + w.dt_bias)
    y = ssd(xs * dt[..., None], -dt * w.a_log.exp(), b, c, 8) + w.skip[:, None] * xs
    gated = y.flatten(2) * functional.silu(z)
    return x + functional.rms_norm(gated, (INNER,), w.out_norm, 1e-5) @ w.out_proj.T


def test_a_block_and_all_its_gradients_equal_torch_layers():
    x, *weights = block_inputs(16)
    got, want = block(x, Weights(*weights), 8), plain_block(x, *weights)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    outer = torch.randn_like(want)
    got_grads = torch.autograd.grad((got * outer).sum(), [x, *weights])
    want_grads = torch.autograd.grad((want * outer).sum(), [x, *weights])
    for name, g, w in zip(("x", *Weights._fields), got_grads, want_grads, strict=True):
        torch.testing.assert_close(
            g, w, rtol=1e-9, atol=1e-11, msg=lambda m, name=name: f"{name}: {m}"
        )


def test_a_window_shorter_than_the_convolution_has_exact_gradients_too():
    tensors = block_inputs(2)
    assert torch.autograd.gradcheck(lambda x, *w: block(x, Weights(*w), 1), tensors)


def test_a_block_keeps_its_input_one_projection_and_the_ssds_output():
    x, *weights = (t.float().detach().requires_grad_() for t in block_inputs(16))
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t):
        block(x, Weights(*weights), 8)
    a_token = sum(t.numel() for t in kept if t.shape[:2] == (2, 16)) / (2 * 16)
    assert len(kept) == 3 + len(weights)
    assert a_token == MODEL + (2 * INNER + 2 * STATE + HEADS) + INNER


def test_the_norm_equals_torchs_and_its_gradient_the_finite_difference():
    x = torch.randn(3, 2, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(6, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(rms_norm(x, weight), functional.rms_norm(x, (6,), weight, 1e-5))
    assert torch.autograd.gradcheck(rms_norm, (x, weight))


def test_gradients_of_micro_batches_add_up_to_the_full_batchs(small_market):
    starts = np.array([0, 17, 100, 300])
    full_loss, full = gradients(small(small_market, micro=4), starts)
    for micro in (1, 2):
        loss, parts = gradients(small(small_market, micro=micro), starts)
        assert loss == pytest.approx(full_loss, rel=1e-6)
        for a, b in zip(parts, full, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)


def test_the_loss_is_the_mean_over_all_positions_of_the_batch(small_market):
    trainer = small(small_market)
    starts = np.array([3, 50, 60, 7])
    x, target = trainer._windows(starts)
    want = functional.smooth_l1_loss(trainer.model(x), target)
    assert trainer.accumulate(starts) == pytest.approx(want.item(), rel=1e-6)


def test_targets_are_the_next_bars_returns_and_never_held_out_ones(small_market, monkeypatch):
    trainer = small(small_market, batch=400, micro=100)
    drawn = []
    accumulate = trainer.accumulate
    monkeypatch.setattr(trainer, "accumulate", lambda s: (drawn.append(s), accumulate(s))[1])
    for _ in range(3):
        trainer.step()
    starts = np.concatenate(drawn)
    # 400 training bars: bar 399's return ends in bar 400, which is held out.
    assert starts.min() == 0
    assert starts.max() + SMALL.seq_len - 1 == 398
    _, target = trainer._windows(np.array([5]))
    sd = small_market.first.returns[:399].std(dtype=np.float64)
    np.testing.assert_allclose(target[0], small_market.first.returns[5:37] / sd, rtol=1e-5)


def test_every_held_out_bar_is_evaluated_once(small_market):
    trainer = small(small_market)
    trainer.model.register_forward_hook(lambda _m, args, out: torch.zeros_like(out))
    score = trainer.evaluate()
    # A forecast of 0 scores as the naive one, computed here bar by bar.
    held_out = trainer.bars.r[400:499]
    want = float(functional.smooth_l1_loss(torch.zeros(99), held_out))
    assert score["loss"] == pytest.approx(want, rel=1e-5)
    assert score["naive_loss"] == pytest.approx(want, rel=1e-5)


def test_held_out_bars_influence_neither_a_step_nor_the_scales(make_market):
    data = make_market(n_bars=500, n_features=12)
    first = data.first
    features, returns = first.features.copy(), first.returns.copy()
    features[400:], returns[399:] = 7.0, 9.0
    other = dataclasses.replace(first, features=features, returns=returns)
    a, b = small(data), small(dataclasses.replace(data, series=(other,)))
    assert [a.step() for _ in range(5)] == [b.step() for _ in range(5)]


def test_the_live_forecast_is_of_the_last_bar(small_market):
    trainer = small(small_market)
    x, _ = trainer._windows(np.array([500 - SMALL.seq_len]))
    raw = torch.from_numpy(small_market.first.features[-1:])
    torch.testing.assert_close(x[0, -1:], trainer.bars.scale(raw))
    assert trainer.infer() == float(trainer.model(x)[0, -1].detach())


def test_bytes_are_what_gc_finds(small_market, new_tensor_bytes):
    trainer = small(small_market)
    for _ in range(3):
        trainer.step()
    found = trainer.bytes()
    assert found["params"] > 0
    assert found["optimizer"] == 2 * found["params"] + 4
    assert found["grads"] == 0
    assert sum(found.values()) == new_tensor_bytes()
    trainer.accumulate(np.array([0, 1]))
    assert trainer.bytes()["grads"] == found["params"]
    assert sum(trainer.bytes().values()) == new_tensor_bytes()


def test_two_fresh_processes_agree_to_the_last_digit_and_import_no_dynamo(train_in_fresh_process):
    settings = {**SMALL.__dict__}
    first, second = (train_in_fresh_process("mamba2", **settings) for _ in range(2))
    assert first["losses"] == second["losses"]
    assert first["score"] == second["score"]
    assert not first["torch_before_build"]
    assert not first["dynamo"]
    assert not first["sympy"]


def test_it_overfits_one_batch(small_market):
    trainer = small(small_market, d_model=32, learning_rate=1e-2)
    starts = np.array([0, 40, 80, 120])
    losses = []
    for _ in range(80):
        losses.append(trainer.accumulate(starts))
        trainer.adam.step()
    assert losses[-1] < 0.1 * losses[0]


def test_it_learns_a_return_that_a_feature_announced_three_bars_before(make_market):
    # Held-out bars are scored: 6,000 bars of 225 features can simply be remembered.
    data = make_market(n_bars=20_000, n_features=16, rule=lambda x, _: np.roll(x[:, 0], 3), seed=4)
    config = Mamba2Config(d_model=64, layers=2, seq_len=128, batch=8, learning_rate=3e-3)
    trainer = Mamba2Trainer(data, config)
    before = trainer.evaluate()["loss"]
    for _ in range(60):
        trainer.step()
    after = trainer.evaluate()
    # From .40 to .02 is the progress known of the full model in 120 steps; half of it here.
    assert before > 0.38
    assert after["loss"] < 0.21
    assert after["loss"] < 0.6 * after["naive_loss"]


def test_an_epoch_holds_the_training_bars_about_once(small_market):
    assert small(small_market).steps_per_epoch() == 400 // (4 * 32)
    assert small(small_market, batch=64).steps_per_epoch() == 1
