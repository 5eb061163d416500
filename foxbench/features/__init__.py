"""225 causal features of one-minute bars."""

from foxbench.features.matrix import NAMES, WARMUP, compute
from foxbench.features.scaler import Scaler

__all__ = ["NAMES", "WARMUP", "Scaler", "compute"]
