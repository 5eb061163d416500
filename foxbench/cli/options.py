"""Options that several commands take, so that they mean the same everywhere."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)

further_files = click.option(
    "--with",
    "more",
    type=PATH,
    multiple=True,
    help="A further instrument's bars (tft trains on several); may be repeated.",
)

max_bars = click.option(
    "--max-bars", type=click.IntRange(min=1), help="Use the first bars of each file only."
)

settings = click.option(
    "--set", "assignments", metavar="KEY=VALUE", multiple=True, help="Change a setting."
)

device = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="What to train on.",
)

limit = click.option(
    "--limit",
    metavar="SIZE",
    help='Train under a real limit of memory, such as "512 MiB": a control group of its own, else '
    "RLIMIT_DATA.",
)

quiet_allocator = click.option(
    "--quiet-allocator/--no-quiet-allocator",
    default=True,
    show_default=True,
    help="Give freed memory back at once: repeatable peaks for more CPU time.",
)

timeout = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End each run after so long; what was measured until then is kept.",
)

out = click.option(
    "--out",
    type=PATH,
    default=Path("foxbench-runs"),
    show_default=True,
    help="Where each run gets a new folder.",
)

json_file = click.option(
    "--json",
    "json_path",
    type=PATH,
    metavar="FILE",
    help="Write the figures there too; - for stdout, and the table then goes to stderr.",
)


def names(models: str | None, argument: str) -> tuple[str, ...]:
    """Models between commas, each once; click's usage error where there is none."""
    found = tuple(dict.fromkeys(filter(None, (n.strip() for n in (models or "").split(",")))))
    if models is not None and not found:
        raise click.UsageError(f"{argument} names no model.")
    return found
