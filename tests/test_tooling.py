"""The repository's own machinery: what the README promises of `make`, the pins, the settings, the long runs."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from helpers import contrast
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import obmc

ROOT = Path(__file__).parents[1]
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not on this machine")


# What a make that runs these tests hands down, and what would change the make that they run.
OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "ARGS", "JOBS", "PYTHON"}


def run(*command: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    return subprocess.run(
        command, cwd=cwd, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )


def requirements(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


# Requirements


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_one_exact_version_and_installed_as_such(name: str) -> None:
    for requirement in requirements(name):
        assert re.fullmatch(r"==[0-9][^*,]*", str(requirement.specifier)), requirement
        if requirement.marker is None or requirement.marker.evaluate():
            assert importlib.metadata.version(requirement.name) in requirement.specifier, requirement


def test_the_pins_allow_what_is_needed_and_hold_all_of_it_and_nothing_else() -> None:
    pins = {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in requirements("requirements.txt")
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [Requirement(text) for text in [*project["dependencies"], "streamlit", "pyarrow", "segno"]]
    found = set()
    while needed:
        requirement = needed.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(requirement.name)
        assert name in pins, f"{requirement} is not pinned"
        assert pins[name] in requirement.specifier
        if name not in found:
            found.add(name)
            needed += [Requirement(text) for text in importlib.metadata.requires(name) or []]
    assert set(pins) - found <= {"watchdog", "tzdata"}, "pinned, but nothing needs them (these two: on some systems)"


# The Makefile


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_make_command_of_the_documents_exists() -> None:
    documents = [ROOT / "README.md", *(ROOT / "data").glob("*.md"), *(ROOT / "docs").glob("*.md")]
    command = re.compile(r"(?:`|^    )make ([a-z-]+)", re.MULTILINE)
    named = {name for path in documents for name in command.findall(path.read_text(encoding="utf-8"))}
    assert {"check", "test", "evidence", "benchmark", "docs", "reproduce", "screenshots"} <= targets()
    assert {"app", "test", "reproduce"} <= named
    assert named <= targets()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that make works with, in a folder of their own, with an environment that looks finished."""
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
        os.utime(tmp_path / name, (1000, 1000))
    (tmp_path / ".venv").mkdir()
    for stamp in ("python", "app", "dev"):
        (tmp_path / f".venv/{stamp}.stamp").touch()
        os.utime(tmp_path / f".venv/{stamp}.stamp", (2000, 2000))
    return tmp_path


def plan(project: Path, target: str, *options: str) -> list[str]:
    """The commands that make would run."""
    done = run("make", "--dry-run", target, *options, cwd=project)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("make:")]


@needs_make
def test_make_test_checks_first_and_ends_with_the_tests_on_two_processes(project: Path) -> None:
    commands = plan(project, "test")
    assert commands[-1].startswith("nice -n 15 .venv/bin/python -m pytest -n 2 --dist loadfile")
    assert [line.split()[0] for line in commands[:3]] == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]
    assert any(".ci/chromium" in line for line in commands)
    assert not any("pip install" in line for line in commands)


@needs_make
@pytest.mark.parametrize(
    ("changed", "target", "installs"),
    [
        ("requirements.txt", "app", "-r requirements.txt -e ."),
        ("requirements.txt", "check", "-r requirements-dev.txt -e ."),
        ("requirements-dev.txt", "check", "-r requirements-dev.txt -e ."),
        ("pyproject.toml", "app", "-r requirements.txt -e ."),
        ("requirements-dev.txt", "app", None),
    ],
)
def test_the_environment_follows_the_requirements(
    project: Path, changed: str, target: str, installs: str | None
) -> None:
    os.utime(project / changed, (3000, 3000))
    installing = [line for line in plan(project, target) if "pip install" in line]
    assert [line.endswith(installs) for line in installing] == [True] if installs else installing == []


@needs_make
def test_a_fresh_clone_gets_an_environment_before_anything_runs(project: Path) -> None:
    shutil.rmtree(project / ".venv")
    commands = [line.strip() for line in plan(project, "app")]
    made = commands.index("python3 -m venv .venv")
    installed = next(k for k, line in enumerate(commands) if "pip install" in line)
    started = next(k for k, line in enumerate(commands) if "streamlit run app.py" in line)
    assert made < installed < started


@needs_make
def test_an_old_python_is_refused_with_a_sentence(project: Path) -> None:
    shutil.rmtree(project / ".venv")
    old = project / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = run("make", "app", f"PYTHON={old}", cwd=project)
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr
    assert not (project / ".venv").exists()


# Continuous integration


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for the path that holds the shell's own tools, a user who is not root, and nothing else."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("bash", "dirname", "env", "mktemp", "tail", "rm"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    tool(folder, "id", "echo 1000")
    return folder


def tool(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("with_data", [True, False])
def test_ci_runs_make_test_with_the_data_beside_the_repository(tmp_path: Path, tools: Path, with_data: bool) -> None:
    clone = tmp_path / "clone"
    (clone / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", clone / ".ci/run")
    assert os.access(ROOT / ".ci/run", os.X_OK)
    if with_data:
        (tmp_path / "shared/data").mkdir(parents=True)
    tool(tools, "make", 'echo "$PWD $* data=${OBMC_DATA_HOME:-}"')
    done = run("bash", str(clone / ".ci/run"), cwd=tmp_path, PATH=str(tools), OBMC_DATA_HOME="")
    expected = tmp_path / "shared/data" if with_data else ""
    assert done.stdout == f"{clone} test data={expected}\n"
    assert done.returncode == 0
    tool(tools, "make", "exit 3")
    assert run("bash", str(clone / ".ci/run"), PATH=str(tools)).returncode == 3


def test_a_chromium_that_is_there_is_taken(tools: Path) -> None:
    tool(tools, "chromium-browser", "exit 0")
    done = run("bash", ".ci/chromium", PATH=str(tools), OBMC_CHROMIUM="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    tool(tools, "my-browser", "exit 0")
    (tools / "chromium-browser").unlink()
    assert run("bash", ".ci/chromium", PATH=str(tools), OBMC_CHROMIUM=str(tools / "my-browser")).stderr == ""


def test_without_a_chromium_there_is_one_sentence_and_under_ci_a_failure(tools: Path) -> None:
    done = run("bash", ".ci/chromium", PATH=str(tools), OBMC_CHROMIUM="", CI="")
    assert done.returncode == 0
    assert done.stderr.startswith("No Chromium found, so the browser tests cannot run: install one")
    assert done.stderr.count("\n") == 1
    assert run("bash", ".ci/chromium", PATH=str(tools), OBMC_CHROMIUM="", CI="true").returncode == 1


def test_root_on_debian_gets_debians_chromium(tools: Path) -> None:
    tool(tools, "id", "echo 0")
    tool(tools, "chmod", f'exec {shutil.which("chmod")} "$@"')
    install = f'echo "$*" >>{tools}/log; [ "$1" = update ] || {{ : >{tools}/chromium; chmod +x {tools}/chromium; }}'
    tool(tools, "apt-get", install)
    done = run("bash", ".ci/chromium", PATH=str(tools), OBMC_CHROMIUM="", CI="true")
    assert done.returncode == 0, done.stderr
    assert (tools / "log").read_text() == "update\ninstall --yes --no-install-recommends chromium\n"


def test_tests_of_real_data_skip_with_a_reason_where_there_are_none(empty_data_home: Path) -> None:
    done = run(
        sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "tests/datasets/test_restaurant.py",
        OBMC_DATA_HOME=str(empty_data_home),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"ml-100k and rc not in {empty_data_home}: run `python -m obmc fetch-data`" in done.stdout
    assert re.search(r"=+ 1 passed, \d+ skipped in ", done.stdout)


# Settings and launcher


def settings() -> dict[str, object]:
    """Every setting of the dashboard as ``section.key``."""

    def flatten(table: dict, prefix: str = "") -> dict[str, object]:
        flat: dict[str, object] = {}
        for key, value in table.items():
            name = f"{prefix}{key}"
            flat.update(flatten(value, f"{name}.") if isinstance(value, dict) else {name: value})
        return flat

    return flatten(tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8")))


def test_every_setting_is_one_that_streamlit_knows() -> None:
    from streamlit import config

    assert [name for name in settings() if name not in config.get_config_options()] == []


def test_the_dashboard_tells_nobody_anything() -> None:
    assert settings()["browser.gatherUsageStats"] is False
    assert settings()["browser.serverAddress"] == "localhost"
    assert settings()["client.showErrorLinks"] is False
    assert "server.enableXsrfProtection" not in settings()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_primary_colour_can_be_read_as_text_and_under_white_text(theme: str) -> None:
    primary = str(settings()[f"theme.{theme}.primaryColor"])
    background = str(settings().get(f"theme.{theme}.backgroundColor", "#ffffff"))
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast(primary, background) >= 4.5
    assert contrast(primary, "#ffffff") >= 4.5


def test_the_launcher_starts_the_frame() -> None:
    code = "import app; print(type(app.app).__name__, app.app._script_path)"
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    kind, path = done.stdout.split()
    assert kind == "App"
    assert (ROOT / path).resolve() == ROOT / "pages/main.py"
    assert (ROOT / "pages/main.py").is_file()


def test_the_package_never_imports_streamlit() -> None:
    code = """
import importlib, pkgutil, sys
import obmc
names = [module.name for module in pkgutil.walk_packages(obmc.__path__, "obmc.") if module.name != "obmc.__main__"]
for name in names:
    importlib.import_module(name)
assert "obmc.datasets.registry" in names
print("streamlit" in sys.modules)
"""
    done = run(sys.executable, "-c", code)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_importing_the_package_brings_what_a_completion_needs_and_no_more() -> None:
    heavy = ("pandas", "plotly", "pyarrow", "streamlit", "certifi", "distributed", "scipy.optimize", "scipy.stats")
    done = run(sys.executable, "-c", f"import obmc, sys; print([name for name in {heavy} if name in sys.modules])")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_what_comes_on_first_use_is_there_and_listed() -> None:
    code = """
import obmc
assert {"read_ratings", "fetch", "restaurant", "synthetic"} <= set(dir(obmc.datasets))
assert "experiments" in dir(obmc)
for module in (obmc, obmc.datasets):
    for name in module.__all__:
        getattr(module, name)
print(obmc.datasets.read_ratings.__module__, obmc.datasets.restaurant.__module__)
"""
    done = run(sys.executable, "-c", code)
    assert (done.stdout, done.stderr) == ("obmc.datasets.ratings_file obmc.datasets.restaurant\n", "")


# Benchmarks


@pytest.fixture
def benchmarks(tmp_path: Path) -> Path:
    """A project whose only content is the runner of benchmarks and three scripts."""
    (tmp_path / "benchmarks/evidence").mkdir(parents=True)
    shutil.copy(ROOT / "benchmarks/__main__.py", tmp_path / "benchmarks/__main__.py")
    (tmp_path / "benchmarks/fast.py").write_text("import os; print('threads', os.environ['OPENBLAS_NUM_THREADS'])\n")
    (tmp_path / "benchmarks/_shared.py").write_text("raise SystemExit('no benchmark')\n")
    (tmp_path / "benchmarks/evidence/long.py").write_text("print('# Long\\n\\n| gap | 1e-4 |')\n")
    return tmp_path


def test_benchmarks_run_in_a_process_of_their_own_with_one_blas_thread(benchmarks: Path) -> None:
    done = run(sys.executable, "-m", "benchmarks", cwd=benchmarks, OPENBLAS_NUM_THREADS="2")
    assert done.stdout == "== fast\nthreads 1\n"
    assert done.returncode == 0
    assert (
        "there is no benchmark slow; there is fast"
        in run(sys.executable, "-m", "benchmarks", "slow", cwd=benchmarks).stderr
    )


def test_evidence_is_filed_with_the_machine_it_was_measured_on(benchmarks: Path) -> None:
    assert run(sys.executable, "-m", "benchmarks", "--evidence", cwd=benchmarks).returncode == 0
    filed = (benchmarks / "docs/evidence/long.md").read_text(encoding="utf-8")
    assert filed.startswith(
        "# Long\n\n| gap | 1e-4 |\n\n_Measured by `python -m benchmarks --evidence long` with obmc "
    )
    assert f"numpy {importlib.metadata.version('numpy')}" in filed


def test_a_missed_target_fails_and_leaves_the_old_evidence(benchmarks: Path) -> None:
    run(sys.executable, "-m", "benchmarks", "--evidence", cwd=benchmarks)
    before = (benchmarks / "docs/evidence/long.md").read_text(encoding="utf-8")
    (benchmarks / "benchmarks/evidence/long.py").write_text("print('# Worse'); raise SystemExit(1)\n")
    done = run(sys.executable, "-m", "benchmarks", "--evidence", cwd=benchmarks)
    assert done.returncode == 1
    assert "missed their targets or failed: long" in done.stderr
    assert (benchmarks / "docs/evidence/long.md").read_text(encoding="utf-8") == before


EVIDENCE = """
import pathlib, sys
import pytest
from filing import is_whole

@pytest.fixture(scope="module", autouse=True)
def filed(request):
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed == failed and is_whole(request.module, request.session.items):
        pathlib.Path("filed").touch()

def test_one(): pass

@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize("b", [3, 4])
def test_several(a, b): assert pathlib.Path("good").exists() or a * b < 8
"""


@pytest.mark.parametrize(
    ("options", "good", "filed"),
    [((), True, True), ((), False, False), (("-k", "one"), True, False), (("-k", "one or 1-3"), True, False)],
    ids=["whole", "failed", "part", "one parameter"],
)
def test_evidence_of_tests_is_filed_when_all_have_run_and_passed(tmp_path: Path, options, good, filed) -> None:
    (tmp_path / "test_evidence.py").write_text(EVIDENCE)
    if good:
        (tmp_path / "good").touch()
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options)
    done = run(*command, cwd=tmp_path, PYTHONPATH=str(ROOT / "tests"))
    assert (done.returncode == 0) is good, done.stdout
    assert (tmp_path / "filed").exists() is filed


@pytest.mark.data
def test_the_python_of_the_readme_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        done = run(sys.executable, "-c", block)
        assert done.returncode == 0, done.stderr


def test_the_package_knows_its_version() -> None:
    assert obmc.__version__ == importlib.metadata.version("obmc")
