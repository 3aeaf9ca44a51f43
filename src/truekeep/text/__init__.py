"""Text as it is, as it might be read, and as it is compared."""

from truekeep.text.fold import folded
from truekeep.text.reading import views
from truekeep.text.view import View

__all__ = ["View", "folded", "views"]
