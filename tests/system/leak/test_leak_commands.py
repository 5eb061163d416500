"""Any command, judged by its resident set under the real launcher."""

import sys

import pytest
from leak_runs import leak, saved

MIB = 2**20

#: Keeps ``grow`` bytes every 20 ms, having first taken 20 MiB.
SCRIPT = """
import sys, time
grow, seconds = int(sys.argv[1]), float(sys.argv[2])
kept = [b"x" * (20 * 2**20)]
end = time.monotonic() + seconds
print("a line of the command's own", flush=True)
while time.monotonic() < end:
    kept.append(b"x" * grow)
    time.sleep(0.02)
sys.exit(int(sys.argv[3]))
"""


def command(grow, seconds, code=0):
    return ["--", sys.executable, "-I", "-S", "-c", SCRIPT, str(grow), str(seconds), str(code)]


def test_a_command_that_grows_is_suspect(folder):
    code, out, err = leak(folder, "--budget=1 GiB", *command(200_000, 7))
    assert code == 3, out + err
    found = saved(folder)
    assert (found.kind, found.status, found.verdict.verdict) == ("command", "ok", "suspect")
    # 50 times 200 kB a second, a little less where the machine is busy.
    assert 0.3 < found.verdict.bytes_per_day / (50 * 200_000 * 86_400) < 1.2
    assert found.verdict.seconds_to_budget > 0
    assert "a line of the command's own" in out
    assert "cannot tell" in out


def test_a_server_that_stands_is_ended_after_the_time_asked_for_and_clean(folder):
    code, out, err = leak(folder, "--for=7", "--json=-", *command(0, 600))
    assert code == 0, err
    assert out.startswith("{")
    assert "a line of the command's own" in err
    assert (saved(folder).status, saved(folder).verdict.verdict) == ("ok", "clean")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (command(0, 0.2), "ok", "a verdict needs 6 s"),
        (command(0, 0.2, code=7), "failed", "exit code 7"),
        (["--timeout=1", *command(0, 600)], "timeout", "--timeout"),
    ],
)
def test_a_command_that_is_too_short_is_not_measured(folder, arguments, status, message):
    code, out, _ = leak(folder, *arguments)
    assert code == 3
    found = saved(folder)
    assert (found.status, found.verdict.verdict) == (status, "not_measured")
    assert message in out
