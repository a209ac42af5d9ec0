"""What an estimator's parameters are when nobody sets them."""

from __future__ import annotations

import inspect
from typing import Any


def parameter_defaults(estimator: type) -> dict[str, Any]:
    """Defaults of the constructor's parameters, by name."""
    parameters = inspect.signature(estimator).parameters
    return {name: parameter.default for name, parameter in parameters.items()}
