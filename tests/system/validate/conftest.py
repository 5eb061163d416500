"""Bars, and a folder that holds a user's trainers and budgets."""

import shutil
from pathlib import Path

import pytest

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic

TRAINERS = Path(__file__).resolve().parents[1] / "profile" / "trainers.py"

#: A trainer whose file of bars is gone once it has trained.
TAKES_THE_BARS = """
import os
from my_trainers import Plain

class TakesTheBars(Plain):
    def end(self):
        if self.n == 2:
            os.unlink("es.parquet")
"""


@pytest.fixture(scope="session")
def bars_source(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "es.parquet"
    parquet.write(synthetic("ES", days=4, seed=3), path)
    return path


@pytest.fixture(scope="session")
def make_folder(bars_source):
    def make(folder):
        shutil.copy(TRAINERS, folder / "my_trainers.py")
        shutil.copy(bars_source, folder / "es.parquet")
        (folder / "taking.py").write_text(TAKES_THE_BARS)
        return folder

    return make


@pytest.fixture
def folder(tmp_path, make_folder):
    """Where the command is run: ``my_trainers.py``, ``taking.py`` and ``es.parquet``."""
    return make_folder(tmp_path)
