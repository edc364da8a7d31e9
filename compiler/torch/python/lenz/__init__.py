"""PyTorch programs as Lenz graphs: see compiler/torch/EXPORT.md."""

from .errors import ExportError
from .export import Exported, export, export_fx

__all__ = ["ExportError", "Exported", "export", "export_fx"]
