"""``foxbench sweep MODELS FILE --set batch=32,64``: step peak and time over a grid."""

from __future__ import annotations

from pathlib import Path

import click

from foxbench.cli import options


@click.command()
@click.argument("models", metavar="MODEL[,MODEL...]")
@click.argument("file", type=options.PATH)
@click.option(
    "--set",
    "texts",
    metavar="KEY=VALUES",
    multiple=True,
    help="A setting and its values: batch=32,64,128. Of a setting that is a list, values are "
    "separated by semicolons: 'hidden=128,64;256,128'. MODEL.KEY=VALUES is of that model alone.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=2),
    help="Training steps of each point.  [default: 12; ppo 9]",
)
@options.max_bars
@options.further_files
@options.device
@options.limit
@options.quiet_allocator
@options.timeout
@options.out
@click.option(
    "--csv", "csv_path", type=options.PATH, metavar="FILE", help="Write the table there too."
)
@click.option(
    "--parquet", "parquet_path", type=options.PATH, metavar="FILE", help="The same as Parquet."
)
@click.option(
    "--html", "html_path", type=options.PATH, metavar="FILE", help="The page with its plot."
)
@click.option("--json", "json_path", type=options.PATH, metavar="FILE", help="The figures as JSON.")
def command(
    models: str,
    file: Path,
    texts: tuple[str, ...],
    steps: int | None,
    max_bars: int | None,
    more: tuple[Path, ...],
    device: str,
    limit: str | None,
    quiet_allocator: bool,
    timeout_s: float | None,
    out: Path,
    csv_path: Path | None,
    parquet_path: Path | None,
    html_path: Path | None,
    json_path: Path | None,
) -> int:
    """Train MODEL with every combination of the settings' values, and measure its step.

    \b
    MODEL    any that `foxbench profile` takes; several, with commas, to compare them.
    FILE     bars in parquet.

    A point that does not fit, fails, runs out of memory or time stays in as that, without
    figures. Each sweep leaves a folder with sweep.csv, .parquet, .json, .html and .png, and what
    was measured is written after each point.

    Exit code: 0 every point has figures; 3 one has none; 4 unusable input; 130 interrupted.
    """
    # Here and not at the top: `foxbench sweep --help` needs none of it.
    from foxbench.profile import plan, runner
    from foxbench.profile.report import console
    from foxbench.sizes import parse_bytes
    from foxbench.sweep import grid, keep, report, trainings
    from foxbench.sweep.result import exit_code

    names = options.names(models, "MODEL")
    asked = {"csv": csv_path, "parquet": parquet_path, "html": html_path, "json": json_path}
    further = {name: path for name, path in asked.items() if path is not None}
    for path in further.values():
        plan.check_writable(path)
    wishes = trainings.Wishes(
        files=(file, *more),
        steps=steps,
        max_bars=max_bars,
        device=device,
        quiet_allocator=quiet_allocator,
        limit_bytes=None if limit is None else parse_bytes(limit, "--limit"),
        timeout_s=timeout_s,
    )
    points = grid.points(names, texts)
    trainings.check(wishes, points)
    folder = runner.make_directory(out.absolute(), "sweep")
    announce = report.announcer(console(stderr=True))
    found = trainings.run(wishes, points, folder, announce, keep.after_each)
    keep.at_the_end(found, further)
    report.show(found, console())
    return exit_code(found)
