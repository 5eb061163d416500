"""The asv publisher: runs inside ``asv publish``, before asv looks for regressions itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asv import util
from asv.console import log
from asv.publishing import OutputPublisher

from foxbench.errors import FoxbenchError
from foxbench.history.changes import judge
from foxbench.history.results import collect
from foxbench.site.document import build_document
from foxbench.site.navigation import add_link
from foxbench.site.page import write_page
from foxbench.site.weights import drop_byte_weights


class MemoryPage(OutputPublisher):  # type: ignore[misc]
    """Write the memory page, and keep memory out of asv's weighting."""

    name = "memory"
    button_label = "Memory"
    description = "Peak memory of each step over commits"
    # Below asv's own (1 to 3): the weights must be gone before asv reads its steps.
    order = 0

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by asv with its html_dir already filled."""
        html_dir = Path(conf.html_dir)
        drop_byte_weights(graphs, benchmarks)
        try:
            history = collect(conf, repo, benchmarks, only=revisions)
            verdicts = [judge(series) for series in history.series]
            document = build_document(history, verdicts, repo, conf.show_commit_url)
            write_page(html_dir, document)
        except FoxbenchError as err:
            # asv prints its own error type and exits 1; any other would be a traceback.
            raise util.UserError(f"foxbench.site: {err}") from err
        if not add_link(html_dir / "index.html"):
            log.warning("foxbench.site: asv's index.html has changed; open memory.html by hand")
