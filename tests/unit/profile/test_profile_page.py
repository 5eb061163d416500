"""The page of profiles, read back as HTML."""

import dataclasses
from html.parser import HTMLParser

from profiles import MIB, ok_profile

from foxbench.profile import page
from foxbench.profile.result import Analytic, Failure, Part

HOSTILE = '</title><script>window.pwned=1</script><img src=x onerror="a()">{{ 7 * 7 }}\x1b[31m'


class Page(HTMLParser):
    def __init__(self, source):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)


def made(*profiles, folder):
    source = page.make([(profile, folder) for profile in profiles]).decode()
    return source, Page(source)


def test_one_run_has_its_headlines_its_phases_and_its_parts(tmp_path):
    source, found = made(ok_profile(), folder=tmp_path)
    text = " ".join(found.text)
    assert "All runs" not in text
    for expected in ("111.00 MiB", "first_step", "forward 1.00, backward 2.00, update 0.00"):
        assert expected in text
    assert "No timeline" in text
    assert source.count("<!doctype html>") == 1


def test_several_runs_are_in_one_table_first(tmp_path):
    other = dataclasses.replace(ok_profile(), model="ppo", growth_peak_bytes=123 * MIB)
    _, found = made(ok_profile(), other, folder=tmp_path)
    text = " ".join(found.text)
    assert "All runs" in text
    assert "123.00" in text
    assert [tag for tag, _ in found.tags].count("section") == 3


def test_what_was_not_measured_says_so_and_is_never_0(tmp_path):
    failed = dataclasses.replace(
        ok_profile(),
        status="oom",
        peak_bytes=None,
        peak_err_bytes=None,
        peak_kind=None,
        growth_peak_bytes=None,
        step_peak_bytes=None,
        first_step_peak_bytes=None,
        steps=None,
        losses=None,
        error=Failure("signal", "killed by the kernel", "step", 7, "a traceback"),
    )
    _, found = made(failed, failed, folder=tmp_path)
    text = " ".join(found.text)
    assert text.count("not measured") >= 7 * 2
    assert "signal in step, step 7: killed by the kernel" in text
    assert "a traceback" in text
    assert "a lower bound" in text


def test_the_arithmetic_is_shown_layer_by_layer(tmp_path):
    analytic = Analytic(
        params_bytes=MIB,
        grads_bytes=MIB,
        optimizer_bytes=2 * MIB,
        buffers_bytes=0,
        data_bytes=0,
        resident_bytes=3 * MIB,
        activations=tuple(Part(f"layer {i}", i * MIB) for i in range(9)),
        step_peak_bytes=2 * MIB - 4096,
        peak_at="backward of layer 8",
        peak_parts=(Part("gradients", MIB), Part("layer 8", MIB - 4096)),
    )
    _, found = made(dataclasses.replace(ok_profile(), analytic=analytic), folder=tmp_path)
    text = " ".join(found.text)
    assert all(f"layer {i}" in text for i in range(9))
    assert "backward of layer 8" in text
    assert "0.00 MiB of the step peak measured, 0.2 % of it" in text


def test_a_hostile_name_is_text_wherever_it_stands(tmp_path):
    hostile = dataclasses.replace(
        ok_profile(),
        model=HOSTILE,
        file=f"/data/{HOSTILE}",
        warnings=(HOSTILE,),
        error=Failure(HOSTILE, HOSTILE, None, None, HOSTILE),
        component_bytes={HOSTILE: 1},
    )
    source, found = made(hostile, hostile, folder=tmp_path)
    assert not {"script", "img"} & {tag for tag, _ in found.tags}
    assert "{{ 7 * 7 }}" in " ".join(found.text)
    assert "\x1b" not in source


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    _, found = made(ok_profile(), ok_profile(), folder=tmp_path)
    for tag, attributes in found.tags:
        for name in ("src", "href", "data", "action"):
            assert attributes.get(name, "data:").startswith(("data:", "#")), (tag, attributes)


def test_a_timeline_that_cannot_be_read_costs_the_picture_alone(tmp_path):
    (tmp_path / "timeline.parquet").write_bytes(b"PAR1 is no timeline PAR1")
    _, found = made(ok_profile(), folder=tmp_path)
    assert any("timeline.parquet" in text for text in found.text)
    assert "svg" not in [tag for tag, _ in found.tags]
