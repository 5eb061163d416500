"""No C function without its proof: leak tests, fuzzers, registered tests, no fixed page size.

What these read is the source; the proofs themselves run under ``make ctest``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[3] / "csrc"
TESTS, FUZZ = CSRC / "tests", CSRC / "fuzz"
#: Headers of the library; test and fuzz headers are none of its interface.
HEADERS = sorted(p for p in CSRC.rglob("*.h") if TESTS not in p.parents and FUZZ not in p.parents)
SOURCES = sorted(p for p in CSRC.rglob("*.c") if TESTS not in p.parents and FUZZ not in p.parents)
#: Headers for other components; every function there needs a leak test of its own.
PUBLIC = {
    "foxsampler.h": Path("tests/unit/sampler/test_sampler_lowlevel.py"),
    "tree/tree.h": Path("csrc/tests/test_leaks.c"),
}
#: Headers whose functions are reached only through the public ones, or through a whole program.
PRIVATE = {"internal.h", "tree/internal_tree.h", "launcher/launcher.h"}
#: Fixed numbers that happen to be a page's size, and what they count.
NO_PAGES = {
    ("tree/discover.c", "MOST_THREADS"),
    ("launcher/main.c", "BUCKETS"),
}
MOST_INPUTS, MOST_INPUT_BYTES = 60, 4096


def code(path: Path) -> str:
    """A C file without its comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


def declared(path: Path) -> set[str]:
    """Names of the functions that a header declares."""
    return set(re.findall(r"\b(fox_\w+)\([^;{}]*\)\s*(?:__attribute__\(.*\))?;", code(path)))


def parsers() -> dict[str, str]:
    """Fuzzer -> the parser that it must call; a parser is named fox_WHAT_parse, or listed here."""
    found = {"number_after": "fox_number_after"}
    for header in HEADERS:
        for function in declared(header):
            if match := re.fullmatch(r"fox_(\w+)_parse", function):
                found[match[1]] = function
    return found


def test_every_header_is_known_to_be_public_or_private() -> None:
    assert {str(header.relative_to(CSRC)) for header in HEADERS} == set(PUBLIC) | PRIVATE


@pytest.mark.parametrize("header", sorted(PUBLIC))
def test_every_public_function_is_named_in_the_leak_tests(header: str) -> None:
    functions = declared(CSRC / header)
    leak_tests = (CSRC.parent / PUBLIC[header]).read_text()
    assert functions, f"no function was recognised in {header}"
    missing = {name for name in functions if f'"{name}"' not in leak_tests}
    assert not missing, f"add a leak test of each to {PUBLIC[header]}"


def test_the_leak_tests_of_trees_call_what_they_name() -> None:
    text = code(TESTS / "test_leaks.c")
    for function in declared(CSRC / "tree/tree.h"):
        assert re.search(rf"\b{function}\(", text), f"{function} is named and never called"


@pytest.mark.parametrize("name", sorted(parsers()))
def test_every_parser_has_a_fuzzer_with_a_corpus_in_ctest(name: str) -> None:
    function = parsers()[name]
    fuzzer = FUZZ / f"fuzz_{name}.c"
    assert fuzzer.is_file(), f"write {fuzzer.name}: it states what holds for {function}"
    body = code(fuzzer)
    assert re.search(rf"\b{function}\(", body)
    assert "HOLDS(" in body, "a fuzzer that states no property finds crashes only"
    assert re.search(
        rf"^\s*fox_fuzz\({name}\b", (FUZZ / "CMakeLists.txt").read_text(), re.MULTILINE
    )
    assert any((FUZZ / "corpus" / name).iterdir())


def test_no_fuzzer_is_left_over() -> None:
    assert {p.stem for p in FUZZ.glob("fuzz_*.c")} == {f"fuzz_{name}" for name in parsers()}
    corpora = {p.name for p in (FUZZ / "corpus").iterdir() if p.is_dir()}
    assert corpora == set(parsers())


@pytest.mark.parametrize("name", sorted(parsers()))
def test_a_corpus_is_small_and_tells_nothing_of_the_machine_it_came_from(name: str) -> None:
    inputs = list((FUZZ / "corpus" / name).iterdir())
    assert len(inputs) <= MOST_INPUTS
    for path in inputs:
        data = path.read_bytes()
        assert len(data) <= MOST_INPUT_BYTES, path.name
        assert not re.search(rb"/(home|root|tmp|work|Users)/", data), path.name


def test_every_c_test_is_registered() -> None:
    lists = (TESTS / "CMakeLists.txt").read_text()
    registered = re.findall(r"^\s*fox_test\((\w+)", lists, re.MULTILINE)
    assert sorted(registered) == sorted(path.stem for path in TESTS.glob("test_*.c"))


def test_no_page_size_is_assumed() -> None:
    fixed = re.compile(
        r"\b(4096|4095|0x1000|0xfff|PAGE_SIZE|PAGE_SHIFT|PAGE_MASK)\b|[<>]{2}\s*12\b"
    )
    for path in SOURCES + HEADERS:
        name = str(path.relative_to(CSRC))
        for line in code(path).splitlines():
            known = any(file == name and word in line for file, word in NO_PAGES)
            assert known or not fixed.search(line), f"{name}: {line.strip()}"


def test_no_processor_is_assumed() -> None:
    special = re.compile(
        r"__(x86_64|i386|amd64|aarch64)__|\b(__asm__|asm|__rdtsc|__cpuid)\b|intrin\.h"
    )
    for path in SOURCES + HEADERS:
        assert not special.search(code(path)), path.name


def test_what_a_tick_runs_neither_allocates_nor_prints() -> None:
    forbidden = re.compile(r"\b(malloc|calloc|realloc|free|fopen|printf|fprintf|opendir|getline)\(")
    for name in ("statm.c", "status.c", "io.c", "process.c", "clock.c", "clear_refs.c", "usage.c"):
        assert not forbidden.search(code(CSRC / name)), name
    for path in (CSRC / "tree").glob("*.c"):
        # What makes and frees a tree runs before and after the sampling.
        body = re.sub(r"^\w+ fox_tree_(new|free)\(.*?^}", "", code(path), flags=re.S | re.M)
        assert not forbidden.search(body), path.name
