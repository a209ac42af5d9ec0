# make demo   a first training, evaluation and prediction on a bundled graph
# make test   style, types and tests
#
# Both set up everything in a virtual environment of their own (.venv). Other commands: make help

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first Python that is supported and runs; `make PYTHON=/path/to/python3.12 test` takes another.
SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.11 python3.12 python3.10; do \
	$$p -c '$(SUPPORTED)' >/dev/null 2>&1 && { echo $$p; break; }; done)
endif

VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := -m pytest --quiet --numprocesses auto --maxprocesses 4
STATED := pyproject.toml constraints.txt

# $(1) environment, $(2) pip's arguments. The pip that Python brings takes twice as long to find packages.
# pip compiles on one core, packages' own tests included; what is written for another Python does not compile
# here, and need not.
define environment
	@[ -n "$(PYTHON)" ] && $(PYTHON) -c '$(SUPPORTED)' 2>/dev/null || { \
		echo "dglkgmix needs Python 3.10, 3.11 or 3.12: make PYTHON=/path/to/it $(MAKECMDGOALS)" \
			"$(if $(PYTHON),($(PYTHON) is $$($(PYTHON) -V 2>&1 | head -n 1)))" >&2; exit 1; }
	@echo "Setting up $(1) (a few minutes the first time)"
	@[ "$$($(1)/bin/python -V 2>&1)" = "$$($(PYTHON) -V)" ] || $(PYTHON) -m venv --clear $(1)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --upgrade pip
	@PYTHONWARNINGS=ignore $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile $(2)
	@PYTHONWARNINGS=ignore $(1)/bin/python -m compileall -qq -j 0 -x '/tests?/' $(1)/lib || true
	@touch $@
endef

.PHONY: help demo test pytest check style types docs results coverage test-long test-capabilities test-dgl2 test-oldest test-newest reliability fuzz mutants bench performance clean

# One thread a process: on the tests' small tensors, threads that wait for each other triple the work.
test pytest test-long test-capabilities test-dgl2 test-oldest test-newest coverage reliability mutants: export OMP_NUM_THREADS := 1
# Tests start many processes: Python keeps what it compiles, whatever the caller's environment says.
export PYTHONDONTWRITEBYTECODE :=

help: ## list the commands
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/runtime.stamp ## set up what is needed to run, then the demo
	$(BIN)/dglkgmix demo --overwrite

# mypy runs beside the tests: it takes as long as they take to be collected.
test: style ## set up everything, then style, types and tests
	@$(MAKE) --no-print-directory --jobs 2 types pytest

pytest: $(VENV)/dev.stamp ## the tests alone
	$(BIN)/python $(PYTEST)

test-long: $(VENV)/dev.stamp ## the tests that take longer
	$(BIN)/python $(PYTEST) -m long
	$(MAKE) test-capabilities

# PyTorch's own kernels, oneDNN's and MKL's, held to the instructions of older processors.
NUMERIC := $(addprefix tests/,sampling losses kernels models strategies evaluation runs training estimator contracts golden)
test-capabilities: $(VENV)/dev.stamp ## the numeric tests as on processors without AVX-512 and AVX2
	ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 \
		$(BIN)/python $(PYTEST) $(NUMERIC)
	ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_ENABLE_INSTRUCTIONS=SSE4_2 \
		$(BIN)/python $(PYTEST) $(NUMERIC)

coverage: $(VENV)/dev.stamp ## lines and branches that the tests reach
	$(BIN)/python $(PYTEST) --cov --cov-report=term

check: style types ## style and types

style: $(VENV)/dev.stamp ## style alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The packages as they are installed, cli as dglkgmix.cli, laid out in links: mypy finds them so.
types: $(VENV)/dev.stamp ## types alone
	@rm -rf build/types && mkdir -p build/types/dglkgmix
	@ln -s $(CURDIR)/dglkgmix/* $(CURDIR)/cli $(CURDIR)/datasets build/types/dglkgmix/
	cd build/types && $(abspath $(BIN))/mypy --config-file ../../pyproject.toml \
		--cache-dir ../../.mypy_cache -p dglkgmix

# Reads the sources alone, so its environment needs neither PyTorch nor DGL.
docs: .venv-docs/docs.stamp ## the documentation site, in build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	@echo "Open build/site/index.html"

# From docs/results/*.json, which `dglkgmix experiment` measured; docs/results/build.py says how.
results: $(VENV)/dev.stamp ## the page of results and its pictures, from their measurements
	$(BIN)/python docs/results/build.py

reliability: $(VENV)/dev.stamp ## kills, faults and foreign bytes; log in build/reliability.jsonl
	$(BIN)/python -m tests.reliability

fuzz: $(VENV)/fuzz.stamp ## two minutes of coverage-guided fuzzing of the text readers
	$(BIN)/python -m tests.reliability.fuzz_text -max_total_time=120

mutants: $(VENV)/mutants.stamp ## small changes to the numeric core: do its tests notice?
	$(BIN)/python -m mutmut run
	$(BIN)/python -m mutmut results

# Timings and memory, side by side, on an idle machine; parts that are in build/bench are passed over.
bench: $(VENV)/dev.stamp ## all benchmarks, about a quarter of an hour; JSON in build/bench
	$(BIN)/python -m bench

# From docs/results/performance/*.json; what `make bench` left is taken there first.
performance: $(VENV)/dev.stamp ## the page of the benchmarks' results
	$(BIN)/python docs/performance.py --take build/bench

# With DGL 2.1.0 on the same Python.
test-dgl2: .venv-dgl2/dev.stamp ## the tests beside DGL 2.1.0, in an environment of its own
	.venv-dgl2/bin/python $(PYTEST)

# With the lowest versions that pyproject.toml allows, and with the newest there are.
test-oldest: .venv-oldest/dev.stamp ## the tests with the oldest dependencies allowed
	.venv-oldest/bin/python $(PYTEST)

test-newest: .venv-newest/dev.stamp ## the tests with the newest dependencies
	.venv-newest/bin/python $(PYTEST)

clean: ## remove what the commands made, environments included
	rm -rf .venv .venv-docs .venv-dgl2 .venv-oldest .venv-newest build dist mutants *.egg-info \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* htmlcov

$(VENV)/runtime.stamp: $(STATED)
	$(call environment,$(VENV),-c constraints.txt -e .)

$(VENV)/dev.stamp: $(STATED)
	$(call environment,$(VENV),-c constraints.txt -e '.[dev]')
	@touch $(VENV)/runtime.stamp

$(VENV)/fuzz.stamp $(VENV)/mutants.stamp: $(VENV)/%.stamp: $(STATED)
	$(call environment,$(VENV),-c constraints.txt -e '.[dev,$*]')
	@touch $(VENV)/dev.stamp $(VENV)/runtime.stamp

.venv-docs/docs.stamp: $(STATED)
	@mkdir -p build && sed -n '/^docs = \[/,/^\]/s/^ *"\(.*\)",$$/\1/p' pyproject.toml > build/docs.txt
	$(call environment,.venv-docs,-c constraints.txt -r build/docs.txt)

.venv-dgl2/dev.stamp: $(STATED)
	@mkdir -p build && sed 's/^dgl==.*/dgl==2.1.0/' constraints.txt | uniq > build/dgl2.txt
	$(call environment,.venv-dgl2,-c build/dgl2.txt -e '.[dev]')

.venv-oldest/dev.stamp: tests/lowest_versions.py $(VENV)/dev.stamp
	@mkdir -p build && $(BIN)/python tests/lowest_versions.py pyproject.toml > build/oldest.txt
	$(call environment,.venv-oldest,-c build/oldest.txt -e '.[dev]')

.venv-newest/dev.stamp: pyproject.toml
	$(call environment,.venv-newest,--upgrade --upgrade-strategy eager -e '.[dev]')
