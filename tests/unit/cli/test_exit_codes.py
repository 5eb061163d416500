import os

import click
import pytest

from foxbench.cli import main as cli_main
from foxbench.errors import EnvironmentFault, NotMeasured, UsageError


@pytest.fixture
def raising(monkeypatch):
    """Make ``foxbench bars`` a command that raises what the test wants."""

    def install(error):
        @click.command()
        def command():
            raise error

        monkeypatch.setattr(
            cli_main.LazyGroup, "get_command", lambda self, ctx, name: command if name else None
        )

    return install


def test_every_registered_command_has_a_summary_and_a_module_of_its_own():
    for name, lazy in cli_main.COMMANDS.items():
        assert lazy.path == f"foxbench.cli.{name}:command"
        assert lazy.summary.endswith(".")


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("a", "b"), 4), (NotMeasured("a"), 3), (EnvironmentFault("a"), 5)],
)
def test_an_error_of_ours_gives_its_own_code(raising, capsys, error, code):
    raising(error)
    assert cli_main.main(["bars"]) == code
    assert "foxbench: a" in capsys.readouterr().err


def test_the_remedy_is_printed(raising, capsys):
    raising(UsageError("it is wrong", "write it right"))
    cli_main.main(["bars"])
    assert "write it right" in capsys.readouterr().err


def test_an_unexpected_error_is_short_and_its_traceback_is_kept(
    raising, capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(cli_main.tempfile, "tempdir", str(tmp_path))
    raising(ZeroDivisionError("by nothing"))
    assert cli_main.main(["bars"]) == 5
    err = capsys.readouterr().err
    assert "unexpected ZeroDivisionError: by nothing" in err
    assert "Traceback" not in err
    (kept,) = os.listdir(tmp_path)
    assert "Traceback" in (tmp_path / kept).read_text()
    assert str(tmp_path / kept) in err


def test_ctrl_c_exits_with_130(raising, capsys):
    raising(KeyboardInterrupt())
    assert cli_main.main(["bars"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_misspelt_option_is_wrong_usage_and_the_right_one_is_named(capsys):
    assert cli_main.main(["profile", "--epcohs", "3"]) == 4
    assert "--epochs" in capsys.readouterr().err


def test_an_unknown_command_is_wrong_usage(capsys):
    assert cli_main.main(["profil"]) == 4
    assert "profil" in capsys.readouterr().err


def test_no_command_shows_the_help(capsys):
    assert cli_main.main([]) == 4
    output = capsys.readouterr()
    assert "profile" in output.out + output.err


def test_help_and_version_are_no_errors(capsys):
    assert cli_main.main(["--help"]) == 0
    assert cli_main.main(["--version"]) == 0
    assert "foxbench" in capsys.readouterr().out


def test_both_ways_to_give_epochs_at_once_are_refused(capsys):
    assert cli_main.main(["profile", "dqn", "f.parquet", "2", "--epochs", "3"]) == 4
    assert "twice" in capsys.readouterr().err
