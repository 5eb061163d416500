"""Bars: one-minute OHLCV records of one instrument, read, written, imported and synthesised."""

from foxbench.bars.schema import Bars

__all__ = ["Bars"]
