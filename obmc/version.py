"""The version of the package, as its installation says."""

from __future__ import annotations

from importlib.metadata import version

# Looked up once: it reads files, and in several threads at a time it may fail to find them.
VERSION = version("obmc")
