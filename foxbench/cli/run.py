"""``foxbench run``: hands over to the compiled launcher, which has the options and the reports.

The script itself goes there directly (:mod:`foxbench.cli.entry`); this is the way in for those
who call :func:`foxbench.cli.main.main`, and what ``foxbench --help`` lists.
"""

from __future__ import annotations

import click

from foxbench.sampler.launcher import become_launcher


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Run any command and report the memory that it and its descendants needed."""
    return become_launcher(list(arguments))
