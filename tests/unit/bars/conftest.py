import pytest
from bar_making import make_bars

from foxbench.bars.synthetic import synthetic


@pytest.fixture
def five():
    return make_bars()


@pytest.fixture(scope="session")
def markets():
    """The four roots' default markets, 180 days."""
    return {root: synthetic(root) for root in ("ES", "NQ", "6E", "ZN")}
