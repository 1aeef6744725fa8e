"""Bringing a real data set to this machine: from its publisher, or from a copy that is already here.

Nothing is downloaded unless somebody asks for it. What arrives is checked against the table in ``registry`` before it
goes to its place, in one step: whoever looks into the data home sees a whole data set or none, also when a fetch is
killed halfway or two run at once.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import os
import shutil
import ssl
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import certifi

from obmc.datasets.registry import FETCH_COMMAND, DataSet, find_data_home, find_data_set
from obmc.errors import DataNotFoundError

Progress = Callable[[int, int | None], object]

CHUNK = 1 << 16
TIMEOUT_SECONDS = 30.0
STAGING_PREFIX = ".fetching-"
STALE_SECONDS = 86_400.0


def fetch(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    source: str | os.PathLike[str] | IO[bytes] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Bring a data set into the data home, unless a right copy is there, and return its folder.

    Parameters
    ----------
    name
        A name of the table ``registry.DATA_SETS``, such as ``"ml-100k"`` or ``"rc"``.
    data_home
        Where to put it; by default ``OBMC_DATA_HOME``, else the platform's user data folder.
    source
        A zip archive (path or binary file object) or a folder that is already on this machine, to take the files from
        instead of downloading them.
    progress
        Called as ``progress(done, total)`` in bytes while downloading, ``total`` None if the server does not say;
        returning False stops the download.

    Raises
    ------
    ValueError
        For an unknown name.
    DataNotFoundError
        If the data could not be had (no internet, no such source) or are not what was published; the data home is then
        as it was.
    """
    row = find_data_set(name)
    home = find_data_home(data_home)
    given = Path(source).expanduser() if isinstance(source, str | os.PathLike) else source
    if isinstance(given, Path) and not given.exists():
        raise DataNotFoundError(f"source must be a zip archive or a folder with {row.title}, but there is no {given}.")
    target = home / row.name
    if row.fault(target) is None:
        return target

    staging = _make_staging(home, row)
    try:
        files = staging / row.name
        files.mkdir()
        origin = row.address if given is None else str(getattr(given, "name", "the given file"))
        if given is None:
            archive = staging / "archive.zip"
            _download(row, archive, progress)
            _unpack(row, archive, origin, files)
        elif isinstance(given, Path) and given.is_dir():
            _copy(row, given, files)
        else:
            _unpack(row, given, origin, files)
        fault = row.fault(files)
        if fault is not None:
            raise DataNotFoundError(f"{origin} is not {row.title} as published: {fault}; {_way_out(row)}.")
        _put_in_place(files, target, row)
    except DataNotFoundError:
        raise
    except OSError as error:
        raise DataNotFoundError(
            f"{row.title} could not be stored in {target} ({_reason(error)}): make room or choose another folder with "
            "OBMC_DATA_HOME or data_home."
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _way_out(row: DataSet) -> str:
    return f"download {row.address} in a browser and hand the file over with `{FETCH_COMMAND} {row.name} --from FILE`"


def _reason(error: BaseException) -> str:
    if isinstance(error, HTTPError):
        return f"{error.code} {error.reason}"
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    where = f", {error.filename}" if isinstance(error, OSError) and error.filename else ""
    return " ".join(f"{reason}{where}".split()) or type(error).__name__


# Staging: a folder beside the target, so that the last step is a rename within one file system.


def _make_staging(home: Path, row: DataSet) -> Path:
    try:
        home.mkdir(parents=True, exist_ok=True)
        for old in home.glob(f"{STAGING_PREFIX}*"):
            # What a killed fetch left behind. One that runs is younger, since a download is never that slow.
            with suppress(OSError):
                if time.time() - old.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(old)
        return Path(tempfile.mkdtemp(prefix=f"{STAGING_PREFIX}{row.name}-", dir=home))
    except OSError as error:
        raise DataNotFoundError(
            f"{row.title} cannot be stored in {home} ({_reason(error)}): choose another folder with OBMC_DATA_HOME or "
            "data_home."
        ) from error


def _put_in_place(files: Path, target: Path, row: DataSet) -> None:
    """Move a checked folder to its place: by one rename, or file by file into a folder that is already there.

    The second serves a folder with a missing or damaged file, keeps whatever else lies in it, and is what the later of
    two fetches at once does; each file is replaced in one step by the same content.
    """
    try:
        files.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        for file in row.files:
            if (files / file.name).is_file():
                (files / file.name).replace(target / file.name)


# Download


def _is_safe(url: str) -> bool:
    """HTTPS only: a checksum does not keep somebody on the way from seeing or delaying what is fetched.

    A server on this machine needs no TLS.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    host = parts.hostname or ""
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host)))


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _CheckedRedirects(HTTPRedirectHandler):
    """Follows a redirection only where the new address is as safe as the first had to be."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not _is_safe(newurl):
            raise URLError("it sends on to an address without TLS")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(row: DataSet, path: Path, progress: Progress | None) -> None:
    if not _is_safe(row.address):
        raise ValueError(f"address must start with https:// (or be a server on this machine), got {row.address!r}.")
    # The system's certificates and, since some Python builds come without any, certifi's.
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    opener = build_opener(HTTPSHandler(context=context), _CheckedRedirects())
    request = Request(row.address, headers={"User-Agent": "obmc"})
    host = urlsplit(row.address).hostname
    digest = hashlib.sha256()
    done = 0
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            with path.open("wb") as out:
                while chunk := response.read(CHUNK):
                    done += len(chunk)
                    if done > row.max_bytes:
                        raise DataNotFoundError(
                            f"{host} sends more than the {row.max_bytes:,} bytes that {row.title} can have, so this is "
                            f"not it; {_way_out(row)}."
                        )
                    digest.update(chunk)
                    out.write(chunk)
                    if progress is not None and progress(done, total) is False:
                        raise DataNotFoundError(f"The download of {row.title} was stopped before its end.")
    except (URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
        raise DataNotFoundError(
            f"{row.title} could not be downloaded from {host} ({_reason(error)}): check the internet connection, or "
            f"{_way_out(row)}."
        ) from error
    if total is not None and done < total:
        raise DataNotFoundError(
            f"The download of {row.title} from {host} broke off after {done:,} of {total:,} bytes: try again, or "
            f"{_way_out(row)}."
        )
    if row.archive_sha256 is not None and digest.hexdigest() != row.archive_sha256:
        raise DataNotFoundError(
            f"What {host} sent is not {row.title} as published (its checksum differs): try again, or {_way_out(row)}."
        )


# Unpacking and copying: only the files of the table, under the table's names; no path of an archive is used as one.


def _unpack(row: DataSet, archive: Path | IO[bytes], origin: str, files: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as opened:
            members: dict[str, zipfile.ZipInfo] = {}
            for info in opened.infolist():
                inside = PurePosixPath(info.filename.replace("\\", "/"))
                if inside.is_absolute() or ".." in inside.parts:
                    raise DataNotFoundError(
                        f"{origin} holds the path {info.filename!r}, which leads outside its folder, so it is "
                        f"not unpacked; {_way_out(row)}."
                    )
                members.setdefault(inside.name, info)
            room = row.max_bytes
            for file in row.files:
                if file.name in members:
                    with opened.open(members[file.name]) as member, (files / file.name).open("wb") as out:
                        # Counted while reading: the sizes that an archive states need not be true.
                        while chunk := member.read(CHUNK):
                            room -= len(chunk)
                            if room < 0:
                                raise DataNotFoundError(
                                    f"{origin} unpacks to more than the {row.max_bytes:,} bytes that {row.title} "
                                    f"can have, so this is not it; {_way_out(row)}."
                                )
                            out.write(chunk)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        # RuntimeError: an encrypted member; NotImplementedError: an unknown compression.
        raise DataNotFoundError(
            f"{origin} is not a zip archive that can be read ({_reason(error)}); {_way_out(row)}."
        ) from error


def _copy(row: DataSet, source: Path, files: Path) -> None:
    folder = source / row.name if (source / row.name).is_dir() else source
    for file in row.files:
        if (folder / file.name).is_file():
            shutil.copyfile(folder / file.name, files / file.name)
