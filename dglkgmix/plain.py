"""Values as JSON takes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def plain_values(value: Any) -> Any:
    """The value with containers, arrays and scalars of libraries turned into JSON's own types."""
    if isinstance(value, bool | str | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # arrays, tensors and their scalars
        return plain_values(value.tolist())
    raise TypeError(f"{type(value).__name__} has no place in JSON")
