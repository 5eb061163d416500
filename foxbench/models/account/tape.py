"""Autograd played through with shapes: what an operation keeps, and what its way back makes.

The order is the engine's.  Nodes run in the reverse of the order they were made in; one computes
the gradients of its inputs, then frees the gradient it was given, then what it had kept; a
parameter's gradient is stored at once, by the first micro-batch as it is and by later ones added
in place; two gradients of one tensor are added in place where nothing else holds the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from foxbench.models.account.parts import F32, Account, Memory, Part, Tensor

#: Gradients of the inputs, None where none flows, and of parameters by their names.
Grads = tuple[Sequence[Tensor | None], Mapping[str, Tensor]]
Backward = Callable[..., Grads]


#: What autograd's own objects take for an operation: nodes, tensors, saved variables.  Counted by
#: a wrapper around malloc in steps on tensors of a few bytes: 2.0 KB an operation in DQN, 3.3 in
#: PPO, 4.0 in the TFT, whose 117 operations are the only ones to matter.
GRAPH_NODE_BYTES = 4_000


class Node:
    """One operation of the graph; ``own`` are the bytes of its objects."""

    __slots__ = ("backward", "grads", "inputs", "kept", "layer", "own")

    def __init__(
        self,
        layer: str,
        own: Tensor,
        inputs: Sequence[Any],
        kept: Sequence[Tensor | None],
        backward: Backward,
    ) -> None:
        self.own = own
        self.layer, self.backward = layer, backward
        self.inputs, self.kept = tuple(inputs), tuple(kept)
        self.grads: dict[int, Tensor] = {}  # by output


class Tape:
    """A graph, and the parameters' gradients it leaves.

    Parameters
    ----------
    memory : Memory
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.nodes: list[Node] = []
        self.activations: tuple[Part, ...] = ()  # what the first forward pass kept, by layer
        self.grads: dict[str, Tensor] = {}

    def record(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor | None],
        kept: Sequence[Tensor | None],
        backward: Backward,
    ) -> None:
        """Note one operation.

        Parameters
        ----------
        outputs, inputs : sequence of Tensor
            Through which gradients flow.
        kept : sequence of Tensor
            Saved for the way back.
        backward : callable
            ``backward(*gradients of the outputs, *kept)`` gives :data:`Grads`; a gradient that
            did not come is None.
        """
        sources = [None if x is None else x.node for x in inputs]
        views = [None if x is None else x.view() for x in kept]
        own = self.memory.beside("autograd graph", GRAPH_NODE_BYTES)
        node = Node(self.memory.layer, own, sources, views, backward)
        for i, out in enumerate(outputs):
            out.node = (node, i)
        self.nodes.append(node)

    def account(self, params_bytes: int, buffers_bytes: int, data_bytes: int) -> Account:
        """The account of the step that was played through on this tape."""
        memory = self.memory
        return Account(
            params_bytes=params_bytes,
            grads_bytes=params_bytes,
            optimizer_bytes=2 * params_bytes + F32,  # two moments, and the count of steps
            buffers_bytes=buffers_bytes,
            data_bytes=data_bytes,
            activations=self.activations,
            step_peak_bytes=memory.peak_bytes,
            peak_at=memory.peak_at,
            peak_parts=memory.peak_parts,
            tensor_peak_bytes=memory.tensor_peak_bytes,
        )

    def kept(self) -> tuple[Part, ...]:
        """What all nodes keep, by layer, in the order of the layers; shared storage once."""
        counted: set[int] = set()
        layers: dict[str, int] = {}
        for node in self.nodes:
            for x in node.kept:
                if x is not None and id(x.storage) not in counted:
                    counted.add(id(x.storage))
                    name = x.storage.name
                    layers[name] = layers.get(name, 0) + x.storage.written_bytes
        return tuple(Part(name, n) for name, n in layers.items() if n)

    def backward(self, loss: Tensor) -> None:
        """Run the graph back from ``loss``, freeing it on the way."""
        memory = self.memory
        self.activations = self.activations or self.kept()
        with memory.during(f"backward of {self.nodes[-1].layer}"):
            root = memory.new()
            _give(loss.node, root)
        while self.nodes:
            node = self.nodes.pop()
            if node.grads:
                with memory.during(f"backward of {node.layer}"):
                    self._run(node)

    def _run(self, node: Node) -> None:
        n_outputs = max(node.grads) + 1
        given = [node.grads.pop(i, None) for i in range(n_outputs)]
        to_inputs, to_params = node.backward(*given, *node.kept)
        del given
        node.kept = ()
        pending = list(zip(node.inputs, to_inputs, strict=True))
        del to_inputs
        for name, param_grad in to_params.items():
            self._accumulate(name, param_grad)
        for source, grad in pending:
            if source is not None and grad is not None:
                _give(source, grad)

    def _accumulate(self, name: str, grad: Tensor) -> None:
        if name not in self.grads:
            self.grads[name] = grad


def _give(source: Any, grad: Tensor) -> None:
    node, i = source
    first = node.grads.get(i)
    if first is None:
        node.grads[i] = grad.view()
    elif first.storage.users > 1:
        node.grads[i] = grad.storage.memory.new(*first.shape)


class Ops:
    """The operations more than one model uses, each with its way back.

    Parameters
    ----------
    memory : Memory
    tape : Tape or None
        None: nothing is kept, as under ``no_grad``.
    """

    def __init__(self, memory: Memory, tape: Tape | None) -> None:
        self.memory, self.tape = memory, tape

    def linear(self, name: str, x: Tensor, d_out: int, bias: bool = True) -> Tensor:
        """(...,d_in) -> (...,d_out), by the weight (d_out,d_in) and the bias."""
        new, d_in = self.memory.new, x.shape[-1]
        y = new(*x.shape[:-1], d_out)
        if self.tape is not None:
            flows = x.node is not None

            def backward(dy: Tensor, x: Tensor) -> Grads:
                dx = new(*x.shape) if flows else None
                params = {f"{name}.weight": self.memory.gradient(d_out, d_in)}
                if bias:
                    params[f"{name}.bias"] = self.memory.gradient(d_out)
                return [dx], params

            self.tape.record([y], [x], [x], backward)
        return y

    def overwrite(self, x: Tensor) -> Tensor:
        """An activation in place whose way back reads its result, as relu_ and tanh_."""
        y = x.view()
        if self.tape is not None:
            self.tape.record([y], [x], [y], lambda dy, y: ([self.memory.like(y)], {}))
        return y

    def mlp(self, name: str, x: Tensor, widths: Sequence[int]) -> Tensor:
        """:class:`foxbench.models.common.Mlp`: linear layers, an activation between them."""
        for i, width in enumerate(widths):
            with self.memory.during(self.memory.moment, f"{name}.layers.{i}"):
                x = self.linear(f"{name}.layers.{i}", x, width)
                if i < len(widths) - 1:
                    x = self.overwrite(x)
        return x

    def elementwise(
        self, inputs: Sequence[Tensor], kept: Sequence[Tensor], shape: tuple[int, ...] | None = None
    ) -> Tensor:
        """A new tensor whose way back makes one new gradient, in its shape, for every input."""
        y = self.memory.new(*(inputs[0].shape if shape is None else shape))
        if self.tape is not None:
            shapes = [x.shape if x.node is not None else None for x in inputs]

            def backward(dy: Tensor, *_kept: Tensor) -> Grads:
                return [None if s is None else self.memory.new(*s) for s in shapes], {}

            self.tape.record([y], inputs, kept, backward)
        return y


def adam(memory: Memory, tape: Tape) -> None:
    """:meth:`foxbench.models.adam.Adam.step`: norms, the fused update, gradients freed."""
    with memory.during("Adam"):
        norms = [memory.new() for _ in tape.grads]
        stacked = memory.new(len(norms))
        del norms
        norm = memory.new()
        del stacked
        excess = memory.new()
        del norm, excess
        tape.grads.clear()
