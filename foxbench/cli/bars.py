"""``foxbench bars make | import | info``: files of minute bars."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

import click

from foxbench.errors import UsageError


@click.group()
def command() -> None:
    """Make, import and inspect files of minute bars."""


@command.command()
@click.argument("root")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Parquet file to write."
)
@click.option("--days", default=180, show_default=True, help="Calendar days.")
@click.option("--seed", default=7, show_default=True, help="Another seed, another market.")
@click.option("--start", default="2025-04-21", show_default=True, help="First trade date.")
def make(root: str, output: Path, days: int, seed: int, start: str) -> None:
    """Make synthetic bars of ROOT (ES, NQ, 6E or ZN)."""
    from foxbench.bars import parquet
    from foxbench.bars.synthetic import synthetic

    parquet.write(synthetic(root, days=days, start=start, seed=seed), output)
    _show([output])


@command.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Parquet file to write."
)
@click.option("--root", required=True, help="ES, NQ, 6E, ZN, or your own with --tick.")
@click.option("--symbol", help="Raw symbol, e.g. 6EH4; by default the file name's beginning.")
@click.option("--tick", help="Price step of a root of your own, e.g. 0.01.")
@click.option(
    "--stamp",
    default="open",
    show_default=True,
    help="Which end of the bar the file's times name: open or close.",
)
def import_(
    file: Path, output: Path, root: str, symbol: str | None, tick: str | None, stamp: str
) -> None:
    """Import FILE (.csv or .csv.gz: timestamp_utc,open,high,low,close,volume)."""
    from foxbench.bars import parquet
    from foxbench.bars.csv_import import import_csv

    tick_nano = None if tick is None else _nano(tick)
    bars = import_csv(file, root, symbol=symbol, tick_nano=tick_nano, stamp=stamp)
    parquet.write(bars, output)
    _show([output])


@command.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def info(files: tuple[Path, ...]) -> None:
    """Show what FILES (Parquet) hold."""
    _show(list(files))


def _nano(tick: str) -> int:
    try:
        nano = Decimal(tick) * 1_000_000_000
        if nano > 0 and nano == int(nano):
            return int(nano)
    except (InvalidOperation, ValueError, OverflowError):
        pass
    raise UsageError(
        f"tick {tick!r} is not a positive decimal with at most 9 places", "write it like 0.01"
    )


def _show(paths: list[Path]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from foxbench.bars import parquet
    from foxbench.bars.schema import iso
    from foxbench.bars.summary import summarise
    from foxbench.profile.report import console

    out = console()
    advice = []
    for path in paths:
        found = summarise(parquet.read(path))
        table = Table(title=escape(path.name), title_justify="left", show_header=False)
        table.add_column()
        table.add_column(justify="right")
        for label, value in (
            ("symbols", ", ".join(found.symbols)),
            ("first bar", iso(found.first_ns)),
            ("last bar", iso(found.last_ns)),
            ("days", f"{found.sessions:,}"),
            ("bars", f"{found.bars:,}"),
            ("gaps", f"{found.gaps:,} ({found.missing_minutes:,} minutes)"),
            ("off session", f"{found.off_session:,}"),
            ("size", f"{path.stat().st_size / 2**20:.2f} MiB"),
        ):
            table.add_row(label, escape(value))
        out.print(table)
        if found.stamped_at_close:
            advice.append(
                f"warning: {path.name}: bars at 16:00 CT and none at 17:00: the times look like "
                "bars' closes; import with --stamp close"
            )
    for line in advice:
        click.echo(line, err=True)
