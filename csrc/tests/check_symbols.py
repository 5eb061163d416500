"""Every function that our C calls outside itself is let fail in some test, or cannot fail.

    check_symbols.py symbols.txt FOLDER_OF_TESTS NM LIBRARY...

Reads the undefined symbols of the libraries and compares them with symbols.txt, whose lines are
``FUNCTION faulted TEST...`` (the tests that fake its failure) or ``FUNCTION safe REASON``.  Ends
with 1, and says what to do, when a function is in neither list, when one is faulted that nothing
calls any more, or when a test named there fakes no such function.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

#: What compilers put in by themselves, and not our code.
COMPILERS = re.compile(
    r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|_+errno_location|mem(set|move)|bcmp"
    r"|__aarch64_.*|__u?(div|mod|divmod)di[34]"
)
#: Names under which a libc has the same function: checked, with 64-bit times, of a newer standard.
VARIANT = re.compile(r"^__(?:isoc\d\d_)?(\w+?)(?:_chk|64|_time64)?$")


def called(nm: str, libraries: list[str]) -> set[str]:
    """Undefined symbols that no other of the libraries defines."""
    out = subprocess.run([nm, *libraries], check=True, capture_output=True, text=True).stdout
    undefined, defined = set(), set()
    for line in out.splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0] in "Uw":
            undefined.add(fields[1].split("@")[0])
        elif len(fields) == 3:
            defined.add(fields[2])
    return {name for name in undefined - defined if not COMPILERS.fullmatch(name)}


def listed(path: Path) -> dict[str, tuple[str, str]]:
    """What symbols.txt says: function -> ("faulted" or "safe", tests or reason)."""
    table = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            function, kind, rest = line.split(maxsplit=2)
            if kind not in ("faulted", "safe") or function in table:
                sys.exit(f"{path}: not understood, or twice: {line}")
            table[function] = (kind, rest)
    return table


def complaints(functions: set[str], table: dict[str, tuple[str, str]], tests: Path) -> list[str]:
    """What is wrong, one sentence each."""
    wrong = []
    plain = {name if name in table else VARIANT.sub(r"\1", name) for name in functions}
    plain = {"stat" if name == "__xstat" else name for name in plain}  # glibc before 2.33
    for name in sorted(plain - set(table)):
        wrong.append(
            f"{name} is called and in no list: let it fail in a test (fox_test(... WRAP {name})), "
            f"or say in symbols.txt why it is safe"
        )
    faulted = {name for name, (kind, _) in table.items() if kind == "faulted"}
    for name in sorted(faulted - plain):
        wrong.append(f"{name} is listed in symbols.txt and nothing calls it: drop its line")
    for name, (kind, rest) in table.items():
        for test in rest.split() if kind == "faulted" else ():
            source = (tests / f"{test}.c").read_text()
            faked = f"__wrap_{name}(" in source or re.search(rf"FAKE\([^;{{]*?\b{name},", source)
            if not faked:
                wrong.append(f"{test}.c fakes no {name}, against symbols.txt")
    return wrong


def main() -> None:
    """Compares, prints and exits."""
    symbols, tests, nm, *libraries = sys.argv[1:]
    functions = called(nm, libraries)
    wrong = complaints(functions, listed(Path(symbols)), Path(tests))
    print(f"{len(functions)} functions called of libc and the kernel")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
