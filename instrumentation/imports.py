"""Call back when a module is imported, without importing it ourselves.

A plugin is loaded early and in every process; which of the engine's modules a process
will use is not known then. So a hook waits for its module.
"""

import importlib.util
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from otel_attrib.instrumentation.shim import guarded

__all__ = ["when_imported"]

Found = Callable[[ModuleType], None]


class _Watch(MetaPathFinder):
    """Finder that finds nothing itself: it asks the others and adds a step after the module's execution."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Found]] = defaultdict(list)
        self.asking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the other finders' spec, its loader told to call back, for a module that is waited for."""
        if fullname not in self.waiting or fullname in self.asking:
            return None
        self.asking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking.discard(fullname)
        if spec is not None and spec.loader is not None:
            self._call_back_after(spec, fullname)
        return spec

    def _call_back_after(self, spec: ModuleSpec, fullname: str) -> None:
        loader = spec.loader
        execute = loader.exec_module  # type: ignore[union-attr] # checked by the caller

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for found in self.waiting.pop(fullname, []):
                found(module)

        # On the instance: whatever else the loader offers (resources, source) stays as it is.
        loader.exec_module = exec_module  # type: ignore[union-attr,method-assign]


_WATCH = _Watch()


def when_imported(name: str, found: Found) -> None:
    """Call `found(module)` now if the module is loaded, else right after its first import."""
    safe = guarded(f"import of {name}", found)
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        safe(module)
        return
    if _WATCH not in sys.meta_path:
        sys.meta_path.insert(0, _WATCH)
    _WATCH.waiting[name].append(safe)
