"""The memory account of the TFT; read beside :mod:`foxbench.models.tft`.

Its layers are in ``tft_layers.py``, the variable selection in ``tft_selection.py``, the LSTMs in
``lstm.py``, in the order and with the names of the model's own modules.

Shape letters: b windows, t past bars, q bars ahead, d width, v variables.
"""

from __future__ import annotations

from foxbench.models.account import tft_selection
from foxbench.models.account.lstm import lstm, lstm_params_bytes
from foxbench.models.account.parts import F32, I64, Account, Memory, Tensor
from foxbench.models.account.tape import Grads, Tape, adam
from foxbench.models.account.tft_layers import Layers, gate_params, grn_params, linear_params
from foxbench.models.configs.tft import TftConfig
from foxbench.models.data import STATIC_NAMES, MarketData

N_STATIC = len(STATIC_NAMES)


def account(cfg: TftConfig, data: MarketData, device: str) -> Account:
    """The account of :class:`foxbench.models.tft.TftTrainer`."""
    n_bars = sum(s.n_bars for s in data.series)
    columns = len(cfg.known) + len(cfg.observed)
    tape = Tape(Memory(device))
    _step(tape, cfg, cfg.micro_for(device))
    return tape.account(
        params_bytes=params_bytes(cfg),
        buffers_bytes=F32 * len(cfg.quantiles),
        # The chosen columns, the returns, the statics.
        data_bytes=F32 * (n_bars * (columns + 1) + N_STATIC * len(data.series)),
    )


def params_bytes(cfg: TftConfig) -> int:
    """All parameters, module by module."""
    d, e, known = cfg.d_model, cfg.d_model // cfg.heads, len(cfg.known)
    selection = tft_selection.params
    attention = linear_params(d, d) + d * d + linear_params(d, e) + linear_params(e, d)
    n = (
        selection(N_STATIC, d, False)
        + 4 * grn_params(d, d, False)
        + selection(known + len(cfg.observed), d, True)
        + selection(known, d, True)
        + 3 * gate_params(d, d)
        + grn_params(d, d, True)
        + attention
        + grn_params(d, d, False)
        + linear_params(d, len(cfg.quantiles))
    )
    return F32 * n + 2 * lstm_params_bytes(d)


def _step(tape: Tape, cfg: TftConfig, micro: int) -> None:
    memory, new = tape.memory, tape.memory.new
    known, observed = len(cfg.known), len(cfg.observed)
    with memory.during("batch"):
        total = new()
    # The second micro-batch finds all gradients standing; those after it are like the second.
    for _ in range(min(2, cfg.batch // micro)):
        with memory.during("gathering", "batch"):
            bars = new(cfg.window, micro, itemsize=I64)
            past_rows = new(cfg.encoder, micro, known + observed)
            ahead_rows = new(cfg.decoder, micro, known)
            returns = new(cfg.decoder, micro)
            sums = new(cfg.decoder, micro)
            del returns
            index = new(micro, itemsize=I64)
            static = new(micro, N_STATIC)
            del index, bars
            inputs, target = (static, past_rows, ahead_rows), sums
            del static, past_rows, ahead_rows, sums
        loss = _loss(tape, _forward(tape, cfg, *inputs), target)
        tape.backward(loss)
    adam(memory, tape)
    del total


def _forward(tape: Tape, cfg: TftConfig, static: Tensor, past: Tensor, ahead: Tensor) -> Tensor:
    """(b,statics), (t,b,known+observed), (q,b,known) -> (q,b,quantiles)."""
    net, d, q = Layers(tape, cfg.dropout), cfg.d_model, cfg.decoder
    select_from = tft_selection.selection
    # 1. what kind of instrument
    kind, shares = select_from(net, "static_selection", "selection of static", static, d)
    select = net.grn("select_context", kind, d)
    # 2. variables of each bar
    past, shares = select_from(net, "past_selection", "selection of past", past, d, select)
    ahead, shares = select_from(net, "ahead_selection", "selection of ahead", ahead, d, select)
    # 3. LSTMs
    state = net.grn("h0_context", kind, d), net.grn("c0_context", kind, d)
    read, state = lstm(tape, "encoder", past, state)
    told, state = lstm(tape, "decoder", ahead, state)
    with net.layer("lstm_gate"):
        selected = net.cat([past, ahead])  # (t+q,b,d)
        both = net.cat([read, told])
        dropped = net.dropout(both)
        del both
        local = net.gate("lstm_gate", dropped, selected)
        del dropped
    # 4. enriched
    enriched = net.grn("enrichment", local, d, net.grn("enrich_context", kind, d))
    # 5. attention
    asking = net.last(enriched, q)
    looked_at = net.attention("attention", asking, enriched, cfg.heads)
    with net.layer("attention_gate"):
        attended = net.gate("attention_gate", net.dropout(looked_at), asking, copies=True)
    # 6. position by position
    fed = net.grn("feed_forward", attended, d)
    with net.layer("out_gate"):
        out = net.gate("out_gate", fed, net.last(local, q))
    del fed
    with net.layer("head"):
        y = net.linear("head", out, len(cfg.quantiles))
    del shares, state, read, told
    return y


def _loss(tape: Tape, forecast: Tensor, target: Tensor) -> Tensor:
    """The quantile loss over the count of the whole batch."""
    new, shape = tape.memory.new, forecast.shape
    with tape.memory.during("loss"):
        error = new(*shape)
        above, below = new(*shape), new(*shape)
        larger = new(*shape)
        summed, less_one = new(), new(shape[-1])
        loss = new()
        del error, larger, summed

        def back(dy: Tensor, above: Tensor, below: Tensor, less_one: Tensor) -> Grads:
            grads = new(*shape), new(*shape)
            d_forecast = new(*shape)
            del grads
            return [d_forecast], {}

        tape.record([loss], [forecast], [above, below, less_one], back)
    return loss
