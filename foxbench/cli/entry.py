"""Where the ``foxbench`` script begins.

``foxbench run`` must cost a command next to nothing, so it is told apart here, before click and
all that comes with it is imported: this module and what it needs for ``run`` import nothing but
what the interpreter has loaded anyway.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process; returns the exit code, or never, see ``run``."""
    if sys.argv[1:2] == ["run"]:
        from foxbench.sampler.launcher import become_launcher

        return become_launcher(sys.argv[2:])
    from foxbench.cli.main import main as all_commands

    return all_commands()


if __name__ == "__main__":
    sys.exit(main())
