import json
import subprocess

from foxbench.profile.log import LogReader, LogWriter


def test_a_log_that_does_not_exist_yet_has_no_records(tmp_path):
    assert LogReader(tmp_path / "log.jsonl").poll() == []


def test_each_poll_returns_only_what_is_new(tmp_path):
    path = tmp_path / "log.jsonl"
    writer, reader = LogWriter(path), LogReader(path)
    writer.write("begin", name="load")
    assert reader.poll() == [{"kind": "begin", "name": "load"}]
    writer.write("phase", name="load", wall_ns=5)
    writer.write("begin", name="build")
    assert [r["kind"] for r in reader.poll()] == ["phase", "begin"]
    assert reader.poll() == []
    writer.close()


def test_a_torn_last_line_waits_for_its_end(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"kind":"begin","name":"load"}\n{"kind":"ph')
    reader = LogReader(path)
    assert [r["kind"] for r in reader.poll()] == ["begin"]
    with path.open("ab") as file:
        file.write(b'ase"}\n')
    assert reader.poll() == [{"kind": "phase"}]


def test_a_record_is_in_the_file_before_write_returns(tmp_path):
    path = tmp_path / "log.jsonl"
    writer = LogWriter(path)
    writer.write("step", n=1, loss=None)
    assert json.loads(path.read_bytes()) == {"kind": "step", "n": 1, "loss": None}
    writer.close()


def test_a_log_is_appended_to_and_never_cut(tmp_path):
    path = tmp_path / "log.jsonl"
    for n in (1, 2):
        writer = LogWriter(path)
        writer.write("step", n=n)
        writer.close()
    assert [r["n"] for r in LogReader(path).poll()] == [1, 2]


def test_the_log_is_not_handed_down_to_programs_that_the_training_starts(tmp_path):
    path = tmp_path / "log.jsonl"
    writer = LogWriter(path)
    links = "for fd in /proc/self/fd/*; do readlink $fd; done"
    listed = subprocess.run(["sh", "-c", links], close_fds=False, capture_output=True, text=True)
    assert "/dev/null" in listed.stdout or "pipe:" in listed.stdout
    assert str(path) not in listed.stdout
    writer.close()
