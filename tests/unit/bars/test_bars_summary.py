import numpy as np
from bar_making import MINUTE, make_bars

from foxbench.bars.csv_import import import_csv
from foxbench.bars.summary import summarise
from foxbench.bars.synthetic import synthetic


def test_gaps_are_counted_inside_sessions_only():
    bars = synthetic("ES", days=2)
    kept = np.delete(np.arange(len(bars)), [5, 6, 100])
    holed = make_bars(
        len(kept),
        **{
            name: getattr(bars, name)[kept]
            for name in ("ts_event", "open", "high", "low", "close", "volume")
        },
    )
    found = summarise(holed)
    assert (found.sessions, found.bars) == (2, 2 * 1380 - 3)
    assert (found.gaps, found.missing_minutes) == (2, 3)
    assert found.off_session == 0
    assert not found.stamped_at_close


def test_bars_in_the_daily_break_are_counted():
    start = synthetic("ES", days=1).ts_event[-1]
    bars = make_bars(4, ts_event=start + MINUTE * np.arange(4, dtype=np.int64))
    assert summarise(bars).off_session == 3


def test_only_symbols_that_occur_are_listed_in_the_order_of_their_first_bar():
    bars = make_bars(
        3, symbol_codes=np.array([2, 2, 0], np.int32), symbols=("ESU5", "ESZ5", "ESM5")
    )
    assert summarise(bars).symbols == ("ESM5", "ESU5")


def test_the_real_files_times_are_seen_to_be_closes(real_6e):
    as_written = summarise(import_csv(real_6e, "6E"))
    assert as_written.bars == 29_996
    assert as_written.off_session == 22
    assert as_written.stamped_at_close
    moved = summarise(import_csv(real_6e, "6E", stamp="close"))
    assert moved.off_session == 0
    assert not moved.stamped_at_close
