"""int8 weights: a quarter of the bytes, half a unit of error, nothing unpacked between calls."""

import dataclasses

import pytest
import torch
from torch import nn

from foxbench.models.configs import TftConfig
from foxbench.models.inference import TftInference, TftInt8Inference
from foxbench.models.live import frozen
from foxbench.models.quantize import LARGEST, pack, quantize_, unpack
from foxbench.models.tft import Tft, TftTrainer

SMALL = TftConfig(d_model=32, heads=2, encoder=12, decoder=5, batch=32, micro=16, dropout=0.0)


@pytest.fixture
def windows():
    torch.manual_seed(0)
    return torch.randn(8, 5), torch.randn(12, 8, 9), torch.randn(5, 8, 3)


@pytest.fixture
def model():
    torch.manual_seed(1)
    return frozen(Tft(SMALL))


@pytest.mark.parametrize(("shape", "inputs"), [((40, 30), 1), ((3, 30, 40), 1), ((7, 1), 1)])
def test_a_weight_is_off_by_half_a_unit_of_its_channel_at_most(shape, inputs):
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(2)).exp()
    q, scale = pack(weight, inputs)
    assert q.dtype == torch.int8
    assert (scale.shape[inputs], scale.numel()) == (1, weight.numel() // weight.shape[inputs])
    assert ((unpack(q, scale) - weight).abs() <= 0.5001 * scale).all()
    assert (q.abs().amax(dim=inputs) == LARGEST).all()


def test_the_scale_of_a_channel_is_its_own():
    weight = torch.tensor([[1.0, 0.5], [1e-3, -1e-3]])
    q, scale = pack(weight, 1)
    assert q.tolist() == [[127, 64], [127, -127]]
    assert scale.flatten().tolist() == pytest.approx([1 / 127, 1e-3 / 127])


def test_a_channel_of_zeros_stays_zeros():
    weight = torch.zeros(3, 4)
    weight[1] = 2.0
    assert torch.equal(unpack(*pack(weight, 1)), weight)


def test_packing_what_was_unpacked_changes_nothing():
    weight = torch.randn(50, 60, generator=torch.Generator().manual_seed(3))
    q, scale = pack(weight, 1)
    again, _ = pack(unpack(q, scale), 1)
    assert torch.equal(q, again)


def test_a_model_computes_as_with_the_unpacked_weights(model, windows):
    """The oracle: a float model whose matrices were packed and unpacked."""
    rounded = frozen(model)
    for module in rounded.modules():
        names = {nn.Linear: ["weight"], nn.LSTM: ["weight_ih_l0", "weight_hh_l0"]}
        selection = ["second", "gate"] if hasattr(module, "first_scale") else []
        for name in names.get(type(module), selection):
            weight = module.get_parameter(name)
            weight.copy_(unpack(*pack(weight, 1)))
    packed = quantize_(frozen(model))
    assert torch.equal(packed(*windows), rounded(*windows))
    assert not torch.equal(packed(*windows), model(*windows))


def test_every_matrix_is_packed_and_nothing_else(model):
    floats = {name: p.shape for name, p in quantize_(frozen(model)).named_parameters()}
    matrices = {
        name
        for name, p in model.named_parameters()
        if name.endswith(("weight", "weight_ih_l0", "weight_hh_l0", ".second", ".gate"))
        and p.ndim > 1
    }
    assert len(matrices) > 30
    assert set(floats) == {name for name, _ in model.named_parameters()} - matrices


def test_quantizing_twice_is_quantizing_once(model, windows):
    packed = quantize_(model)
    names = [name for name, _ in packed.named_buffers()]
    once = packed(*windows)
    twice = quantize_(packed)
    assert [name for name, _ in twice.named_buffers()] == names
    assert torch.equal(twice(*windows), once)


def test_nothing_unpacked_stays_after_a_call_nor_after_one_that_failed(model, windows):
    packed = quantize_(model)

    def unpacked():
        return [
            name
            for module in packed.modules()
            for name in ("weight", "weight_ih_l0", "second", "gate")
            if isinstance(getattr(module, name, None), torch.Tensor)
            and f"{name}_int8" in dict(module.named_buffers(recurse=False))
        ]

    assert unpacked() == []
    packed(*windows)
    assert unpacked() == []
    assert packed.encoder._flat_weights[:2] == [None, None]
    static, past, _ = windows
    with pytest.raises(RuntimeError):
        packed(static, past, torch.randn(5, 8, 4))
    assert unpacked() == []


def test_a_trained_model_forecasts_as_well_in_a_third_of_the_bytes(known_driver_market):
    trainer = TftTrainer(known_driver_market, dataclasses.replace(SMALL, learning_rate=3e-3))
    for _ in range(60):
        trainer.step()
    whole = TftInference.from_trainer(trainer)
    packed = TftInt8Inference.from_trainer(trainer)
    before, after = whole.evaluate(), packed.evaluate()
    assert before["loss"] < 0.8 * before["naive_loss"]  # it has learned something to lose
    assert after["loss"] < 1.01 * before["loss"]
    assert abs(after["loss"] - before["loss"]) > 0
    assert packed.bytes()["params"] < 0.45 * whole.bytes()["params"]


def test_the_default_model_shrinks_from_1_80_to_0_52_mb(make_market):
    market = make_market(n_bars=500, n_features=10, roots=("ES", "NQ"))
    assert TftInference(market, TftConfig()).bytes()["params"] == 1_800_284
    assert TftInt8Inference(market, TftConfig()).bytes()["params"] == 521_648
