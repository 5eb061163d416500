"""The shape of budgets.toml: its keys, their types, and the JSON Schema of both."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

#: Bumped whenever a key changes its name or meaning.
SCHEMA_VERSION = 1

DEVICES = ("host", "cuda")
COVERS = ("whole", "growth", "step")

# In the exported schema only: foxbench.sizes says better than a pattern what is wrong.
_Size = Annotated[
    str,
    Meta(
        description="A number and a unit: 325 MB, 4096 MiB.",
        extra_json_schema={"pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([kKMGT]B|[KMGT]iB|B)\s*$"},
    ),
]
_Scalar = bool | int | float | str


class DeviceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[device.NAME]``: what the processes on one device may need together."""

    limit: _Size


class BudgetTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``[[budget]]``: what one workload may need on one device."""

    model: Annotated[
        str, Meta(min_length=1, description="A registered workload, or module:Class of your own.")
    ]
    limit: Annotated[_Size, Meta(description="More than this is over budget.")]
    device: Annotated[Literal["host", "cuda"], Meta(description="Where the memory is.")] = "host"
    covers: Annotated[
        Literal["whole", "growth", "step"],
        Meta(
            description="whole: the process's peak; growth: the peak from build on above the "
            "resident set when building began; step: the peak of a warm step above the resident "
            "set before it."
        ),
    ] = "whole"
    expected: Annotated[_Size | None, Meta(description="What it needed when last looked at.")] = (
        None
    )
    noise: Annotated[
        _Size | None, Meta(description="No difference to expected inside it is called a change.")
    ] = None
    owner: Annotated[str | None, Meta(description="Who to ask.")] = None
    reason: Annotated[str | None, Meta(description="Why this much.")] = None
    expires: Annotated[
        datetime.date | None, Meta(description="The last day on which the budget holds.")
    ] = None
    config: Annotated[
        dict[str, _Scalar | list[_Scalar]],
        Meta(description="Settings that differ from the workload's defaults."),
    ] = {}


class BudgetsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    schema_version: Literal[1]
    device: Annotated[
        dict[Literal["host", "cuda"], DeviceTable], Meta(description="Limits of whole devices.")
    ] = {}
    budget: Annotated[list[BudgetTable], Meta(description="Limits of single workloads.")] = []


def json_schema() -> dict[str, Any]:
    """The JSON Schema of budgets.toml (draft 2020-12)."""
    made = msgspec.json.schema(BudgetsFile)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "foxbench budgets.toml",
        **made,
    }
