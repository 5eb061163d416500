"""Layers of the TFT against plain computations of what they stand for."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from foxbench.models.tft_layers import Dropout, Gate, Grn, InterpretableAttention
from foxbench.models.tft_selection import VariableSelection

V, D = 4, 6


def dropout(share=0.0, seed=0):
    return Dropout(share, torch.Generator().manual_seed(seed))


def selection(share=0.0, context=True):
    torch.manual_seed(2)
    layer = VariableSelection(V, D, dropout(share), context).double()
    with torch.no_grad():
        layer.norm.uniform_(0.5, 1.5)
        layer.norm_bias.uniform_(-1, 1)
    return layer


def unfolded(layer, x, shares, keep=None, scale=1.0):
    """Embed each scalar, run a GRN of ordinary layers on the embedding, weigh.

    With W1 the identity, W1 (e x + f) + b1 = e x + (f + b1): the folded scale is e, the folded
    shift f + b1, and the skip is the embedding e x + f itself.  The layer's own skip has a scale
    and a shift apart from these, so an embedding of both, twice as wide, holds the two.
    """
    total = 0
    for v in range(V):
        embed = nn.Linear(1, 2 * D).double()
        first = nn.Linear(2 * D, D).double()
        with torch.no_grad():
            embed.weight[:, 0] = torch.cat([layer.first_scale[v], layer.skip_scale[v]])
            embed.bias[:] = torch.cat([layer.first_shift[v] / 2, layer.skip_shift[v]])
            first.weight[:] = torch.eye(D, 2 * D, dtype=torch.float64)
            first.bias[:] = layer.first_shift[v] / 2
        embedded = embed(x[..., v, None])
        hidden = functional.elu(first(embedded)) @ layer.second[v] + layer.second_bias[v]
        if keep is not None:
            hidden = hidden * keep[v] * scale
        gated = functional.glu(hidden @ layer.gate[v] + layer.gate_bias[v])
        out = functional.layer_norm(
            gated + embedded[..., D:], (D,), layer.norm[v], layer.norm_bias[v]
        )
        total = total + shares[..., v, None] * out
    return total


def test_folding_the_embedding_into_the_first_layer_changes_nothing():
    layer = selection()
    x, context = torch.randn(5, 3, V).double(), torch.randn(3, D).double()
    got, shares = layer(x, context)
    torch.testing.assert_close(got, unfolded(layer, x, shares), rtol=1e-9, atol=1e-9)


def plain(layer, x, shares, keep, scale):
    """The same sum with a graph that autograd builds."""
    total = 0
    for v in range(V):
        xv = x[:, v, None]
        hidden = functional.elu(xv * layer.first_scale[v] + layer.first_shift[v])
        hidden = (hidden @ layer.second[v] + layer.second_bias[v]) * keep[v] * scale
        gated = functional.glu(hidden @ layer.gate[v] + layer.gate_bias[v])
        skipped = gated + xv * layer.skip_scale[v] + layer.skip_shift[v]
        out = functional.layer_norm(skipped, (D,), layer.norm[v], layer.norm_bias[v])
        total = total + shares[:, v, None] * out
    return total


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_every_gradient_of_the_selection_equals_autograds(share):
    layer = selection(share)
    x, context = torch.randn(20, V).double(), torch.randn(20, D).double()
    state = layer.dropout.generator.get_state()
    got, _ = layer(x, context)
    layer.dropout.generator.set_state(state)  # the same masks, in the same order
    shares = layer.selector(x, context).softmax(-1)
    keep = layer.dropout.keep((V, 20, D))
    keep = torch.ones(V, 20, D) if keep is None else keep
    want = plain(layer, x, shares, keep, layer.dropout.scale)
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    weights = torch.randn_like(want)
    names, parameters = zip(*layer.named_parameters(), strict=True)
    got_grads = torch.autograd.grad((got * weights).sum(), parameters)
    want_grads = torch.autograd.grad((want * weights).sum(), parameters)
    for name, g, w in zip(names, got_grads, want_grads, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-8, atol=1e-10, msg=lambda m, n=name: f"{n}: {m}")


def test_selection_shares_sum_to_one_and_follow_the_context():
    layer = selection()
    x = torch.randn(5, 3, V).double()
    _, shares = layer(x, torch.randn(3, D).double())
    _, others = layer(x, torch.randn(3, D).double())
    torch.testing.assert_close(shares.sum(-1), torch.ones(5, 3).double())
    assert (shares > 0).all()
    assert not torch.allclose(shares, others)


def test_a_selection_keeps_nothing_as_wide_as_its_networks():
    layer = VariableSelection(9, 64, dropout(0.1), context=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t):
        layer(torch.randn(500, 9), torch.randn(500, 64))
    widest = max(t.nbytes for t in kept if t.shape[0] != 9 or t.dtype == torch.bool)
    assert widest <= 9 * 500 * 64  # the dropout bits, one byte each


def test_a_grn_is_the_papers_equations():
    torch.manual_seed(0)
    grn = Grn(3, D, dropout(), context=True).double()
    x, c = torch.randn(7, 2, 3).double(), torch.randn(2, D).double()
    hidden = x @ grn.first.weight.T + grn.first.bias + c @ grn.context.weight.T
    hidden = torch.where(hidden > 0, hidden, hidden.exp() - 1)
    inner = hidden @ grn.second.weight.T + grn.second.bias
    a, b = (inner @ grn.gate.linear.weight.T + grn.gate.linear.bias).chunk(2, -1)
    summed = x + a * torch.sigmoid(b)
    centred = summed - summed.mean(-1, keepdim=True)
    want = centred / (summed.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(grn(x, c), want)


def test_a_gate_that_is_shut_leaves_the_skip_alone():
    gate = Gate(D, D)
    with torch.no_grad():
        gate.linear.bias[D:] = -100.0
    skip = torch.randn(3, D)
    torch.testing.assert_close(gate(torch.randn(3, D), skip), functional.layer_norm(skip, (D,)))


def test_attention_rows_sum_to_one_and_see_nothing_later():
    torch.manual_seed(0)
    attention = InterpretableAttention(8, 2)
    steps = torch.randn(9, 3, 8)
    weights = attention.weights(steps[-4:], steps)
    assert weights.shape == (3, 4, 9)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4))
    for k in range(4):
        seen = 5 + k + 1  # the five past steps and those ahead up to itself
        assert (weights[:, k, :seen] > 0).all()
        assert (weights[:, k, seen:] == 0).all()


def test_attention_is_the_average_of_heads_that_share_one_value():
    torch.manual_seed(0)
    attention = InterpretableAttention(8, 2).double()
    steps = torch.randn(9, 1, 8).double()
    seq, ahead = steps[:, 0], steps[-4:, 0]
    mask = torch.arange(9)[None, :] > 5 + torch.arange(4)[:, None]
    heads = []
    for h in range(2):
        part = slice(4 * h, 4 * h + 4)
        q = ahead @ attention.query.weight[part].T + attention.query.bias[part]
        k = seq @ attention.key.weight[part].T
        weights = (q @ k.T / 2).masked_fill(mask, -torch.inf).softmax(-1)
        heads.append(weights @ attention.value(seq))
    want = attention.out(sum(heads) / 2)
    torch.testing.assert_close(attention(steps[-4:], steps)[:, 0], want)


def test_dropout_drops_its_share_and_keeps_the_mean():
    drop = dropout(0.1)
    y = drop(torch.ones(200_001))
    assert float((y == 0).float().mean()) == pytest.approx(0.1, abs=0.004)
    assert float(y.mean()) == pytest.approx(1.0, abs=0.005)
    assert torch.unique(y).tolist() == pytest.approx([0, 1 / 0.9], abs=1e-4)


def test_dropout_of_neighbours_is_independent():
    keep = dropout(0.5).keep((400_000,)).float() - 0.5
    for lag in (1, 2, 3, 4, 5):
        assert abs(float((keep[lag:] * keep[:-lag]).mean())) < 0.002


def test_dropout_is_the_same_from_the_same_seed_and_off_when_evaluating():
    assert torch.equal(dropout(0.3, 5).keep((7, 3)), dropout(0.3, 5).keep((7, 3)))
    assert not torch.equal(dropout(0.3, 5).keep((70, 3)), dropout(0.3, 6).keep((70, 3)))
    x = torch.randn(10)
    assert dropout(0.3).eval()(x) is x
    assert dropout(0.0)(x) is x
