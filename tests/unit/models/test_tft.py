"""The TFT as a whole: what it may see, its windows and loss, and that it learns a planted rule."""

import dataclasses

import numpy as np
import pytest
import torch

from foxbench.errors import DataError
from foxbench.models.configs import TftConfig
from foxbench.models.tft import TftTrainer
from foxbench.models.tft_layers import quantile_loss

SMALL = TftConfig(d_model=16, heads=2, encoder=12, decoder=5, batch=8, micro=4, dropout=0.0)
ROOTS = ("ES", "NQ", "6E", "ZN")


@pytest.fixture(scope="module")
def market(make_market):
    """Four instruments of 500 bars (400 to train on), no rule."""
    return make_market(n_bars=500, n_features=10, roots=ROOTS)


def small(data, **settings):
    return TftTrainer(data, dataclasses.replace(SMALL, **settings))


def gradients(trainer, series, starts):
    for p in trainer.model.parameters():
        p.grad = None
    loss = trainer.accumulate(series, starts)
    return loss, {name: p.grad.clone() for name, p in trainer.model.named_parameters()}


def test_the_model_has_450071_parameters(market):
    trainer = TftTrainer(market, TftConfig())
    assert sum(p.numel() for p in trainer.model.parameters()) == 450_071
    assert trainer.bytes()["params"] == 4 * 450_071


def test_the_gradient_reaches_every_parameter(market):
    trainer = small(market)
    _, grads = gradients(trainer, np.array([0, 1, 2, 3] * 4), np.arange(0, 320, 20))
    assert [name for name, g in grads.items() if g.abs().max() < 1e-8] == []


@pytest.mark.parametrize("step", range(5))
def test_a_known_input_ahead_moves_its_own_output_and_none_before(market, step):
    model = small(market).model.eval()
    static, past, ahead = torch.randn(3, 5), torch.randn(12, 3, 9), torch.randn(5, 3, 3)
    changed = ahead.clone()
    changed[step] += 1
    before, after = model(static, past, ahead), model(static, past, changed)
    assert torch.equal(before[:step], after[:step])
    assert (before[step:] != after[step:]).all()


def test_what_is_observed_ahead_cannot_be_seen(market):
    trainer = small(market)
    start = (np.array([1]), np.array([100]))
    _, past, ahead, _ = trainer.windows.gather(*start)
    before = trainer.model(*trainer.windows.gather(*start)[:3])
    now = trainer.windows.offset[1] + 100 + SMALL.encoder - 1
    trainer.windows.x[now + 1 :, len(SMALL.known) :] = 99.0  # every observed column ahead
    trainer.windows.r[now:] = 99.0
    _, past_after, ahead_after, _ = trainer.windows.gather(*start)
    assert torch.equal(past, past_after)
    assert torch.equal(ahead, ahead_after)
    assert torch.equal(before, trainer.model(*trainer.windows.gather(*start)[:3]))


def test_a_window_holds_the_columns_by_name_scaled_and_cumulative_returns(market):
    trainer = small(market)
    static, past, ahead, target = trainer.windows.gather(np.array([2, 0]), np.array([30, 7]))
    assert static.shape == (2, 5)
    assert (past.shape, ahead.shape, target.shape) == ((12, 2, 9), (5, 2, 3), (5, 2))
    series = market.series[2]
    names = SMALL.known + SMALL.observed
    raw = series.features[:, [series.feature_names.index(n) for n in names]].astype(np.float64)
    scaled = (raw - raw[:400].mean(0)) / raw[:400].std(0)
    np.testing.assert_allclose(past[:, 0], scaled[30:42], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ahead[:, 0], scaled[42:47, :3], rtol=1e-4, atol=1e-5)
    # Bar 41 is "now"; returns[41] leads from its close to bar 42's, the first bar ahead.
    r = series.returns.astype(np.float64) / series.returns[:399].std(dtype=np.float64)
    np.testing.assert_allclose(target[:, 0], r[41:46].cumsum(), rtol=1e-4)


def test_drawn_windows_end_within_the_training_bars_of_their_series(make_market):
    parts = [make_market(n_bars=n, n_features=10).first for n in (100, 500)]
    data = dataclasses.replace(make_market(n_bars=100, n_features=10), series=tuple(parts))
    windows = small(data).windows
    series, starts = windows.draw(np.random.default_rng(0), 20_000)
    for i, n_train in enumerate((80, 400)):
        mine = starts[series == i]
        assert mine.min() == 0
        assert mine.max() + SMALL.window == n_train


def test_targets_held_out_are_scored_once_and_start_in_the_held_out_part(market):
    series, starts = small(market).windows.held_out()
    for i in range(4):
        now = starts[series == i] + SMALL.encoder - 1
        scored = (now[:, None] + np.arange(SMALL.decoder)).ravel()  # returns that are summed
        assert scored[0] == 400
        assert len(set(scored)) == len(scored)
        assert 498 - SMALL.decoder < scored[-1] <= 498


def test_held_out_bars_influence_neither_a_step_nor_the_scales_nor_the_naive_forecast(market):
    changed = []
    for s in market.series:
        features, returns = s.features.copy(), s.returns.copy()
        features[400:], returns[399:] = 7.0, 9.0
        changed.append(dataclasses.replace(s, features=features, returns=returns))
    a, b = small(market), small(dataclasses.replace(market, series=tuple(changed)))
    assert [a.step() for _ in range(5)] == [b.step() for _ in range(5)]
    naive = [t.windows.naive_quantiles(t.quantiles) for t in (a, b)]
    assert torch.equal(*naive)


def test_naive_quantiles_are_those_of_all_training_sums(market):
    trainer = small(market)
    got = trainer.windows.naive_quantiles(trainer.quantiles)
    returns = [trainer.windows.r[o : o + 399].numpy() for o in trainer.windows.offset]
    for k in (1, 3, 5):
        sums = [np.convolve(r.astype(np.float64), np.ones(k), "valid") for r in returns]
        want = np.quantile(np.concatenate(sums), SMALL.quantiles)
        np.testing.assert_allclose(got[k - 1], want, rtol=1e-4, atol=1e-4)


def test_a_model_that_says_the_naive_forecast_scores_as_the_naive_forecast(market):
    trainer = small(market)
    naive = trainer.windows.naive_quantiles(trainer.quantiles)[:, None]
    trainer.model.register_forward_hook(lambda _m, args, out: naive.expand_as(out))
    score = trainer.evaluate()
    assert score["loss"] == pytest.approx(score["naive_loss"], rel=1e-6)
    assert trainer.model.training


def test_too_few_held_out_bars_are_refused_with_a_remedy(make_market):
    trainer = small(make_market(n_bars=25, n_features=10))
    with pytest.raises(DataError, match="no series has the 6 held-out bars") as caught:
        trainer.evaluate()
    assert "at least 30 bars" in caught.value.remedy


def test_the_quantile_loss_is_its_definition():
    forecast = torch.tensor([[[-1.0, 0.0, 2.0]], [[0.5, 0.5, 0.5]]])
    target, q = torch.tensor([[1.0], [0.25]]), (0.1, 0.5, 0.9)
    want = 0.0
    for t, step in zip(target.view(-1).tolist(), forecast.view(2, 3).tolist(), strict=True):
        for said, share in zip(step, q, strict=True):
            want += share * (t - said) if t >= said else (1 - share) * (said - t)
    assert float(quantile_loss(forecast, target, torch.tensor(q))) == pytest.approx(want)


def test_the_quantile_loss_is_least_at_the_samples_quantile():
    sample = torch.randn(2_001, generator=torch.Generator().manual_seed(0))
    said = torch.linspace(-2, 2, 401)
    for share in (0.1, 0.5, 0.9):
        losses = [
            float(quantile_loss(s.expand(2_001, 1), sample, torch.tensor([share]))) for s in said
        ]
        best = said[int(np.argmin(losses))]
        assert float(best) == pytest.approx(float(sample.quantile(share)), abs=0.02)


def test_gradients_of_micro_batches_add_up_to_the_full_batchs(market):
    windows = (np.array([0, 1, 2, 3, 0, 1, 2, 3]), np.arange(0, 320, 40))
    full_loss, full = gradients(small(market, micro=8), *windows)
    for micro in (1, 2, 4):
        loss, parts = gradients(small(market, micro=micro), *windows)
        assert loss == pytest.approx(full_loss, rel=1e-6)
        for name, g in parts.items():
            torch.testing.assert_close(g, full[name], rtol=1e-3, atol=1e-6)


def test_dropout_is_drawn_in_training_and_off_in_evaluation(market):
    trainer = small(market, dropout=0.5)
    inputs = torch.randn(3, 5), torch.randn(12, 3, 9), torch.randn(5, 3, 3)
    assert not torch.equal(trainer.model(*inputs), trainer.model(*inputs))
    assert np.array_equal(trainer.infer(), trainer.infer())
    assert trainer.evaluate() == trainer.evaluate()


def test_the_live_forecast_has_a_row_a_bar_ahead_and_a_column_a_quantile(market):
    forecast = small(market).infer()
    assert forecast.shape == (5, 3)
    assert forecast.dtype == np.float32
    assert np.isfinite(forecast).all()


def test_bytes_are_what_gc_finds(market, new_tensor_bytes):
    trainer = small(market, dropout=0.1)
    for _ in range(3):
        trainer.step()
    found = trainer.bytes()
    assert found["optimizer"] == 2 * found["params"] + 4
    assert found["grads"] == 0
    assert found["data"] == 4 * (2_000 * (9 + 1) + 4 * 5)
    assert sum(found.values()) == new_tensor_bytes()
    trainer.accumulate(*trainer.windows.draw(trainer.rng, 4))
    assert trainer.bytes()["grads"] == found["params"]
    assert sum(trainer.bytes().values()) == new_tensor_bytes()


def test_two_fresh_processes_agree_to_the_last_digit_and_import_no_dynamo(train_in_fresh_process):
    settings = dict(SMALL.__dict__, known=("x0", "x1"), observed=("x2", "x3"), dropout=0.1)
    first, second = (train_in_fresh_process("tft", **settings) for _ in range(2))
    assert first["losses"] == second["losses"]
    assert first["score"] == second["score"]
    assert not first["torch_before_build"]
    assert not first["dynamo"]
    assert not first["sympy"]


def test_it_overfits_one_batch(market):
    trainer = small(market, d_model=32, learning_rate=5e-3)
    windows = trainer.windows.draw(trainer.rng, 8)
    losses = []
    for _ in range(150):
        losses.append(trainer.accumulate(*windows))
        trainer.adam.step()
    assert losses[-1] < 0.1 * losses[0]


def test_it_learns_what_the_clock_says_of_the_bars_ahead(known_driver_market):
    config = TftConfig(d_model=32, encoder=20, learning_rate=3e-3, batch=32, dropout=0.0)
    trainer = TftTrainer(known_driver_market, config)
    for _ in range(150):
        trainer.step()
    score = trainer.evaluate()
    # The naive forecast scores 1; known of the full model in 150 steps: 1.01 -> .41.
    assert score["loss"] < (1 - 0.3) * score["naive_loss"]


def test_an_epoch_holds_the_training_bars_about_once(market):
    assert small(market).steps_per_epoch() == 4 * 400 // (8 * 5)
    assert small(market, batch=2048).steps_per_epoch() == 1
