from __future__ import annotations

import dataclasses
import statistics

import pytest
from asv_runner.statistics import compute_stats
from series_maker import MIB, noisy, point_at, series_of

from foxbench.history.bands import BAND_SIGMAS, floor_bytes, noise_band


def test_a_long_history_has_a_band_of_four_sigmas_of_its_repeats():
    band = noise_band(noisy([100] * 200, share=0.002))
    assert band.source == "repeats"
    assert band.bytes == pytest.approx(BAND_SIGMAS * 0.002 * 100 * MIB, rel=0.15)
    assert band.n_measurements == 600


def test_quartiles_alone_give_the_same_band_as_the_samples():
    with_samples = noisy([100] * 50)
    points = []
    for point in with_samples.points:
        _, stats = compute_stats(list(point.samples_bytes), 1)
        quartiles = (stats["q_25"], stats["q_75"])
        points.append(dataclasses.replace(point, samples_bytes=None, quartiles_bytes=quartiles))
    assert noise_band(series_of(points)).bytes == pytest.approx(
        noise_band(with_samples).bytes, rel=1e-4
    )


def test_a_short_history_is_slower_to_call_something_a_change():
    short = noise_band(series_of(noisy([100] * 200).points[:1]))
    assert short.bytes > 2 * BAND_SIGMAS * short.sigma_bytes


def test_one_busy_commit_does_not_widen_the_band_of_all():
    quiet = noisy([100] * 20)
    points = [*quiet.points[:-1], point_at(19, [100 * MIB, 160 * MIB, 90 * MIB])]
    assert noise_band(series_of(points)).bytes < 1.3 * noise_band(quiet).bytes


def test_identical_repeats_leave_the_floor_of_the_kernels_counters():
    band = noise_band(series_of([point_at(i, [5 * MIB] * 3) for i in range(4)]))
    assert (band.bytes, band.source, band.sigma_bytes) == (32 * 4096, "floor", 0.0)


def test_the_floor_grows_with_the_cpus_that_count_apart():
    assert floor_bytes(None) == floor_bytes(16) == 32 * 4096
    assert floor_bytes(64) == 128 * 4096


def test_a_step_does_not_pass_for_noise_when_each_commit_has_one_process():
    flat = noisy([100] * 20, n=1)
    stepped = noisy([100] * 10 + [120] * 10, n=1)
    assert noise_band(flat).source == noise_band(stepped).source == "commits"
    assert noise_band(stepped).bytes < 1.3 * noise_band(flat).bytes


def test_two_single_measurements_are_no_evidence_of_a_spread():
    band = noise_band(noisy([100, 130], n=1))
    assert (band.source, band.n_measurements) == ("floor", 2)


def test_many_samples_use_their_standard_deviation():
    point = point_at(0, list(range(0, 100 * MIB, MIB)))
    assert noise_band(series_of([point])).sigma_bytes == pytest.approx(
        statistics.stdev(range(0, 100 * MIB, MIB))
    )


def test_asvs_whole_process_peak_is_not_trusted_to_show_its_own_noise():
    steady = series_of([point_at(i, [232 * MIB] * 3) for i in range(8)], type="peakmemory")
    band = noise_band(steady)
    assert (band.bytes, band.source) == (58 * MIB, "assumed")
