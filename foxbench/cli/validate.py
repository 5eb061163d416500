"""``foxbench validate [FILE]``: does every model fit its budget?"""

from __future__ import annotations

from pathlib import Path

import click

from foxbench.cli import options


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--models",
    metavar="NAMES",
    help="Comma-separated; a trainer of your own as module:Class.  [default: all with a budget]",
)
@click.option(
    "--preset",
    type=click.Choice(["quick", "realistic", "full"]),
    default="realistic",
    show_default=True,
    help="How much to train: for CI; 10 epochs of 10,000 bars; every bar.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="In place of the preset's.")
@click.option("--max-bars", type=click.IntRange(min=1), help="In place of the preset's.")
@options.further_files
@click.option(
    "--budgets",
    "budgets_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="[default: budgets.toml in the current folder, else the one that comes with foxbench]",
)
@click.option(
    "--device",
    type=click.Choice(["host", "cuda"]),
    default="host",
    show_default=True,
    help="Whose memory: host trains on the CPU.",
)
@options.quiet_allocator
@options.limit
@options.timeout
@options.out
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the figures there; - for stdout, and the table then goes to stderr.",
)
@click.option(
    "--markdown",
    "markdown_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the report as Markdown; - for stdout.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page with each run's timeline; it needs no other file.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of budgets.toml and exit.")
def command(
    file: Path | None,
    models: str | None,
    preset: str,
    epochs: int | None,
    max_bars: int | None,
    more: tuple[Path, ...],
    budgets_path: Path | None,
    device: str,
    quiet_allocator: bool,
    limit: str | None,
    timeout_s: float | None,
    out: Path,
    json_path: Path | None,
    markdown_path: Path | None,
    html_path: Path | None,
    schema: bool,
) -> int:
    """Train every model under the sampler and say whether it fits its budget.

    FILE holds bars in parquet; without it synthetic ones are made.

    \b
    Exit code: 0 every model fits; 2 one is over its budget, whatever became of the others;
    3 one failed, ran out of memory or time, or could not be measured; 4 unusable input, an
    expired budget among it; 5 a report could not be written.
    """
    # Here and not at the top: `foxbench validate --help` needs none of it.
    import datetime
    import json

    from foxbench.budget import reader, validation
    from foxbench.budget import schema as budgets_schema
    from foxbench.budget.reports import deliver
    from foxbench.budget.reports.progress import announcer
    from foxbench.budget.result import exit_code
    from foxbench.profile.report import console
    from foxbench.sizes import parse_bytes

    if schema:
        click.echo(json.dumps(budgets_schema.json_schema(), indent=2))
        return 0
    if more and file is None:
        raise click.UsageError("--with goes with FILE; without it synthetic bars are made.")
    asked = {"--json": json_path, "--markdown": markdown_path, "--html": html_path}
    targets = deliver.targets(asked)
    names = options.names(models, "--models")
    wishes = validation.Wishes(
        models=names,
        files=(file, *more) if file is not None else (),
        preset=preset,
        epochs=epochs,
        max_bars=max_bars,
        device=device,
        quiet_allocator=quiet_allocator,
        limit_bytes=None if limit is None else parse_bytes(limit, "--limit"),
        timeout_s=timeout_s,
        out=out,
    )
    budgets = reader.load(reader.find(budgets_path, Path.cwd()))
    today = datetime.datetime.now(datetime.timezone.utc).date()
    cases = validation.cases(wishes, budgets, today)
    found = validation.run(wishes, budgets, cases, announcer(console(stderr=True)))
    deliver.deliver(found, targets, console(stderr=targets.stdout is not None))
    return exit_code(found)
