"""Pictures of timelines, read back as what they are made of."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from profiles import MIB, ok_profile

from foxbench.errors import EnvironmentFault
from foxbench.profile import plot
from foxbench.profile.result import Phase
from foxbench.sampler import timeline_file
from foxbench.sampler.result import Timeline

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</svg><script>alert("$x^2$ & {{ 7 * 7 }}")</script>\x1b[31m\x00'


def samples(values_mib, step_ns=1_000_000, low_mib=None):
    """A timeline whose bucket i lies at ``i * step_ns``."""
    n = len(values_mib)
    at = np.arange(n, dtype=np.int64) * step_ns
    high = (np.asarray(values_mib, dtype=np.float64) * MIB).astype(np.int64)
    low = high if low_mib is None else (np.asarray(low_mib) * MIB).astype(np.int64)
    made = Timeline(
        first_ns=at,
        max_ns=at,
        min_bytes=low,
        max_bytes=high,
        last_bytes=low,
        count=np.ones(n, dtype=np.int64),
    )
    return timeline_file.table(made, begin_ns=0, phases=(), source="process", hz=1000.0)


def phase(name, begin_ms, wall_ms, peak_mib=100):
    return Phase(
        name=name,
        begin_ns=int(begin_ms * 1e6),
        wall_ns=int(wall_ms * 1e6),
        user_ns=0,
        system_ns=0,
        rss_begin_bytes=0,
        rss_end_bytes=0,
        peak_bytes=int(peak_mib * MIB),
        peak_err_bytes=1,
        peak_kind="hwm",
        step_peak_bytes=0,
        minor_faults=0,
        major_faults=0,
        voluntary_ctxt_switches=0,
        involuntary_ctxt_switches=0,
    )


def svg(values, phases=(), line_bytes=None, title="dqn"):
    text = plot.timeline_svg(samples(values), phases, line_bytes, title)
    return text, ElementTree.fromstring(text)


def texts(root):
    return [element.text for element in root.iter(f"{SVG}text")]


def test_the_picture_names_its_phases_with_their_peaks_and_the_limit():
    phases = (phase("import", 0, 60, 50.5), phase("step", 60, 40, 99.5))
    _, root = svg(np.linspace(10, 99, 100), phases, 400 * MIB, "dqn batch=64")
    found = texts(root)
    assert {"dqn batch=64", "import 50.5", "step 99.5", "limit 400.0"} <= set(found)
    assert "resident, MiB" in found


def test_the_same_run_gives_the_same_picture_and_another_title_other_ids():
    first, _ = svg([1, 2, 3])
    assert first == svg([1, 2, 3])[0]
    other, _ = svg([1, 2, 3], title="ppo")
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, other)]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_nothing_outside_the_element_is_referred_to_or_styled():
    text, root = svg([1, 2, 3], (phase("step", 0, 2),), 2 * MIB)
    assert root.tag == f"{SVG}svg"
    assert not list(root.iter(f"{SVG}style"))
    references = re.findall(r'(?:href="|url\()([^")]+)', text)
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert references
    assert {reference.lstrip("#") for reference in references} <= ids
    assert "currentColor" in text


def test_a_hostile_name_is_text():
    text, root = svg([1, 2], (phase(HOSTILE, 0, 1),), None, HOSTILE)
    assert not list(root.iter(f"{SVG}script"))
    assert "script>alert" not in text.replace("&lt;script&gt;alert", "")
    assert any("$x^2$ & {{ 7 * 7 }}" in (found or "") for found in texts(root))


@pytest.mark.parametrize("values", [[], [5], [5, 5], [0, 10**6]])
@pytest.mark.parametrize("phases", [(), (phase("step", 0, 1, 7),)])
@pytest.mark.parametrize("line_bytes", [None, 1, 10**12])
def test_any_run_has_a_picture(values, phases, line_bytes):
    _, root = svg(values, phases, line_bytes)
    assert ("no samples were kept" in texts(root)) == (not values)


@pytest.mark.parametrize(
    ("seconds", "unit"), [(1, "seconds"), (119, "seconds"), (121, "minutes"), (3 * 3600, "hours")]
)
def test_the_unit_of_time_follows_the_length(seconds, unit):
    _, root = svg([1, 2], (phase("step", 0, seconds * 1000),))
    assert unit in texts(root)


def test_a_long_timeline_is_thinned_and_loses_no_extreme():
    values = np.full(100_000, 50.0)
    values[77_777] = 90.0
    lows = values.copy()
    lows[11_111] = 5.0
    kept = plot._envelope(samples(values, low_mib=lows))
    assert len(kept.at_ns) <= plot.MAX_POINTS
    assert kept.high.max() == 90 * MIB
    assert kept.low.min() == 5 * MIB


def test_labels_of_short_phases_never_overlap_and_no_line_crosses_one():
    names = ("import", "load", "features", "build", "first_step", "step", "eval")
    walls = (900, 3, 2, 4, 9, 8000, 30)
    phases, begin = [], 0
    for name, wall in zip(names, walls, strict=True):
        phases.append(phase(name, begin, wall, 300))
        begin += wall
    labels = plot._layout(phases, begin * 1e6)
    assert len(labels) == len(names)
    boxes = [
        (one.row, one.left, one.left + len(one.text) * plot._CHARACTER, one.middle)
        for one in labels
    ]
    for one in boxes:
        assert one[1] >= 0
        assert one[2] <= 1 + 1e-9
        for other in boxes:
            if one is other:
                continue
            if one[0] == other[0]:
                assert one[2] <= other[1] or other[2] <= one[1]
            if one[0] < other[0]:  # the other's line passes this row
                assert not one[1] < other[3] < one[2]


def test_more_phases_than_there_is_room_for_are_left_to_the_table():
    phases = [phase(f"a phase with a long name {i}", i / 1000, 1 / 1000) for i in range(40)]
    labels = plot._layout(phases, 1e9)
    assert 0 < len(labels) <= plot._ROWS


def test_a_png_is_written_whole_and_a_place_that_refuses_is_named(tmp_path):
    plot.write_png(samples([1, 2, 3]), ok_profile().phases, None, "dqn", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    with pytest.raises(EnvironmentFault, match="none"):
        plot.write_png(samples([1]), (), None, "dqn", tmp_path / "none" / "a.png")


def test_drawing_leaves_matplotlibs_settings_and_figures_alone():
    import sys

    import matplotlib

    before = dict(matplotlib.rcParams)
    svg([1, 2, 3])
    assert dict(matplotlib.rcParams) == before
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )
