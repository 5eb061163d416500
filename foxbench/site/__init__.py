"""The memory page beside asv's own: ``"plugins": [".foxbench.site"]`` in asv.conf.json.

The leading dot matters; without it asv passes over the plugin in silence.  ``asv publish`` then
also writes ``memory.html`` and ``memory.json`` (:mod:`foxbench.site.document`).  Imports neither
torch nor the compiled sampler, so a source checkout is enough.
"""

from __future__ import annotations

from foxbench.site.publisher import MemoryPage

__all__ = ["MemoryPage"]
