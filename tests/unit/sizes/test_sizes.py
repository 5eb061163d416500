"""Sizes with a unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.errors import UsageError
from foxbench.sizes import UNITS, format_bytes, parse_bytes


@given(number=st.integers(1, 10**6), unit=st.sampled_from(sorted(UNITS)), space=st.booleans())
def test_a_whole_number_of_a_unit_is_that_many_bytes(number, unit, space):
    assert parse_bytes(f"{number}{' ' if space else ''}{unit}") == number * UNITS[unit]


def test_decimals_are_exact_and_parts_of_a_byte_are_dropped():
    assert parse_bytes("0.1 GB") == 100_000_000
    assert parse_bytes("1.5 KiB") == 1536
    assert parse_bytes("1.0009 KB") == 1000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("325", "no unit"),
        ("3.5", "no unit"),
        ("-1 MB", "negative"),
        ("0 MB", "nothing"),
        ("12 mb", "unknown unit 'mb'"),
        ("12 Mb", "unknown unit 'Mb'"),
        ("many MB", "not a size"),
        ("", "not a size"),
        ("1 MB 2", "not a size"),
        ("1e3 MB", "not a size"),
    ],
)
def test_what_is_no_size_is_refused_with_the_reason_and_where(text, says):
    with pytest.raises(UsageError, match="dqn: limit") as caught:
        parse_bytes(text, "dqn: limit")
    assert says in str(caught.value)
    assert caught.value.remedy


def test_bytes_are_printed_in_the_largest_unit_they_reach():
    assert format_bytes(512) == "512 B"
    assert format_bytes(1536) == "1.50 KiB"
    assert format_bytes(-(4 << 30)) == "-4.00 GiB"
