"""Bars to train on, and a working directory with a user's module of leaking trainers in it."""

import shutil
from pathlib import Path

import pytest

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic


@pytest.fixture(scope="session")
def bars_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "es.parquet"
    parquet.write(synthetic("ES", days=4, seed=3), path)
    return path


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory):
    """Makes a working directory with a user's module of trainers in it."""

    def make():
        folder = tmp_path_factory.mktemp("work")
        shutil.copy(Path(__file__).with_name("leaky_trainers.py"), folder / "leaky_trainers.py")
        return folder

    return make


@pytest.fixture
def folder(make_folder):
    return make_folder()
