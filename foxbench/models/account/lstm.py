"""The memory account of an LSTM layer on the CPU, where oneDNN computes it.

oneDNN keeps a workspace from the forward to the backward pass, larger than all the layer's
outputs.  Its size follows the library's own rules (``rnn_utils``, found by trying: exact for every
shape tried, t 1 ... 240, b 1 ... 1000, d 1 ... 512).  It has room for the states of a stack of
layers and for their gradients, and of that room a layer writes to a part, which is what a process
pays for: seen in /proc/self/pagemap.

Shape letters: t steps, b windows, d width of input and state; 4 gates.
"""

from __future__ import annotations

from foxbench.models.account.parts import F32, Tensor, floats
from foxbench.models.account.tape import Grads, Tape

PAGE = 4096
LINE = 16  # floats of a cache line


def lstm_params_bytes(d: int) -> int:
    """Two weights (4d,d) and two biases (4d)."""
    return floats([(4 * d, d), (4 * d, d), (4 * d,), (4 * d,)])


def workspace_bytes(t: int, b: int, d: int) -> int:
    """All of the workspace."""
    gates = F32 * t * b * _leading(4 * d)
    hidden = F32 * t * b * _leading(d)
    states = F32 * 2 * (t + 1) * b * _leading(d)  # output, state, cell
    state_grads = F32 * 2 * (t + 1) * b * d
    return _pages(gates) + _pages(hidden) + 3 * _pages(states) + 2 * _pages(state_grads)


def written_forward_bytes(t: int, b: int, d: int) -> int:
    """What the forward pass writes to: the gates, and one state a step."""
    return F32 * t * b * (_leading(4 * d) + _leading(d))


def written_backward_bytes(t: int, b: int, d: int) -> int:
    """What is written to by the end of the backward pass: the gates, and five states a step."""
    return F32 * b * (t * _leading(4 * d) + 5 * (t + 1) * _leading(d))


def _leading(n: int) -> int:
    """Floats from row to row: whole cache lines, and no multiple of 256."""
    padded = -(-n // LINE) * LINE
    return padded + LINE if padded % 256 == 0 else padded


def _pages(n_bytes: int) -> int:
    return -(-n_bytes // PAGE) * PAGE


def lstm(
    tape: Tape, name: str, x: Tensor, state: tuple[Tensor, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """(t,b,d) and a state of two (b,d) -> (t,b,d) and the state after the last step."""
    memory, new = tape.memory, tape.memory.new
    (t, b, d), whole = x.shape, workspace_bytes(*x.shape)
    with memory.during(f"forward of {name}", name):
        y, h, c = new(t, b, d), new(b, d), new(b, d)
        work = new(whole, itemsize=1, written_bytes=min(whole, written_forward_bytes(t, b, d)))
        after = new(1, b, d), new(1, b, d)

        def back(
            dy: Tensor | None, dh: Tensor | None, dc: Tensor | None, work: Tensor, *_kept: Tensor
        ) -> Grads:
            work.storage.write(min(whole, written_backward_bytes(t, b, d)))
            dx = new(t, b, d)
            gradient = memory.gradient
            params = {
                f"{name}.weight_ih_l0": gradient(4 * d, d),
                f"{name}.weight_hh_l0": gradient(4 * d, d),
                f"{name}.bias_ih_l0": gradient(4 * d),
                f"{name}.bias_hh_l0": gradient(4 * d),
            }
            return [dx, new(b, d), new(b, d)], params

        tape.record([y, *after], [x, *state], [work, x, *state, y, h, c], back)
    return y, after
