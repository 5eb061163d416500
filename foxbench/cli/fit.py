"""``foxbench fit MODEL [FILE] --device SIZE``: the largest batch that fits."""

from __future__ import annotations

from pathlib import Path

import click

from foxbench.cli import options


@click.command()
@click.argument("model")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--device",
    "--limit",
    "limit",
    metavar="SIZE",
    required=True,
    help='What the training may take, such as "4 GiB".',
)
@click.option(
    "--setting",
    metavar="NAME",
    help="What to make as large as possible, e.g. seq_len.  [default: batch; ppo minibatch]",
)
@options.settings
@options.further_files
@options.max_bars
@options.quiet_allocator
@options.timeout
@options.out
@options.json_file
def command(
    model: str,
    file: Path | None,
    limit: str,
    setting: str | None,
    assignments: tuple[str, ...],
    more: tuple[Path, ...],
    max_bars: int | None,
    quiet_allocator: bool,
    timeout_s: float | None,
    out: Path,
    json_path: Path | None,
) -> int:
    """Find the largest batch (or other size) of MODEL whose training fits SIZE.

    \b
    MODEL    dqn, ppo, mamba2 or tft; or, with --setting, any that `foxbench profile` takes.
    FILE     bars in parquet; without it synthetic ones are made.

    The first guess is the arithmetic's; the last word is a training's under a real limit of
    memory: the size that is named ran inside it, and one at most 5 % larger did not.

    Exit code: 0 a size is named; 2 not even the smallest fits; 3 a training failed for another
    reason; 4 and 5 as everywhere.
    """
    # Here and not at the top: `foxbench fit --help` needs none of it.
    from foxbench import jsonfile
    from foxbench.budget import market_files
    from foxbench.fit import report, result, trainings
    from foxbench.profile import plan, runner
    from foxbench.profile.report import console
    from foxbench.sizes import parse_bytes

    if more and file is None:
        raise click.UsageError("--with goes with FILE; without it synthetic bars are made.")
    limit_bytes = parse_bytes(limit, "--device")
    to_stdout = json_path is not None and str(json_path) == "-"
    if json_path is not None and not to_stdout:
        plan.check_writable(json_path)
    folder = runner.make_directory(out.absolute(), f"fit-{model}")
    if file is not None:
        files = market_files.given((file, *more)).all
    else:
        files = market_files.synthetic([model], max_bars or 30_000, folder / "bars").all
    wishes = trainings.Wishes(
        model=model,
        files=files,
        limit_bytes=limit_bytes,
        setting=setting,
        assignments=assignments,
        max_bars=max_bars,
        quiet_allocator=quiet_allocator,
        timeout_s=timeout_s,
    )
    announce = report.announcer(setting or "size", console(stderr=True))
    found = trainings.run(wishes, folder, announce)
    result.write(found, folder / "fit.json")
    report.show(found, console(stderr=to_stdout))
    if to_stdout:
        click.echo(jsonfile.encode(found), nl=False)
    elif json_path is not None:
        result.write(found, json_path)
        console().print(f"  {'json':<12} {json_path}", soft_wrap=True)
    return result.exit_code(found)
