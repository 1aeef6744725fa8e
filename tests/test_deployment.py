"""What the deployment page promises: its settings and limits are the code's, and the container's steps work."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from obmc.datasets.reader import containers
from obmc.experiments import jobs

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


# Settings and limits --------------------------------------------------------------------------------------------------


def test_every_variable_of_the_code_is_in_the_table_and_the_other_way_round() -> None:
    places = [*(ROOT / "obmc").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), *(ROOT / ".ci").iterdir()]
    places += [ROOT / name for name in ("app.py", "Makefile", "Dockerfile", "compose.yaml", "tests/conftest.py")]
    code = {name for path in places for name in re.findall(r"\bOBMC_[A-Z_]+\b", path.read_text(encoding="utf-8"))}
    table = re.findall(r"^\| `(OBMC_[A-Z_]+)` \|", PAGE, re.MULTILINE)
    assert len(table) == len(set(table))
    assert set(table) == code


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    defaults = {name: found.default for name, found in inspect.signature(jobs.JobRunner).parameters.items()}
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    expected = {
        "sweeps at a time": f"{defaults['max_running']}, which share the workers",
        "sweeps waiting": f"{defaults['max_queued']}",
        "sweeps of one visitor, running and waiting": f"{defaults['max_per_session']}",
        "runs of one sweep": f"{jobs.MAX_JOB_RUNS:,}",
        "single runs waiting, of all and of one visitor": (
            f"{defaults['max_calls']} and {defaults['max_calls_per_session']}"
        ),
        "rows of ended sweeps in memory": f"{jobs.MAX_KEPT_ROWS:,} (70 MB)",
        "results of single runs in memory": f"{jobs.MAX_KEPT_CALLS} or {jobs.MAX_KEPT_BYTES // 10**6} MB",
    }
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", PAGE, re.MULTILINE))
    assert {name: rows.get(name) for name in expected} == expected
    assert rows["`server.maxUploadSize`"] == f"{settings['server']['maxUploadSize']} MB"
    assert rows["`server.disconnectedSessionTTL`"] == f"{settings['server']['disconnectedSessionTTL']} s"
    assert settings["server"]["disconnectedSessionTTL"] == defaults["away_seconds"]
    assert settings["server"]["fileWatcherType"] == "none"
    assert settings["client"]["showErrorDetails"] == "type"
    assert settings["browser"]["gatherUsageStats"] is False
    # On by default, and nothing turns them off.
    assert not {"enableXsrfProtection", "enableCORS", "enableAgentApi"} & settings["server"].keys()


def test_the_tests_that_the_security_page_names_exist() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|pages)/[\w/]+\.py)`", text))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []


def test_the_security_page_states_the_bounds_of_the_reader() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    small, most = containers.SMALL // 2**20, containers.DEFAULT_MAX_BYTES // 2**30
    said = f"more than {small} MB unpacked only up to {containers.USUAL_PACKING} times its own size"
    assert f"{said}, and never more than {most} GB" in text


def test_the_line_for_docker_takes_the_same_rights_away_as_compose() -> None:
    line = re.search(r"^    docker run (.*\\\n.*)$", PAGE, re.MULTILINE)
    assert line is not None
    shared = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["x-shared"]
    assert (shared["read_only"], shared["tmpfs"], shared["cap_drop"]) == (True, ["/tmp"], ["ALL"])
    assert shared["security_opt"] == ["no-new-privileges:true"]
    for option in ("--read-only", "--tmpfs /tmp", "--cap-drop ALL", "--security-opt no-new-privileges", "--memory 3g"):
        assert option in line.group(1)


def test_every_block_of_the_example_for_caddy_ends_its_line() -> None:
    block = PAGE.partition("With Caddy")[2].partition("Under a path")[0]
    lines = [line.strip() for line in block.splitlines() if line.startswith("    ")]
    assert lines == ["example.org {", "reverse_proxy 127.0.0.1:8501", "}"]


# What the code must not do with what comes from outside ---------------------------------------------------------------


def calls(path: Path) -> set[str]:
    """The dotted names of all that a file calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def test_nothing_unpickles_or_evaluates_but_the_pipes_between_server_and_workers() -> None:
    risky = re.compile(
        r"^(eval|exec|compile|(pickle|marshal|shelve|dill|joblib|cloudpickle)\.(load|loads|open|Unpickler)"
        r"|.*\.?read_pickle|np\.load|numpy\.load|yaml\.load|os\.system|os\.popen)$"
    )
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in [*(ROOT / "obmc").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]
        for name in calls(path)
        if risky.match(name)
    }
    assert found == {("obmc/experiments/executors.py", "pickle.loads"), ("obmc/experiments/worker.py", "pickle.loads")}


def test_pages_show_no_html_but_the_programs_own_drawings() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "pages").rglob("*.py")}
    assert not [
        name for name, text in texts.items() if "unsafe_allow_html" in text or "unsafe_allow_javascript" in text
    ]
    assert {name for name, text in texts.items() if "st.html(" in text} <= {"learn_drawing.py", "style.py"}


def test_an_audit_without_internet_says_that_nothing_was_checked() -> None:
    nowhere = dict.fromkeys(("https_proxy", "HTTPS_PROXY", "all_proxy"), "http://127.0.0.1:9") | {"no_proxy": ""}
    done = subprocess.run(
        ["bash", ".ci/audit-deps", sys.executable],
        cwd=ROOT,
        env=os.environ | nowhere,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("NOT CHECKED: pypi.org")


# The container --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """The Dockerfile's instructions, in order."""

    steps: list[tuple[str, str]]

    def of(self, kind: str) -> list[str]:
        return [text for name, text in self.steps if name == kind]

    @property
    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for text in self.of("ENV") for pair in text.split())

    @property
    def command(self) -> list[str]:
        (text,) = self.of("CMD")
        return json.loads(text)

    @property
    def check(self) -> str:
        (text,) = self.of("HEALTHCHECK")
        return text.partition("CMD ")[2]


@pytest.fixture
def recipe() -> Recipe:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return Recipe([(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines])


def copy(recipe: Recipe, app: Path) -> None:
    """What the COPY instructions bring into the image, of what is not ignored."""
    for text in recipe.of("COPY"):
        *sources, target = text.split()
        for source in sources:
            place = app / target / source if target.endswith("/") else app / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)


def environment(recipe: Recipe, place: Path) -> dict[str, str]:
    """The image's variables, with a folder in place of the volume."""
    inherited = {name: os.environ[name] for name in ("PATH", "PIP_INDEX_URL", "LANG") if name in os.environ}
    changed = {name: text.replace("/results", str(place / "results")) for name, text in recipe.environment.items()}
    return {**inherited, **changed, "HOME": str(place / "home")}


def serve(recipe: Recipe, place: Path, python: str, variables: dict[str, str]) -> None:
    """Run the image's command and its health check, and see that nothing but the volume is written."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    for name in ("results", "home"):
        (place / name).mkdir(exist_ok=True)
    before = sorted(path for path in (place / "app").rglob("*") if path.is_file())
    command = [python, *(part.replace("8501", port).replace("0.0.0.0", "127.0.0.1") for part in recipe.command[1:])]
    check = recipe.check.replace("8501", port).replace("python", python, 1)
    with (place / "log.txt").open("w") as log:
        process = subprocess.Popen(command, cwd=place / "app", env=variables, stdout=log, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 180.0
        while subprocess.run(check, shell=True, env=variables, stderr=subprocess.DEVNULL).returncode:
            assert process.poll() is None and time.monotonic() < end, (place / "log.txt").read_text()
            time.sleep(0.2)
        with urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            assert answer.status == 200
    finally:
        process.terminate()
        process.wait(60)
    assert sorted(path for path in (place / "app").rglob("*") if path.is_file()) == before
    with pytest.raises((URLError, OSError)):
        urlopen(f"http://127.0.0.1:{port}/", timeout=5)


def test_the_image_runs_without_rights_and_says_whether_it_is_well(recipe: Recipe) -> None:
    assert recipe.of("USER")[-1] == "10001:10001"
    assert recipe.steps.index(("USER", "10001:10001")) < recipe.steps.index(("VOLUME", "/results"))
    assert {recipe.environment[name] for name in recipe.environment if name.endswith("_THREADS")} == {"1"}
    assert recipe.environment["OBMC_RESULTS"].startswith("/results/")
    assert "/_stcore/health" in recipe.check
    assert recipe.of("RUN")[-1] == "install -d -o 10001 -g 10001 /results"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    sources = [source for text in recipe.of("COPY") for source in text.split()[:-1]]
    # A fresh clone has all of it; a folder that is no clone cannot tell.
    assert not tracked or all(
        any(name == source or name.startswith(f"{source}/") for name in tracked) for source in sources
    )
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {".git", ".venv", "tests", "**/__pycache__"} <= set(ignored)
    assert not set(sources) & set(ignored)


def test_the_images_files_and_command_serve_the_dashboard(recipe: Recipe, tmp_path: Path) -> None:
    copy(recipe, tmp_path / "app")
    variables = environment(recipe, tmp_path) | {"PYTHONPATH": str(tmp_path / "app"), "PYTHONDONTWRITEBYTECODE": "1"}
    serve(recipe, tmp_path, sys.executable, variables)


@pytest.mark.evidence
def test_the_images_steps_work_in_a_clean_environment(recipe: Recipe, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    copy(recipe, tmp_path / "app")
    variables = environment(recipe, tmp_path)
    variables["PATH"] = f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{variables['PATH']}"
    for text in recipe.of("RUN"):
        # Folders of the system, and users that are not here, belong to the image alone.
        step = text.replace("-o 10001 -g 10001 /results", str(tmp_path / "results"))
        subprocess.run(step, shell=True, check=True, cwd=tmp_path / "app", env=variables)
    serve(recipe, tmp_path, str(tmp_path / "venv" / "bin" / "python"), variables)
    subprocess.run(["python", "-c", "import distributed"], check=True, cwd=tmp_path, env=variables)


@pytest.mark.evidence
def test_the_image_is_built_and_well_where_there_is_an_engine() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode:
        pytest.skip("no container engine runs here")
    subprocess.run([docker, "build", "--tag", "obmc-test", "."], cwd=ROOT, check=True)
    run = [docker, "run", "--detach", "--read-only", "--tmpfs", "/tmp", "--volume", "/results", "obmc-test"]
    name = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
    try:
        end = time.monotonic() + 120.0
        state = ""
        while state != "healthy":
            assert time.monotonic() < end, state
            time.sleep(1.0)
            asked = [docker, "inspect", "--format", "{{.State.Health.Status}}", name]
            state = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    finally:
        subprocess.run([docker, "rm", "--force", "--volumes", name], check=True, capture_output=True)


def test_compose_has_a_dashboard_and_an_optional_cluster() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert "profiles" not in services["dashboard"]
    assert {name for name, service in services.items() if service.get("profiles") == ["dask"]} == {
        "scheduler",
        "worker",
    }
    for service in services.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["volumes"] == ["results:/results"]
        assert "mem_limit" in service
    for name in ("scheduler", "worker"):
        command = services[name]["command"]
        done = subprocess.run([sys.executable, *command[1:3], "--help"], capture_output=True, text=True, timeout=180)
        options = {part.split("=")[0] for part in command[3:] if part.startswith("--")}
        assert done.returncode == 0
        assert all(re.sub("^--no-", "", option).lstrip("-") in done.stdout for option in options)
