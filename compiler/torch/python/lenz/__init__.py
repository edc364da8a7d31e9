"""PyTorch programs as Lenz graphs: see compiler/torch/EXPORT.md."""

from .dims import DynamicWarning
from .errors import ExportError
from .export import Exported, export, export_fx

__all__ = ["DynamicWarning", "ExportError", "Exported", "export", "export_fx"]
