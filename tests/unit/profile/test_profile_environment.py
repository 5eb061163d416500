from foxbench.profile.environment import child_environment
from foxbench.sampler.allocator import QUIET_ENV

SHELL = {
    "HOME": "/home/me",
    "LD_LIBRARY_PATH": "/opt/lib",
    "MALLOC_PERTURB_": "7",
    "MALLOC_ARENA_MAX": "9",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
    "PYTHONTRACEMALLOC": "5",
    "OMP_NUM_THREADS": "8",
    "PYTHONPATH": "/mine",
}


def test_what_changes_the_figures_is_dropped_and_the_rest_kept():
    env = child_environment(False, 1, SHELL)
    assert not [k for k in env if k.startswith("MALLOC_")]
    assert "GLIBC_TUNABLES" not in env
    assert "PYTHONTRACEMALLOC" not in env
    assert (env["HOME"], env["LD_LIBRARY_PATH"]) == ("/home/me", "/opt/lib")
    assert "/mine" in env["PYTHONPATH"].split(":")


def test_the_quiet_allocator_is_on_from_the_childs_first_allocation():
    env = child_environment(True, 1, SHELL)
    assert {k: v for k, v in env.items() if k.startswith("MALLOC_")} == QUIET_ENV


def test_arrow_allocates_with_malloc_so_that_the_quiet_settings_hold_for_it_too():
    env = child_environment(True, 1, {**SHELL, "ARROW_DEFAULT_MEMORY_POOL": "mimalloc"})
    assert env["ARROW_DEFAULT_MEMORY_POOL"] == "system"


def test_every_pool_of_threads_gets_the_same_number():
    env = child_environment(True, 3, SHELL)
    assert {v for k, v in env.items() if k.endswith("_NUM_THREADS")} == {"3"}


def test_the_environment_of_this_process_is_left_alone():
    before = dict(SHELL)
    child_environment(True, 1, SHELL)
    assert before == SHELL
