"""``foxbench leak MODEL FILE`` and ``foxbench leak -- COMMAND``: does it leak?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from foxbench.cli import options

_KEY = "foxbench.leak.command"


class _Split(click.Command):
    """Takes what stands behind ``--`` as it is: click itself would drop the ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta[_KEY] = args[:at], tuple(args[at + 1 :])
        return super().parse_args(ctx, args)


@click.command(cls=_Split, epilog="Of any command: foxbench leak [OPTIONS] -- COMMAND")
@click.argument("model", required=False)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--steps",
    type=click.IntRange(min=2),
    help="Training steps; a verdict needs 60.  [default: 400; mamba2 200, ppo 100]",
)
@click.option(
    "--for",
    "for_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Train for so long instead; of a command: end it with SIGTERM after so long.",
)
@options.max_bars
@options.further_files
@options.settings
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), help="What to train on.  [default: cpu]"
)
@click.option(
    "--budget",
    metavar="SIZE",
    help='What it may take, such as "4 GiB": says when a leak gets there.',
)
@options.timeout
@options.out
@options.json_file
@click.pass_context
def command(
    ctx: click.Context,
    model: str | None,
    file: Path | None,
    steps: int | None,
    for_s: float | None,
    max_bars: int | None,
    more: tuple[Path, ...],
    assignments: tuple[str, ...],
    device: str | None,
    budget: str | None,
    timeout_s: float | None,
    out: Path,
    json_path: Path | None,
) -> int:
    """Say whether a training leaks, from what it holds after each step.

    \b
    MODEL    any that `foxbench profile` takes, module:Class too.
    FILE     bars in parquet.

    Of a command only the resident set is seen, so the verdict is at most "suspect".

    Exit code: 0 clean, or fragmentation; 1 a leak; 3 suspect, not measured, or a run that failed
    without a leak until then; 4 and 5 as everywhere.
    """
    words: tuple[str, ...] | None = ctx.meta.get(_KEY)
    if words is None:
        if model is None or file is None:
            raise click.UsageError("Name MODEL and FILE, or a command behind --.")
        if steps is not None and for_s is not None:
            raise click.UsageError("Give --steps or --for, not both.")
    elif not words or model is not None:
        raise click.UsageError("Name a command behind --, and nothing before it but options.")
    elif steps or max_bars or more or assignments or device:
        raise click.UsageError("--steps, --max-bars, --with, --set and --device are a training's.")
    # Here and not at the top: `foxbench leak --help` needs none of it.
    from foxbench.leak import command as leak_command
    from foxbench.leak import report, result, training
    from foxbench.profile import plan, runner
    from foxbench.profile.progress import TrainingProgress
    from foxbench.profile.report import console
    from foxbench.sizes import parse_bytes

    budget_bytes = None if budget is None else parse_bytes(budget, "--budget")
    to_stdout = json_path is not None and str(json_path) == "-"
    if json_path is not None and not to_stdout:
        plan.check_writable(json_path)
    if words is not None:
        leak_command.check(words)
        directory = runner.make_directory(out.absolute(), Path(words[0]).name)
        output = sys.stderr if to_stdout else None
        found = leak_command.run(words, directory, budget_bytes, for_s, timeout_s, output)
    else:
        assert model is not None
        assert file is not None
        request = training.Request(
            model=model,
            files=(file, *more),
            steps=steps,
            max_bars=max_bars,
            assignments=assignments,
            for_s=for_s,
            device=device or "cpu",
        )
        plan.check(training.profile_request(request))
        directory = runner.make_directory(out.absolute(), model)
        with TrainingProgress(console(stderr=True)) as progress:
            found = training.run(request, directory, budget_bytes, timeout_s, progress)
    report.show(found, directory, console(stderr=to_stdout))
    if to_stdout:
        click.echo(result.encode(found), nl=False)
    elif json_path is not None:
        result.write(found, json_path)
        console().print(f"  {'json':<12} {json_path}", soft_wrap=True)
    return result.exit_code(found)
