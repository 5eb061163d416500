import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foxbench.bars.scan import scan


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 1000])
@pytest.mark.parametrize("decay", [0.0, 0.5, 0.977, 0.99975])
def test_the_scan_is_the_recursion(n, decay):
    x = np.random.default_rng(n).standard_normal(n)
    slow, y = [], 3.0
    for value in x:
        y = decay * y + value
        slow.append(y)
    np.testing.assert_allclose(scan(x, decay, 3.0), slow, rtol=1e-11, atol=1e-12)


@given(cut=st.integers(1, 700), decay=st.floats(0, 0.9999))
def test_a_row_has_the_same_bits_however_many_rows_follow(cut, decay):
    x = np.random.default_rng(1).standard_normal(700)
    assert scan(x, decay, 1.0)[:cut].tobytes() == scan(x[:cut], decay, 1.0).tobytes()


def test_the_input_is_left_alone():
    x = np.ones(300)
    scan(x, 0.5, 0.0)
    assert (x == 1.0).all()
