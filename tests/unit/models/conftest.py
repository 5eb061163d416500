"""Markets with a planted rule, small enough to learn in seconds, for the tests of every model."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foxbench.models.configs.tft import KNOWN, OBSERVED
from foxbench.models.data import MarketData, Series

ROOT = Path(__file__).resolve().parents[3]
#: One unit of the planted rules as a log return; trainers scale it away.
UNIT = 1e-4

Rule = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Two threads spin against each other on a shared machine, and sums change their order."""
    import torch

    torch.set_num_threads(1)


def feature_names(n: int) -> tuple[str, ...]:
    """``x0``, then the columns the TFT looks for, then ``x10``, ``x11``, ... ."""
    names = ["x0", *KNOWN, *OBSERVED, *(f"x{i}" for i in range(10, max(n, 10)))]
    return tuple(names[:n])


def build_market(
    n_bars: int = 6_000,
    n_features: int = 225,
    seed: int = 0,
    rule: Rule | None = None,
    roots: tuple[str, ...] = ("ES",),
) -> MarketData:
    """Standard normal features and the returns that ``rule(features, rng)`` makes of them.

    Features get a mean and a scale of their own, as real ones have; the rule sees them without.
    """
    series = []
    for i, root in enumerate(roots):
        rng = np.random.default_rng([seed, i])
        x = rng.standard_normal((n_bars, n_features), dtype=np.float32)
        r = rng.standard_normal(n_bars) if rule is None else rule(x, rng)
        r = np.where(np.arange(n_bars) < n_bars - 1, r, 0.0) * UNIT
        shift, scale = rng.normal(size=n_features), np.exp(rng.normal(size=n_features))
        series.append(
            Series(
                root=root,
                features=(x * scale + shift).astype(np.float32),
                feature_names=feature_names(n_features),
                returns=r.astype(np.float32),
                statics=rng.standard_normal(5).astype(np.float32),
            )
        )
    return MarketData(tuple(series))


def _threshold(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``r = .8 * sign(x0) where |x0| > .3, plus standard normal noise``: for the agents."""
    return 0.8 * np.sign(x[:, 0]) * (np.abs(x[:, 0]) > 0.3) + rng.standard_normal(len(x))


def delayed_rule(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``r[t] = x0[t - 3]``: for a sequence model."""
    return np.roll(x[:, 0], 3)


def known_driver_rule(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``r[t]`` is the first known column of the bar it leads to, t + 1: for the TFT."""
    return np.roll(x[:, 1], -1)


@pytest.fixture(scope="session")
def make_market() -> Callable[..., MarketData]:
    """:func:`build_market`, for tests that want other sizes or a rule of their own."""
    return build_market


@pytest.fixture(scope="session")
def threshold_rule() -> Rule:
    """The rule of ``planted_market``, for one of another size."""
    return _threshold


@pytest.fixture(scope="session")
def planted_market() -> MarketData:
    return build_market(rule=_threshold)


@pytest.fixture(scope="session")
def delayed_market() -> MarketData:
    return build_market(rule=delayed_rule)


@pytest.fixture(scope="session")
def known_driver_market() -> MarketData:
    return build_market(rule=known_driver_rule, roots=("ES", "NQ", "6E", "ZN"))


@pytest.fixture(scope="session")
def small_market() -> MarketData:
    """500 bars (400 to train on) of 12 features, no rule."""
    return build_market(n_bars=500, n_features=12)


@pytest.fixture
def new_tensor_bytes() -> Callable[[], int]:
    """Bytes of all distinct tensor storages that gc finds and that the test itself made."""
    old = _tensors()  # kept alive, so that no address is used twice
    known = {t.untyped_storage().data_ptr() for t in old}

    def count() -> int:
        gc.collect()
        storages = (t.untyped_storage() for t in _tensors())
        found = {s.data_ptr(): s.nbytes() for s in storages if s.data_ptr() not in known}
        return sum(found.values())

    return count


def _tensors() -> list[Any]:
    import torch

    return [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)]


@pytest.fixture(scope="session")
def fresh_process() -> Callable[[str], dict[str, Any]]:
    """Run Python code in a new process on one thread; it prints one JSON object."""

    def run(code: str) -> dict[str, Any]:
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    return run


#: Trains a registered model in a fresh process; ``.format(name=..., settings=...)``.
TRAIN = """
import json, sys
import numpy as np
from foxbench.models import registry
from foxbench.models.data import MarketData, Series
rng = np.random.default_rng(0)
series = Series("ES", rng.standard_normal((500, 12), dtype=np.float32),
                tuple(f"x{{i}}" for i in range(12)),
                rng.standard_normal(500).astype(np.float32), np.zeros(5, np.float32))
data = MarketData((series,))
config = registry.config("{name}", **{settings})
config.check(data)
torch_before_build = "torch" in sys.modules
trainer = registry.build("{name}", data, config)
losses = [trainer.step() for _ in range(4)]
score = trainer.evaluate()
trainer.infer()
print(json.dumps(dict(losses=[repr(x) for x in losses], score=repr(score),
                      torch_before_build=torch_before_build,
                      dynamo="torch._dynamo" in sys.modules, sympy="sympy" in sys.modules)))
"""


@pytest.fixture(scope="session")
def train_in_fresh_process(fresh_process) -> Callable[..., dict[str, Any]]:
    """Four steps, an evaluation and an inference of a model on 500 bars of 12 features."""
    return lambda name, **settings: fresh_process(TRAIN.format(name=name, settings=settings))
