"""``foxbench profile MODEL FILE [EPOCHS]``: one training run, measured phase by phase."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("epochs_argument", metavar="[EPOCHS]", type=click.IntRange(min=1), required=False)
@click.option("--epochs", type=click.IntRange(min=1), help="Epochs to train.  [default: 3]")
@click.option(
    "--steps-per-epoch",
    type=click.IntRange(min=1),
    help="Cut each epoch after so many steps.  [default: dqn 500, ppo 3, mamba2 8, tft 40, "
    "module:Class 100]",
)
@click.option("--max-bars", type=click.IntRange(min=1), help="Use the first bars only.")
@click.option(
    "--with",
    "more",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A further instrument's bars (tft trains on several); may be repeated.",
)
@click.option("--set", "assignments", metavar="KEY=VALUE", multiple=True, help="Change a setting.")
@click.option(
    "--hz", type=click.FloatRange(100, 10_000), default=1000.0, show_default=True, help="Sampling."
)
@click.option(
    "--quiet-allocator/--no-quiet-allocator",
    default=True,
    show_default=True,
    help="Give freed memory back at once: repeatable peaks for more CPU time.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End the run after so long.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("foxbench-runs"),
    show_default=True,
    help="Where each run gets a new folder.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the profile there too; - for stdout, and the table then goes to stderr.",
)
def command(
    model: str,
    file: Path,
    epochs_argument: int | None,
    epochs: int | None,
    steps_per_epoch: int | None,
    max_bars: int | None,
    more: tuple[Path, ...],
    assignments: tuple[str, ...],
    hz: float,
    quiet_allocator: bool,
    timeout_s: float | None,
    out: Path,
    json_path: Path | None,
) -> int:
    """Train MODEL on FILE in a process of its own and measure every phase.

    \b
    MODEL    dqn, ppo, mamba2, tft, or module:Class of a trainer of your own, which is
             built as Class(data, None, "cpu") and needs a method step().
    FILE     bars in parquet (make some with `foxbench bars make ES -o es.parquet`).
    EPOCHS   passes over the bars, 3 by default; each is cut short, see --steps-per-epoch.

    Whatever was measured is kept when the training fails, is killed or runs out of memory.
    The exit code is the training's own: 0; 3 when it raised; 4 for unusable input; 124 after
    --timeout; 128 + N when signal N ended it.
    """
    if epochs is not None and epochs_argument is not None:
        raise click.UsageError("EPOCHS is given twice: as an argument and as --epochs.")
    # Here and not at the top: `foxbench profile --help` needs none of it.
    from foxbench.profile import plan, report, result, runner

    to_stdout = json_path is not None and str(json_path) == "-"
    if json_path is not None and not to_stdout:
        plan.check_writable(json_path)
    request = plan.Request(
        model=model,
        files=(file, *more),
        epochs=epochs or epochs_argument,
        steps_per_epoch=steps_per_epoch,
        max_bars=max_bars,
        assignments=assignments,
        hz=hz,
        quiet_allocator=quiet_allocator,
    )
    plan.check(request)
    directory = runner.make_directory(out.absolute(), model)
    spec = plan.spec(request, directory)
    with report.Progress(report.console(stderr=True)) as progress:
        profile = runner.run(spec, directory, timeout_s, progress)
    report.show(profile, directory, report.console(stderr=to_stdout))
    if to_stdout:
        click.echo(result.encode(profile), nl=False)
    elif json_path is not None:
        result.write(profile, json_path)
        report.console().print(f"  {'json':<12} {json_path}", soft_wrap=True)
    return profile.exit_code
