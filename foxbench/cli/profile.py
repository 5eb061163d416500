"""``foxbench profile MODELS FILE [EPOCHS]``: training runs, measured phase by phase."""

from __future__ import annotations

from pathlib import Path

import click

from foxbench.cli import options


@click.command()
@click.argument("models", metavar="MODEL[,MODEL...]")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("epochs_argument", metavar="[EPOCHS]", type=click.IntRange(min=1), required=False)
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs to train.  [default: 3]")
@click.option(
    "--steps-per-epoch",
    type=click.IntRange(min=1),
    help="Cut each epoch after so many steps.  [default: dqn 500, ppo 3, mamba2 8, tft 40, "
    "module:Class 100]",
)
@options.max_bars
@click.option(
    "--preset",
    type=click.Choice(["quick", "realistic", "full"]),
    help="Epochs and bars by name: 2 short epochs of 4,000 bars; 10 whole ones of 10,000; 10 "
    "whole ones of every bar.",
)
@click.option(
    "--for",
    "soak_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Train for so long, whatever the epochs.",
)
@options.further_files
@click.option(
    "--also",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Another file to profile every MODEL on; may be repeated.",
)
@options.settings
@options.device
@options.limit
@click.option(
    "--hz", type=click.FloatRange(100, 10_000), default=1000.0, show_default=True, help="Sampling."
)
@options.quiet_allocator
@options.timeout
@options.out
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the profile there too (of several runs an array); - for stdout, and the table "
    "then goes to stderr.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write one page of all runs there too.",
)
def command(
    models: str,
    file: Path,
    epochs_argument: int | None,
    epochs: int | None,
    steps_per_epoch: int | None,
    max_bars: int | None,
    preset: str | None,
    soak_s: float | None,
    more: tuple[Path, ...],
    also: tuple[Path, ...],
    assignments: tuple[str, ...],
    device: str,
    limit: str | None,
    hz: float,
    quiet_allocator: bool,
    timeout_s: float | None,
    out: Path,
    json_path: Path | None,
    html_path: Path | None,
) -> int:
    """Train MODEL on FILE in a process of its own and measure every phase.

    \b
    MODEL    dqn, ppo, mamba2, tft; dqn-infer and so on, tft-int8; agent; or module:Class of
             a trainer of your own (docs/own-trainer.md).  Several with commas between them.
    FILE     bars in parquet (make some with `foxbench bars make ES -o es.parquet`).
    EPOCHS   passes over the bars, 3 by default; each is cut short, see --steps-per-epoch.

    Each run leaves a new folder with profile.json, timeline.parquet, timeline.png and
    profile.html.  Whatever was measured is kept when the training fails, is killed or runs out
    of memory.  The exit code is the training's own, of several the first that is not 0: 0; 3
    when it raised; 4 for unusable input; 124 after --timeout; 128 + N when signal N ended it.
    """
    if epochs is not None and epochs_argument is not None:
        raise click.UsageError("EPOCHS is given twice: as an argument and as --epochs.")
    if soak_s is not None and (epochs or epochs_argument or steps_per_epoch):
        raise click.UsageError("Give --for, or epochs and their steps, not both.")
    # Here and not at the top: `foxbench profile --help` needs none of it.
    from foxbench.jsonfile import write_atomically
    from foxbench.profile import plan, report, several
    from foxbench.sizes import parse_bytes

    names = options.names(models, "MODEL")
    to_stdout = json_path is not None and str(json_path) == "-"
    for path in (json_path, html_path):
        if path is not None and not (path is json_path and to_stdout):
            plan.check_writable(path)
    requests = [
        plan.Request(
            model=name,
            files=(one, *more),
            epochs=epochs or epochs_argument,
            steps_per_epoch=steps_per_epoch,
            max_bars=max_bars,
            assignments=assignments,
            hz=hz,
            quiet_allocator=quiet_allocator,
            device=device,
            soak_s=soak_s,
            limit_bytes=None if limit is None else parse_bytes(limit, "--limit"),
            preset=preset,
        )
        for one in (file, *also)
        for name in names
    ]
    for request in requests:
        plan.check(request)
    console = report.console(stderr=to_stdout)
    runs = several.run(requests, out, timeout_s, report.console(stderr=True), console)
    if to_stdout:
        click.echo(several.encode(runs), nl=False)
    elif json_path is not None:
        write_atomically(json_path, several.encode(runs))
        console.print(f"  {'json':<12} {json_path}", soft_wrap=True)
    if html_path is not None:
        several.write_page(runs, html_path)
        console.print(f"  {'page':<12} {html_path}", soft_wrap=True)
    return several.exit_code(runs)
