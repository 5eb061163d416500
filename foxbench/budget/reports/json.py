"""A validation as JSON: :mod:`foxbench.budget.result` says what each key is."""

from __future__ import annotations

from foxbench.budget.result import Validation, encode


def make(validation: Validation) -> bytes:
    """The whole validation."""
    return encode(validation)
