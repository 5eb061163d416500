"""Starts ``foxbench validate`` as users do."""

import time

import cli_process

from foxbench.budget import result

MIB = 2**20

#: What a step of ``my_trainers`` takes and gives back.
STEP_BYTES = 24 * MIB


def start(folder, *arguments, **environment):
    return cli_process.start(folder, "validate", *arguments, **environment)


def validate(folder, *arguments, **environment):
    """Exit code, stdout and stderr of ``foxbench validate es.parquet --epochs 1 ...``."""
    process = start(folder, "es.parquet", "--epochs=1", *arguments, **environment)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def budgets(folder, *tables, name="budgets.toml"):
    """Write a file of budgets; each table is the text below ``[[budget]]``."""
    text = "schema_version = 1\n" + "".join(f"[[budget]]\n{table}\n" for table in tables)
    (folder / name).write_text(text)
    return folder / name


def budget_of(trainer, limit, *more):
    return "\n".join([f'model = "my_trainers:{trainer}"', f'limit = "{limit}"', *more])


def rows(path):
    """The rows of a JSON report, by the class of the trainer."""
    return {row.name.rpartition(":")[2]: row for row in result.read(path).models}


def wait_for_step(folder, trainer, number):
    for _ in range(600):
        for log in (folder / "foxbench-runs").glob(f"*/*{trainer}/log.jsonl"):
            if f'"kind":"step","n":{number},' in log.read_text():
                return
        time.sleep(0.1)
    raise AssertionError("no step was logged in a minute")
