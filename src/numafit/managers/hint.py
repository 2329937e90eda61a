"""What a hint provider answers: per resource a list of NUMA masks that would do, or a description of that list."""

from collections.abc import Mapping

from numafit.managers.family import Family
from numafit.managers.masks import Hint, masks_in_order

__all__ = ["Hint", "HintList", "ProviderHints", "masks_in_order"]

HintList = tuple[Hint, ...] | Family | None
"""Hints for one resource. None: no preference; the empty tuple: it cannot be satisfied."""

ProviderHints = Mapping[str, HintList] | None
"""Resource name -> hints. None and the empty mapping alike: no preference for anything."""
