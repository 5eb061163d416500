"""Weight-only int8: matrices are stored in a quarter of their bytes and unpacked for a call.

Per output channel w = s * q with s = max|w| / 127 and q = round(w / s), as in Jacob et al. 2018
(arXiv:1712.05877) without a zero point.  Activations and arithmetic stay float32, so a model
computes as before with weights that are off by s/2 at the most.  What is saved is weights held
between calls; a call needs one layer's float32 weights at a time, and frees them.

Own code because torch.ao's dynamic quantization is deprecated and leaves the weights of variable
selection alone, and torchao costs 53 MB and 1.6 s to import.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from foxbench.models.tft_selection import VariableSelection

LARGEST = 127


def quantize_(model: nn.Module) -> nn.Module:
    """Replace the matrices of ``model``'s linear, LSTM and selection layers, in place.

    Biases, norms and the scales and shifts of single scalars stay as they are.  A model that is
    quantized already stays as it is.
    """
    for module in model.modules():
        matrices = _matrices(module)
        if not matrices:
            continue
        for name, inputs in matrices.items():
            q, scale = pack(module.get_parameter(name).detach(), inputs)
            delattr(module, name)
            setattr(module, name, None)  # an LSTM's own list of its weights lets go as well
            module.register_buffer(f"{name}_int8", q)
            module.register_buffer(f"{name}_scale", scale)
        module.register_forward_pre_hook(_Unpack(list(matrices)))
        module.register_forward_hook(_Free(list(matrices)), always_call=True)
    return model


def pack(weight: Tensor, inputs: int) -> tuple[Tensor, Tensor]:
    """int8 values and the float32 scale of each output channel.

    Parameters
    ----------
    weight : float32
    inputs : int
        Dimension that inputs run along: one scale stands for all of it.

    Returns
    -------
    q : int8, the shape of ``weight``
    scale : float32, the same but 1 along ``inputs``
    """
    scale = weight.abs().amax(dim=inputs, keepdim=True) / LARGEST
    # A channel of zeros has no scale: any will do.
    scale = torch.where(scale > 0, scale, 1.0)
    return (weight / scale).round_().clamp_(-LARGEST, LARGEST).to(torch.int8), scale


def unpack(q: Tensor, scale: Tensor) -> Tensor:
    """The float32 weights that ``pack`` made ``q`` and ``scale`` of, up to scale / 2."""
    return q * scale


def _matrices(module: nn.Module) -> dict[str, int]:
    """What there is to pack in a module itself, and the dimension that its inputs run along."""
    if isinstance(module, nn.Linear):
        found = {"weight": 1}  # (out, in)
    elif isinstance(module, nn.LSTM):
        found = {"weight_ih_l0": 1, "weight_hh_l0": 1}  # (4 out, in)
    elif isinstance(module, VariableSelection):
        found = {"second": 1, "gate": 1}  # (variable, in, out)
    else:
        found = {}
    own = dict(module.named_parameters(recurse=False))
    return {name: inputs for name, inputs in found.items() if name in own}


class _Unpack:
    """Before a call: float32 weights under the names that the layer reads."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __call__(self, module: nn.Module, _inputs: Any) -> None:
        for name in self.names:
            q, scale = module.get_buffer(f"{name}_int8"), module.get_buffer(f"{name}_scale")
            setattr(module, name, unpack(q, scale))


class _Free:
    """After a call: nothing under those names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __call__(self, module: nn.Module, _inputs: Any, _output: Any) -> None:
        for name in self.names:
            setattr(module, name, None)
