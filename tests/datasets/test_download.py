"""Fetching: from a server on this machine, with every way in which a download or an archive can be wrong."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import ssl
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import obmc
from obmc.datasets import download, fetch, is_available
from obmc.datasets.registry import DATA_SETS, DataFile, DataSet

RATINGS = b"1\t1\t5\n1\t2\t3\n" * 20_000
FILMS = "1|Les Misérables\n".encode("latin-1")
FILES = {"toy/u.data": RATINGS, "toy/u.item": FILMS, "toy/README": b"licence", "toy/other.txt": b"not in the table"}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


ARCHIVE = make_zip(FILES)


class Server:
    """A web server on the loopback address; ``answer`` is replaced by the test that wants another one."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda handler: send(handler, ARCHIVE)
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append(self.path)
                server.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}/toy.zip"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


def send(handler: BaseHTTPRequestHandler, content: bytes, *, stated: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content) if stated is None else stated))
    handler.end_headers()
    handler.wfile.write(content)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


@pytest.fixture
def toy(server: Server, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    row = DataSet(
        name="toy",
        title="Toy data",
        label="Toy",
        noun=("toy", "toys"),
        shape=(1, 1),
        summary="two ratings, often",
        page="https://example.org",
        address=server.address,
        archive_sha256=sha256(ARCHIVE),
        max_bytes=2_000_000,
        files=(DataFile("u.data", sha256(RATINGS)), DataFile("u.item", sha256(FILMS)), DataFile("README")),
        reader="toy:toy",
        licence="none",
        citation="none",
    )
    monkeypatch.setitem(DATA_SETS, "toy", row)
    monkeypatch.setenv("no_proxy", "*")
    return row


def change(monkeypatch: pytest.MonkeyPatch, row: DataSet, **changes: object) -> None:
    monkeypatch.setitem(DATA_SETS, row.name, replace(row, **changes))


def refusal(*arguments: object, **options: object) -> str:
    """The one sentence with which ``fetch`` refuses."""
    with pytest.raises(obmc.DataNotFoundError) as caught:
        fetch(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


EXPECTED = {"toy/u.data": RATINGS, "toy/u.item": FILMS, "toy/README": b"licence"}


def test_a_download_leaves_the_files_of_the_table_and_nothing_else(toy: DataSet, empty_data_home: Path) -> None:
    assert fetch("toy") == empty_data_home / "toy"
    assert contents(empty_data_home) == EXPECTED
    assert [path.name for path in empty_data_home.iterdir()] == ["toy"]
    assert is_available("toy")


def test_progress_counts_up_to_the_stated_size(toy: DataSet, empty_data_home: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    fetch("toy", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(ARCHIVE), len(ARCHIVE))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_progress_works_where_the_server_states_no_size(toy: DataSet, server: Server, empty_data_home: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(ARCHIVE)

    server.answer = answer
    seen: list[tuple[int, int | None]] = []
    fetch("toy", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(ARCHIVE), None)


def test_progress_can_stop_the_download(toy: DataSet, empty_data_home: Path) -> None:
    assert "stopped before its end" in refusal("toy", progress=lambda done, total: False)
    assert list(empty_data_home.iterdir()) == []


def test_an_error_in_progress_is_the_callers_and_leaves_nothing(toy: DataSet, empty_data_home: Path) -> None:
    with pytest.raises(ValueError, match="mine"):
        fetch("toy", progress=lambda done, total: (_ for _ in ()).throw(ValueError("mine")))
    assert list(empty_data_home.iterdir()) == []


def test_what_is_there_is_not_downloaded_again(toy: DataSet, server: Server, empty_data_home: Path) -> None:
    fetch("toy")
    fetch("toy")
    assert len(server.requests) == 1


def test_a_damaged_copy_is_mended_and_what_else_lies_there_stays(
    toy: DataSet, server: Server, empty_data_home: Path
) -> None:
    folder = empty_data_home / "toy"
    folder.mkdir()
    (folder / "u.data").write_bytes(RATINGS[:100])
    (folder / "notes.txt").write_bytes(b"mine")
    fetch("toy")
    assert contents(empty_data_home) == {**EXPECTED, "toy/notes.txt": b"mine"}


def test_a_wrong_archive_is_refused_by_its_checksum(toy: DataSet, server: Server, empty_data_home: Path) -> None:
    server.answer = lambda handler: send(handler, make_zip({**FILES, "toy/README": b"another licence"}))
    message = refusal("toy")
    assert "its checksum differs" in message
    assert f"python -m obmc fetch-data {toy.name} --from FILE" in message
    assert list(empty_data_home.iterdir()) == []


def test_without_a_checksum_of_the_archive_the_content_decides(
    toy: DataSet, server: Server, empty_data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, toy, archive_sha256=None)
    server.answer = lambda handler: send(handler, make_zip({**FILES, "toy/u.data": RATINGS + b"1\t3\t1\n"}))
    assert "u.data differs from the published file" in refusal("toy")
    server.answer = lambda handler: send(handler, make_zip({"toy/u.data": RATINGS}))
    assert "there is no readable file u.item" in refusal("toy")
    assert list(empty_data_home.iterdir()) == []
    server.answer = lambda handler: send(handler, make_zip({**FILES, "toy/other.txt": b"changed"}))
    fetch("toy")
    assert contents(empty_data_home) == EXPECTED


def test_a_download_that_breaks_off_is_noticed(toy: DataSet, server: Server, empty_data_home: Path) -> None:
    server.answer = lambda handler: send(handler, ARCHIVE[:400], stated=len(ARCHIVE))
    assert f"broke off after 400 of {len(ARCHIVE):,} bytes" in refusal("toy")
    assert list(empty_data_home.iterdir()) == []


def test_a_truncated_archive_is_refused(toy: DataSet, server: Server, empty_data_home: Path, tmp_path: Path) -> None:
    (tmp_path / "half.zip").write_bytes(ARCHIVE[: len(ARCHIVE) // 2])
    assert "half.zip is not a zip archive that can be read" in refusal("toy", source=tmp_path / "half.zip")
    assert list(empty_data_home.iterdir()) == []


def test_a_server_that_says_no_or_is_not_there_is_named(
    toy: DataSet, server: Server, empty_data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer = lambda handler: handler.send_error(503, "Busy")
    assert "could not be downloaded from 127.0.0.1 (503 Busy)" in refusal("toy")
    server.answer = lambda handler: handler.wfile.write(b"this is not HTTP\r\n\r\n")
    assert "could not be downloaded from 127.0.0.1" in refusal("toy")
    server.http.shutdown()
    server.http.server_close()
    assert "check the internet connection" in refusal("toy")
    change(monkeypatch, toy, address="https://data.invalid/toy.zip")
    assert "could not be downloaded from data.invalid" in refusal("toy")
    assert list(empty_data_home.iterdir()) == []


def test_a_server_that_falls_silent_is_given_up(
    toy: DataSet, server: Server, empty_data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.2)
    finished = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        send(handler, ARCHIVE[:400], stated=len(ARCHIVE))
        handler.wfile.flush()
        finished.wait(10)

    server.answer = answer
    message = refusal("toy")
    finished.set()
    assert "timed out" in message


def test_a_download_without_end_is_cut_off(
    toy: DataSet, server: Server, empty_data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, toy, max_bytes=200_000)
    server.answer = lambda handler: send(handler, bytes(400_000))
    assert "more than the 200,000 bytes" in refusal("toy")
    assert list(empty_data_home.iterdir()) == []


@pytest.mark.parametrize(
    "address",
    [
        "http://files.example.org/toy.zip",
        "http://127.0.0.1.example.org/toy.zip",
        "http://10.0.0.1/toy.zip",
        "ftp://127.0.0.1/toy.zip",
        "file:///etc/passwd",
        "https:///toy.zip",
        "http://[::1/toy.zip",
    ],
)
def test_without_tls_nothing_is_downloaded(
    toy: DataSet, empty_data_home: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    change(monkeypatch, toy, address=address)
    with pytest.raises(ValueError, match="address must start with https://"):
        fetch("toy")
    assert list(empty_data_home.iterdir()) == []


@pytest.mark.parametrize("location", ["http://files.example.org/toy.zip", "ftp://127.0.0.1/toy.zip"])
def test_a_redirection_to_an_unsafe_address_is_not_followed(
    toy: DataSet, server: Server, empty_data_home: Path, location: str
) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", location)
        handler.end_headers()

    server.answer = answer
    assert "it sends on to an address without TLS" in refusal("toy")


def test_a_safe_redirection_is_followed(toy: DataSet, server: Server, empty_data_home: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/toy.zip":
            handler.send_response(302)
            handler.send_header("Location", "/moved.zip")
            handler.end_headers()
        else:
            send(handler, ARCHIVE)

    server.answer = answer
    fetch("toy")
    assert server.requests == ["/toy.zip", "/moved.zip"]
    assert is_available("toy")


def test_tls_with_a_known_certificate_works_and_with_one_of_nobody_known_is_refused(
    toy: DataSet, server: Server, empty_data_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost "
        "-addext subjectAltName=DNS:localhost",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("openssl is not on this machine, so no certificate can be made")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    change(monkeypatch, toy, address=f"https://localhost:{server.http.server_port}/toy.zip")
    assert "self-signed certificate" in refusal("toy")
    assert server.requests == []
    monkeypatch.setattr(download.certifi, "where", lambda: str(tmp_path / "cert.pem"))
    fetch("toy")
    assert is_available("toy")


@pytest.mark.parametrize("kind", ["zip", "flat zip", "file object", "folder", "parent folder"])
def test_a_copy_that_is_already_here_is_handed_over(
    toy: DataSet, server: Server, empty_data_home: Path, tmp_path: Path, kind: str
) -> None:
    archive = ARCHIVE if kind != "flat zip" else make_zip({Path(name).name: text for name, text in FILES.items()})
    (tmp_path / "copy.zip").write_bytes(archive)
    with zipfile.ZipFile(tmp_path / "copy.zip") as opened:
        opened.extractall(tmp_path / "unpacked")
    sources = {
        "file object": io.BytesIO(archive),
        "folder": tmp_path / "unpacked/toy",
        "parent folder": tmp_path / "unpacked",
    }
    fetch("toy", source=sources.get(kind, tmp_path / "copy.zip"))
    assert contents(empty_data_home) == EXPECTED
    assert server.requests == []


def test_a_source_that_is_not_there_or_something_else_is_named(
    toy: DataSet, empty_data_home: Path, tmp_path: Path
) -> None:
    assert "there is no" in refusal("toy", source=tmp_path / "missing.zip")
    (tmp_path / "empty").mkdir()
    assert "there is no readable file u.data" in refusal("toy", source=tmp_path / "empty")
    (tmp_path / "u.data").write_bytes(RATINGS)
    assert "not a zip archive that can be read" in refusal("toy", source=tmp_path / "u.data")
    assert "not a zip archive that can be read" in refusal("toy", source=io.BytesIO(b"hello"))
    assert list(empty_data_home.iterdir()) == []


@pytest.mark.parametrize("path", ["../u.data", "toy/../../u.data", "/tmp/u.data", "..\\..\\u.data", "\\u.data"])
def test_a_path_that_leads_out_of_the_folder_is_refused(
    toy: DataSet, empty_data_home: Path, tmp_path: Path, path: str
) -> None:
    archive = io.BytesIO(make_zip({path: b"evil", "toy/u.data": RATINGS, "toy/u.item": FILMS}))
    before = contents(tmp_path)
    assert "leads outside its folder" in refusal("toy", source=archive)
    assert contents(tmp_path) == before


def test_a_link_in_an_archive_is_not_followed(toy: DataSet, empty_data_home: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(RATINGS)
    link = zipfile.ZipInfo("toy/u.data")
    link.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(link, str(secret))
        archive.writestr("toy/u.item", FILMS)
    assert "u.data differs from the published file" in refusal("toy", source=out)


def test_an_archive_that_unpacks_without_end_is_cut_off(toy: DataSet, empty_data_home: Path) -> None:
    bomb = make_zip({"toy/u.data": bytes(50_000_000), "toy/u.item": FILMS})
    assert len(bomb) < 100_000
    assert "unpacks to more than the 2,000,000 bytes" in refusal("toy", source=io.BytesIO(bomb))
    assert list(empty_data_home.iterdir()) == []


def test_an_encrypted_archive_is_refused(toy: DataSet, empty_data_home: Path) -> None:
    plain = bytearray(make_zip({"toy/u.data": RATINGS}))
    plain[6] |= 1  # the flag "encrypted" in the member's own header ...
    plain[plain.index(b"PK\x01\x02") + 8] |= 1  # ... and in the directory's
    assert "encrypted" in refusal("toy", source=io.BytesIO(bytes(plain)))


def test_a_data_home_that_cannot_be_written_is_named(
    toy: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    message = refusal("toy", data_home=tmp_path / "file")
    assert "choose another folder with OBMC_DATA_HOME" in message

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "_put_in_place", full)
    assert "No space left on device" in refusal("toy", data_home=tmp_path / "home")
    assert list((tmp_path / "home").iterdir()) == []


def _start(row: DataSet, home: Path, *, pause: float = 0.0) -> subprocess.Popen:
    """A process of its own that fetches ``row``; it pauses after each piece of the download."""
    script = f"""
        import time
        from obmc.datasets import fetch
        from obmc.datasets.registry import DATA_SETS, DataFile, DataSet
        DATA_SETS["toy"] = {row!r}
        print("ready", flush=True)
        fetch("toy", {str(home)!r}, progress=lambda done, total: time.sleep({pause}))
    """
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)


@pytest.fixture
def plain(toy: DataSet) -> DataSet:
    """The toy row with a text that another process can evaluate: its digest functions are left at their defaults."""
    files = tuple(_ReprFile(file.name, file.digest) for file in toy.files)
    return replace(toy, files=files)


class _ReprFile(DataFile):
    def __repr__(self) -> str:
        return f"DataFile({self.name!r}, {self.digest!r})"


def test_two_processes_at_once_leave_one_whole_copy(plain: DataSet, server: Server, empty_data_home: Path) -> None:
    both_asked = threading.Barrier(2, timeout=30)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        both_asked.wait()
        send(handler, ARCHIVE)

    server.answer = answer
    processes = [_start(plain, empty_data_home) for _ in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    for process in processes:
        process.stdout.close()
    assert len(server.requests) == 2
    assert contents(empty_data_home) == EXPECTED
    assert [path.name for path in empty_data_home.iterdir()] == ["toy"]


def test_a_fetch_killed_halfway_leaves_nothing_that_looks_like_data_and_the_next_one_works(
    plain: DataSet, server: Server, empty_data_home: Path
) -> None:
    half_sent, finished = threading.Event(), threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        send(handler, ARCHIVE[:500], stated=len(ARCHIVE))
        handler.wfile.flush()
        half_sent.set()
        finished.wait(30)

    server.answer = answer
    process = _start(plain, empty_data_home)
    assert half_sent.wait(60)
    deadline = time.monotonic() + 30
    while not list(empty_data_home.glob(".fetching-*/archive.zip")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    process.stdout.close()
    finished.set()
    assert not (empty_data_home / "toy").exists()
    assert not is_available("toy")
    left_over = list(empty_data_home.glob(".fetching-*"))
    assert len(left_over) == 1

    server.answer = lambda handler: send(handler, ARCHIVE)
    os.utime(left_over[0], (0, 0))  # as old as a leftover is when the next fetch sweeps it away
    fetch("toy")
    assert contents(empty_data_home) == EXPECTED
    assert [path.name for path in empty_data_home.iterdir()] == ["toy"]


def test_a_running_fetch_of_somebody_else_is_not_swept_away(toy: DataSet, empty_data_home: Path) -> None:
    other = empty_data_home / ".fetching-toy-abc"
    other.mkdir()
    fetch("toy")
    assert other.is_dir()


@pytest.mark.data
@pytest.mark.parametrize("name", ["ml-100k", "rc"])
def test_the_real_data_are_handed_over_as_folder_and_as_archive(name: str, tmp_path: Path) -> None:
    folder = download.find_data_home() / name
    fetch(name, tmp_path / "one", source=folder)
    assert is_available(name, tmp_path / "one")
    archive = make_zip({f"{name}/{path.name}": path.read_bytes() for path in folder.iterdir()})
    fetch(name, tmp_path / "two", source=io.BytesIO(archive))
    assert is_available(name, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
