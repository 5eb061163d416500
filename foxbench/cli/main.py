"""Entry point of the ``foxbench`` command.

The only place that prints errors and picks the exit code.  Subcommands are imported when they
are run, so that ``foxbench --help`` costs neither pyarrow nor torch.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import click

import foxbench
from foxbench.errors import EXIT_ENVIRONMENT, EXIT_OK, EXIT_USAGE, FoxbenchError

#: 128 + SIGINT and 128 + SIGPIPE, what a shell reports for a command that died of them.
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


@dataclass(frozen=True)
class Lazy:
    """A subcommand that is not imported yet.

    Attributes
    ----------
    path : str
        ``module:attribute`` of the click command.
    summary : str
        Its line in ``foxbench --help``; kept here so that help imports nothing.
    """

    path: str
    summary: str


COMMANDS: dict[str, Lazy] = {
    "run": Lazy("foxbench.cli.run:command", "Run any command and report what memory it needed."),
    "doctor": Lazy("foxbench.cli.doctor:command", "Say what can be measured here, and mend it."),
    "profile": Lazy("foxbench.cli.profile:command", "Measure one training run, phase by phase."),
    "validate": Lazy("foxbench.cli.validate:command", "Say whether every model fits its budget."),
    "leak": Lazy("foxbench.cli.leak:command", "Say whether a training or any command leaks."),
    "sweep": Lazy("foxbench.cli.sweep:command", "Measure a step over a grid of settings."),
    "fit": Lazy("foxbench.cli.fit:command", "Find the largest batch that fits a limit."),
    "bars": Lazy("foxbench.cli.bars:command", "Make, import and inspect files of minute bars."),
    "site": Lazy("foxbench.cli.site:command", "Read a published memory page in the terminal."),
}


class LazyGroup(click.Group):
    """A click group whose commands are imported by name when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command; None (click's usage error) for an unknown name."""
        lazy = COMMANDS.get(cmd_name)
        if lazy is None:
            return None
        module, _, attribute = lazy.path.partition(":")
        command = cast(click.Command, getattr(importlib.import_module(module), attribute))
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from their summaries, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in COMMANDS.items()])


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"foxbench {foxbench.__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Exact memory of one training step, and its history.

    \b
    Exit codes: 0 ok, 1 regression, 2 over budget, 3 not measured, 4 wrong usage or input,
    5 the machine or the installation lacks something, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        See ``foxbench --help``; a run command passes its child's own code through.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        # Not click's standalone mode: its usage errors would leave with 2, "over budget".
        code = cli.main(args=arguments, prog_name="foxbench", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except FoxbenchError as error:
        click.echo(f"foxbench: {error}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("foxbench: interrupted", err=True)
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) left.  Inside a command click turns that into SystemExit(1), our
        # code for a regression, and nothing else here exits; at the last flush it comes as it is.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:  # the last resort, so that no user meets a bare traceback
        return _report_unexpected(error)
    return code if isinstance(code, int) else EXIT_OK


def _report_unexpected(error: Exception) -> int:
    """Keep the traceback in a file, say where it lies, and blame ourselves."""
    summary = f"foxbench: unexpected {type(error).__name__}: {error}"
    try:
        handle, path = tempfile.mkstemp(prefix="foxbench-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:  # no place to keep it: better long than lost
        click.echo(summary + "\n" + "".join(traceback.format_exception(error)), err=True)
    else:
        click.echo(f"{summary}\n  this is a bug in foxbench; the traceback is in {path}", err=True)
    return EXIT_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
