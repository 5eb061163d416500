"""Settings of the whole agent: which model decides, and what trading costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foxbench.bars.schema import Bars
from foxbench.features.live import HISTORY_BARS, LEAST_HISTORY_BARS
from foxbench.models.configs.checks import Mismatches
from foxbench.models.configs.dqn import DqnConfig
from foxbench.models.configs.mamba2 import Mamba2Config
from foxbench.models.configs.ppo import PpoConfig
from foxbench.models.configs.tft import TftConfig
from foxbench.models.data import MarketData
from foxbench.models.dataset import series_outline

#: The models that can decide, and their configs.
POLICIES: Mapping[str, type[DqnConfig | PpoConfig | Mamba2Config | TftConfig]] = {
    "dqn": DqnConfig,
    "ppo": PpoConfig,
    "mamba2": Mamba2Config,
    "tft": TftConfig,
    "tft-int8": TftConfig,
}


@dataclass(frozen=True)
class AgentConfig:
    """Settings of :class:`foxbench.models.agent.Agent`.

    Attributes
    ----------
    policy : str
        Model that decides, at its default settings: ``dqn``, ``ppo``, ``mamba2``, ``tft`` or
        ``tft-int8``.
    history : int
        Bars kept for the features.  The session's first bar and the last price of the session
        before must be among them, and with 2,400 the exponential means have forgotten what came
        before: see :mod:`foxbench.features.live`.
    cost : float
        Charge for a change of the position by 1, in standard deviations of a bar's return.
    seed : int
        Of the weights.
    """

    policy: str = "dqn"
    history: int = HISTORY_BARS
    cost: float = 0.1
    seed: int = 1

    def model(self) -> DqnConfig | PpoConfig | Mamba2Config | TftConfig:
        """The config of the model that decides."""
        return POLICIES[self.policy](seed=self.seed)

    def rows(self) -> int:
        """Bars of features that a decision reads."""
        cfg = self.model()
        if isinstance(cfg, TftConfig):
            return cfg.encoder
        return cfg.seq_len if isinstance(cfg, Mamba2Config) else 1

    def check(self, data: MarketData | tuple[Bars, ...]) -> None:
        """Raise :class:`foxbench.errors.ConfigError` listing every mismatch with ``data``."""
        m = Mismatches("agent")
        m.not_negative(cost=self.cost)
        if m.sizes(history=self.history) and self.history < LEAST_HISTORY_BARS:
            m.add(f"history {self.history} < {LEAST_HISTORY_BARS}: a day of bars and one before it")
        if self.policy in POLICIES:
            if not isinstance(data, MarketData):
                data = MarketData(tuple(series_outline(b.root, len(b)) for b in data))
            rows = self.rows()
            # The scale of the features wants two rows.
            m.series(data, max(2, rows), f"a window of {rows}", first_only=False)
        else:
            m.add(f"policy {self.policy!r} is none of {', '.join(POLICIES)}")
        m.raise_any()
