"""Says on stderr which model is being trained, and how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.markup import escape

from foxbench.budget.validation import Announce
from foxbench.budget.verdict import Case
from foxbench.profile.progress import TrainingProgress
from foxbench.profile.runner import Listener
from foxbench.text import plain


def announcer(out: Console) -> Announce:
    """What :func:`foxbench.budget.validation.run` announces each model with."""

    @contextmanager
    def shown(case: Case, number: int, of: int) -> Iterator[Listener]:
        out.print(f"[bold]{escape(plain(case.name))}[/] ({number} of {of})")
        with TrainingProgress(out) as progress:
            yield progress

    def announce(case: Case, number: int, of: int) -> AbstractContextManager[Listener]:
        return shown(case, number, of)

    return announce
