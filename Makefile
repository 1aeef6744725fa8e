# `make app` and `make test` do everything on a fresh machine with Python 3.11 or newer: environment, dependencies, start.
# The README has the plain pip lines for machines without make.

PYTHON ?= python3
JOBS ?= 2
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin

# One BLAS thread per process: the tests and the workers are the parallel part, and BLAS threads on top of them thrash.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: app test check format benchmark evidence coverage reproduce docs screenshots audit-deps environment chromium clean

app: $(VENV)/app.stamp  ## Start the dashboard; options: make app ARGS="--server.port 8502"
	$(BIN)/python -m streamlit run app.py $(ARGS)

# Nice, because the workers that the tests start are: beside tests of the usual priority they would hardly be served.
test: check chromium  ## Every check and every test but the long ones; options: make test ARGS="-k solver"
	nice -n 15 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

check: environment  ## Style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: environment  ## Put the code into the agreed form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: environment  ## Speed against the stated targets; one: make benchmark ARGS="solvers"
	$(BIN)/python -m benchmarks $(ARGS)

evidence: environment chromium  ## The long checks; their figures go to docs/evidence/
	$(BIN)/python -m pytest -m evidence $(ARGS)
	$(BIN)/python -m benchmarks --evidence

coverage: environment  ## Branch coverage of obmc by its tests, with what is left, in docs/evidence/coverage.md
	JOBS=$(JOBS) $(BIN)/python -m benchmarks --evidence branch_coverage

reproduce: $(VENV)/app.stamp  ## The paper's figures, a table for each; one, in small: make reproduce ARGS="--figure 1a --quick"
	$(BIN)/python -m obmc reproduce $(ARGS)

docs: environment  ## The documentation as pages, in build/docs; warnings are errors
	$(BIN)/python -m sphinx -q -W -b html docs build/docs

screenshots: chromium  ## Pictures of every page, light, dark and on a phone, in build/screenshots; two of them for the README
	$(BIN)/python -m pytest tests/browser/screenshots.py $(ARGS)

audit-deps: environment  ## Known vulnerabilities of the pinned packages; needs the internet and says so
	@bash .ci/audit-deps $(BIN)/python

environment: $(VENV)/dev.stamp  ## The development environment in .venv

chromium: environment  ## A browser for the browser tests, where none is found
	@bash .ci/chromium

clean:  ## Remove the environment and all caches
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What is installed is compiled when it is first imported: to compile all of it takes as long as to install it.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# The stamps make the environment follow the requirements: a changed file is installed again before anything runs.
$(VENV)/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed, and $(PYTHON) is older or missing: try make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/app.stamp: requirements.txt pyproject.toml | $(VENV)/python.stamp
	@echo "Installing the packages into $(VENV): a few minutes the first time."
	$(INSTALL) -r requirements.txt -e .
	@touch $@

$(VENV)/dev.stamp: requirements.txt requirements-dev.txt pyproject.toml | $(VENV)/python.stamp
	@echo "Installing the packages, those for tests among them, into $(VENV): a few minutes the first time."
	$(INSTALL) -r requirements-dev.txt -e .
	@touch $@ $(VENV)/app.stamp
