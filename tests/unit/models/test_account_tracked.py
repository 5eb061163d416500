"""Accounts against real steps: every live storage of a step is tracked, and nothing is assumed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from foxbench.models import registry
from foxbench.models.account import Account, account
from foxbench.models.data import MarketData

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_iter  # noqa: E402


class Tracker(TorchDispatchMode):
    """Sums the storages that operations return, each once and for as long as it lives."""

    def __init__(self) -> None:
        super().__init__()
        self.before = {t.untyped_storage()._cdata for t in _tensors()}
        self.live: dict[int, int] = {}
        self.peak_bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for x in tree_iter(out):
            if isinstance(x, torch.Tensor):
                self._see(x.untyped_storage())
        return out

    def _see(self, storage: Any) -> None:
        key = storage._cdata
        if key in self.before or key in self.live:
            return
        self.live[key] = storage.nbytes()
        weakref.finalize(storage, self.live.pop, key)
        self.peak_bytes = max(self.peak_bytes, sum(self.live.values()))


def _tensors() -> list[Any]:
    gc.collect()
    return [x for x in gc.get_objects() if issubclass(type(x), torch.Tensor)]


def step_and_account(
    model: str, data: MarketData, settings: dict[str, Any]
) -> tuple[int, Account, dict[str, int]]:
    """The tracked peak of a warm step, its account, and the trainer's own bytes."""
    config = registry.config(model, **settings)
    trainer = registry.build(model, data, config)
    trainer.step()
    tracker = Tracker()
    with tracker:
        trainer.step()
    return tracker.peak_bytes, account(model, config, data), trainer.bytes()


#: Sizes that put the peak in different moments; ``near`` is how far an account may be off.
GRID: list[tuple[str, dict[str, Any], float]] = [
    *(
        ("dqn", {"batch": batch, "hidden": hidden, "warmup": 300, "capacity": 350}, 0.0)
        for batch, hidden in [(2, (1,)), (7, (64, 32, 8)), (64, (16, 16)), (300, (4, 200))]
    ),
    *(
        ("ppo", {"minibatch": m, "n_steps": n, "hidden": h, "table_bars": c, "epochs": e}, 0.0)
        for m, n, h, c, e in [
            (2, 2, (8, 16), 256, 1),
            (2, 64, (64,), 256, 1),
            (64, 64, (8, 16), 16, 2),
            (50, 300, (1,), 16, 2),
            (100, 300, (64, 64), 16, 1),
        ]
    ),
    *(
        (
            "mamba2",
            {"batch": b, "micro": m, "seq_len": n, "chunk": q, "d_model": d, "layers": k}
            | {"headdim": p, "d_state": s},
            0.0,
        )
        for b, m, n, q, d, k, p, s in [
            (2, 1, 32, 8, 16, 1, 8, 8),
            (1, 1, 64, 64, 32, 3, 8, 4),
            (4, 2, 64, 64, 16, 2, 8, 8),
            (4, 4, 16, 1, 16, 1, 8, 16),
            (3, 3, 48, 16, 8, 2, 16, 32),
        ]
    ),
    *(
        (
            "tft",
            {"batch": b, "micro": m, "encoder": t, "decoder": q, "d_model": d, "heads": h}
            | {"dropout": p},
            0.005,
        )
        for b, m, t, q, d, h, p in [
            (8, 4, 6, 2, 8, 1, 0.1),
            (16, 16, 30, 1, 16, 4, 0.1),
            (2, 1, 4, 8, 16, 4, 0.0),
            (32, 32, 20, 5, 32, 2, 0.1),
        ]
    ),
]


@pytest.mark.parametrize(("model", "settings", "near"), GRID)
def test_an_account_is_what_a_tracked_step_needs(
    small_market: MarketData, model: str, settings: dict[str, Any], near: float
) -> None:
    tracked, it, own = step_and_account(model, small_market, settings)
    assert it.tensor_peak_bytes == pytest.approx(tracked, rel=near, abs=0)
    assert own == {
        "params": it.params_bytes,
        "grads": 0,
        "optimizer": it.optimizer_bytes,
        "buffers": it.buffers_bytes,
        "data": it.data_bytes,
    }


@pytest.mark.parametrize("model", registry.names())
def test_the_defaults_are_accounted_for_to_the_byte(
    make_market: Callable[..., MarketData], model: str
) -> None:
    roots = registry.entry(model).roots
    data = make_market(n_bars=3_000, n_features=225, roots=roots)
    less: dict[str, dict[str, Any]] = {
        "dqn": {},
        "ppo": {"epochs": 1},
        "mamba2": {"batch": 2},
        "tft": {"batch": 32},
    }
    tracked, it, _ = step_and_account(model, data, less[model])
    assert it.tensor_peak_bytes == tracked


def test_the_tracker_counts_what_an_operation_hides_from_no_one() -> None:
    x = torch.ones(1000)
    tracker = Tracker()
    with tracker:
        y = x + 1
        y = y * 2
        view = y[:10]
        del y
        x.add_(1)
        del view
    assert tracker.peak_bytes == 8000
    assert not tracker.live


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("dqn", {"warmup": 300, "capacity": 300}),
        ("ppo", {"n_steps": 128, "epochs": 1}),
        ("mamba2", {"batch": 1, "layers": 2}),
        ("tft", {"batch": 16}),
    ],
)
def test_kernels_take_next_to_nothing_that_is_no_tensor(
    small_market: MarketData, model: str, settings: dict[str, Any]
) -> None:
    """torch's allocator sees what a kernel takes for itself; a tracker of operations does not."""
    from torch.autograd import profiler

    config = registry.config(model, **settings)
    trainer = registry.build(model, small_market, config)
    trainer.step()
    with profiler.profile(profile_memory=True) as profile:
        trainer.step()
    peak = now = 0
    for change in allocations(profile):
        now += change
        peak = max(peak, now)
    # NumPy's arrays, which tensors may share, are not the allocator's.
    assert peak == pytest.approx(account(model, config, small_market).tensor_peak_bytes, rel=0.01)


def allocations(profile: Any) -> list[int]:
    """Bytes of every allocation (or, negative, release), in the order of time."""
    found: list[tuple[int, int]] = []
    todo = list(profile.kineto_results.experimental_event_tree())
    while todo:
        event = todo.pop()
        todo += event.children
        if hasattr(event.extra_fields, "alloc_size"):
            found.append((event.start_time_ns, event.extra_fields.alloc_size))
    assert found
    return [size for _, size in sorted(found, key=lambda e: e[0])]
