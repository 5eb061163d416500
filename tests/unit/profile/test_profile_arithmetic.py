"""The arithmetic of a step beside its measured peak."""

import dataclasses

import pytest
from profiles import MIB, ok_profile

from foxbench.bars import parquet
from foxbench.bars.synthetic import synthetic
from foxbench.models import account, registry
from foxbench.models.dataset import outline
from foxbench.profile.arithmetic import analytic
from foxbench.profile.spec import Spec


@pytest.fixture(scope="module")
def bars_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bars") / "es.parquet"
    parquet.write(synthetic("ES", days=4, seed=3), path)
    return str(path)


def spec(bars_file, **changes):
    values = {"model": "dqn", "files": (bars_file,), "settings": {"batch": 128}}
    return Spec(
        **{**values, **changes},
        epochs=2,
        steps_per_epoch=3,
        max_bars=2000,
        hz=1000.0,
        quiet_allocator=True,
        threads=1,
        search=(),
        log="",
    )


def test_the_account_is_that_of_the_settings_that_were_trained(bars_file):
    expected = account.account("dqn", registry.config("dqn", batch=128), outline([bars_file], 2000))
    found = analytic(spec(bars_file))
    assert found.step_peak_bytes == expected.step_peak_bytes
    assert found.resident_bytes == expected.resident_bytes
    assert sum(part.bytes for part in found.peak_parts) == found.step_peak_bytes
    assert [part.name for part in found.activations] == [p.name for p in expected.activations]


def test_what_is_left_to_explain_is_measured_less_thought(bars_file):
    thought = analytic(spec(bars_file))
    measured = dataclasses.replace(ok_profile(), analytic=thought)
    assert measured.unexplained_bytes == 2 * MIB - thought.step_peak_bytes


def test_of_a_failed_run_there_is_arithmetic_and_nothing_to_explain(bars_file):
    failed = dataclasses.replace(
        ok_profile(), analytic=analytic(spec(bars_file)), step_peak_bytes=None
    )
    assert failed.unexplained_bytes is None


def test_without_an_account_or_the_files_there_is_none(bars_file):
    assert analytic(spec(bars_file, model="my:Trainer")) is None
    assert analytic(spec(bars_file, files=("/none.parquet",))) is None
    assert analytic(spec(bars_file, settings={"batch": 10**9})) is None


def test_the_hosts_step_peak_is_not_held_against_a_devices_arithmetic(bars_file):
    on_device = analytic(dataclasses.replace(spec(bars_file), device="cuda"))
    measured = dataclasses.replace(ok_profile(), analytic=on_device, device="cuda")
    assert measured.unexplained_bytes is None
