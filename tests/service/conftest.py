"""Servers for the tests of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from service_server import Server


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """A new server, started; ended with the test."""
    made: list[Server] = []

    def start(**environment: str) -> Server:
        made.append(Server(tmp_path / f"server-{len(made)}", **environment))
        made[-1].start()
        return made[-1]

    yield start
    for server in made:
        server.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of a module."""
    made = Server(tmp_path_factory.mktemp("service"))
    made.start()
    yield made
    made.close()
