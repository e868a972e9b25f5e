"""Why was the first token late, and which layer did it?"""

__all__ = ["__version__"]

__version__ = "0.1.0"
