"""Run at the start of every Python process that has this folder on its path: nothing of it may leave the machine.

Whatever looks up a name or reaches for an address elsewhere is written to the file that OBMC_OUTGOING names, and is
refused.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Any

_AWAY = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
_LOOKED_UP = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0, "socket.getnameinfo": 0}


def _is_here(host: Any) -> bool:
    """Whether an address is of this machine alone; a name is, if it needs no looking up."""
    host = host[0] if isinstance(host, tuple) else host
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    # No host, an empty one, and paths of sockets in the file system.
    if host is None or host in ("", "localhost") or not isinstance(host, str) or host.startswith(("/", "\0")):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    place = _AWAY.get(event, _LOOKED_UP.get(event))
    if place is None or _is_here(arguments[place]):
        return
    with open(os.environ["OBMC_OUTGOING"], "a", encoding="utf-8") as record:
        record.write(f"{event} {arguments[place]!r} by {' '.join(sys.argv[:3])}\n")
    raise PermissionError(f"{event}: nothing may leave this machine in a test.")


sys.addaudithook(_watch)
