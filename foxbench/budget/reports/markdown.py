"""A validation as Markdown, for a pull request or a job's summary."""

from __future__ import annotations

import re

from foxbench.budget.reports import words
from foxbench.budget.result import Validation
from foxbench.text import plain

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&@:])")


def make(validation: Validation) -> bytes:
    """The table, its notes, what fits together and the verdict; UTF-8."""
    lines = [f"## Memory: {words.VERDICTS[validation.verdict]}", ""]
    rule = [
        ":--" if i < words.N_TEXT or i == words.STATUS_COLUMN else "--:"
        for i in range(len(words.COLUMNS))
    ]
    lines += [_row([text(name) for name in words.COLUMNS]), _row(rule)]
    lines += [_row([text(cell) for cell in words.cells(row)]) for row in validation.models]
    lines += ["", text(f"MiB of the {validation.device}. {words.LEGEND}"), ""]
    for row in validation.models:
        for label, note in words.notes(row):
            lines.append(f"- **{text(row.name)}**, {label}: {text(note)}")
    lines += ["", "### Together", ""]
    lines += [
        f"- {text(line)}" for line in words.together(validation.coresidence, validation.device)
    ]
    lines += ["", "### How", ""]
    lines += [f"- {label}: {text(fact)}" for label, fact in words.facts(validation)]
    return ("\n".join(lines) + "\n").encode("utf-8", errors="replace")


def text(value: str) -> str:
    """``value`` as text and nothing else: every character that Markdown gives a meaning escaped."""
    return _SPECIAL.sub(r"\\\1", plain(value))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
