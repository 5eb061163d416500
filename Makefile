# Two commands: `make site` and `make test`.  Everything they need lands in .venv and .asv.
#
#   make site                      measure HEAD and publish the history
#   make site COMMITS=v0.1..HEAD   any range `asv run` takes
#   make test                      lint, types, C tests, unit tests, system tests
#
# Variables
#   PYTHON       interpreter the virtualenv is made from (3.10-3.13)
#   COMMITS      range of commits to measure
#   MACHINE      name asv files the results under
#   ASV_FLAGS    more flags for `asv run`, e.g. ASV_FLAGS='--bench dqn'
#   TORCH        torch to install; a CUDA build: TORCH='torch==2.13.0+cu130'
#   TORCH_INDEX  extra package index that has that build

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
COMMITS ?= HEAD^!
MACHINE ?= $(shell uname -n)
ASV_FLAGS ?=
TORCH ?= torch==2.13.0
TORCH_INDEX ?=

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
CONSTRAINTS := $(VENV)/constraints.txt
C_BUILD := $(CURDIR)/build/csrc
C_SOURCES := $(wildcard csrc/*.[ch] csrc/tree/*.[ch] csrc/launcher/*.[ch] csrc/*/CMakeLists.txt) csrc/CMakeLists.txt
EXTENSION := foxbench/sampler/_foxsampler.abi3.so

# asv finds "python3.X" on PATH, and every pip (ours and asv's) obeys the same pins.
export PATH := $(BIN):$(PATH)
export PIP_CONSTRAINT := $(CONSTRAINTS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
ifneq ($(TORCH_INDEX),)
export PIP_EXTRA_INDEX_URL := $(TORCH_INDEX)
endif
# Python files are used where they lie; CMake builds the extension apart, so that csrc/ stays clean.
EDITABLE := --no-build-isolation --config-settings=wheel.cmake=false \
    --config-settings=wheel.py-api=py3 -e
PIP := .ci/progress 'installing' $(BIN)/python -m pip

.PHONY: help site test machine lint types ctest unit system clean

help:
	@sed -n '/^# Two/,/^#   TORCH_INDEX/s/^# \{0,1\}//p' Makefile

# --- environments -----------------------------------------------------------------------------

$(STAMPS)/venv: .ci/constraints.txt
	@echo "==> creating .venv"
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 10) <= v <= (3, 13) else "foxbench needs Python 3.10-3.13, this is %d.%d: set PYTHON=..." % v)'
	@$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@sed 's/^torch==.*/$(TORCH)/' .ci/constraints.txt > $(CONSTRAINTS)
	@$(PIP) install --upgrade pip
	@touch $@

# The process that runs asv needs no torch: a light parent keeps the benchmarks' floor low.
$(STAMPS)/site: $(STAMPS)/venv pyproject.toml
	@echo "==> installing foxbench and asv into .venv"
	@$(PIP) install scikit-build-core cffi cmake ninja
	@$(PIP) install $(EDITABLE) '.[asv]'
	@touch $@

$(EXTENSION): $(STAMPS)/site $(C_SOURCES) foxbench/sampler/_build_ffi.py
	@echo "==> building the sampler"
	@cmake -S csrc -B '$(C_BUILD)/inplace' -G Ninja -DFOXBENCH_INPLACE=ON \
	    -DPython_EXECUTABLE='$(BIN)/python' > $(STAMPS)/cmake.log \
	    || { cat $(STAMPS)/cmake.log; exit 1; }
	@cmake --build '$(C_BUILD)/inplace' >> $(STAMPS)/cmake.log || { cat $(STAMPS)/cmake.log; exit 1; }
	@touch $@

$(STAMPS)/dev: $(STAMPS)/site $(EXTENSION)
	@echo "==> installing torch and the test tools into .venv"
	@$(PIP) install torch
	@$(PIP) install $(EDITABLE) '.[dev]'
	@touch $@

# --- make site --------------------------------------------------------------------------------

machine: $(STAMPS)/site $(EXTENSION)
	@asv machine --yes --machine '$(MACHINE)' > /dev/null
	@echo "==> results are filed under machine '$(MACHINE)'"

site: machine
	@echo "==> preparing asv's own environment (the first time, torch is installed there)"
	@.ci/progress 'environment' sh -c 'asv setup || :' # exits 1 always; what failed, run says
	@echo "==> measuring $(COMMITS)"
	@asv run '$(COMMITS)' --machine '$(MACHINE)' --skip-existing-successful --show-stderr \
	    --record-samples --no-pull $(ASV_FLAGS)
	@echo "==> publishing"
	@asv publish --no-pull
	@foxbench site summary .asv/html

# --- make test --------------------------------------------------------------------------------

test: $(STAMPS)/dev lint types ctest unit system
	@echo "==> all checks passed"

lint: $(STAMPS)/dev
	@echo "==> lint"
	@ruff check .
	@ruff format --check .
	@clang-format --dry-run --Werror $$(git ls-files 'csrc/*.c' 'csrc/*.h' 'csrc/**/*.c')

types: $(STAMPS)/dev
	@echo "==> types"
	@mypy

# Plain, then under AddressSanitizer + UndefinedBehaviorSanitizer, then under ThreadSanitizer.
ctest: $(STAMPS)/dev
	@for sanitize in '' 'address;undefined' thread; do \
	    echo "==> C tests ($${sanitize:-plain})"; \
	    build="$(C_BUILD)/$${sanitize//;/-}"; \
	    cmake -S csrc -B "$$build" -G Ninja -DFOXBENCH_BUILD_TESTS=ON -DFOXBENCH_BUILD_PYTHON=OFF \
	        -DFOXBENCH_SANITIZE="$$sanitize" > "$(STAMPS)/cmake.log" \
	        || { cat "$(STAMPS)/cmake.log"; exit 1; }; \
	    cmake --build "$$build" -- --quiet; \
	    ctest --test-dir "$$build" -j2 --output-on-failure --no-tests=error; \
	done

# These tests measure the process they run in: one of their own, small and without torch.
unit: $(STAMPS)/dev
	@echo "==> unit tests"
	@python -m pytest tests/unit/sampler tests/unit/asv_types
	@python -m pytest tests/unit --ignore tests/unit/sampler --ignore tests/unit/asv_types

system: $(STAMPS)/dev
	@echo "==> system tests"
	@.ci/system-packages
	@python -m pytest tests/system

clean:
	rm -rf build .venv .asv
