# SPDX-License-Identifier: BSD-3-Clause
# Two commands from a fresh clone: `make demo` and `make test`. The build itself is Meson's.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

export PATH := $(CURDIR)/.venv/bin:$(PATH)
PYTHON_VENV := .venv/bin/python

CXX_FILES = $(shell git ls-files --cached --others --exclude-standard \
  '*.c' '*.cpp' '*.h' '*.hpp')
# Of tests/ the language is not looked at.
TEXTS = '*.h' '*.hpp' '*.cpp' '*.c' '*.py' '*.pyx' '*.pxi' '*.pyi' '*.rs' '*.md' '*.rst' '*.build' \
  ':!*tests/*'
CORE_FILES = $(shell git ls-files --cached --others --exclude-standard 'src/*.cpp')

.PHONY: help
help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: ## set up, build, and run the main job
	@tools/setup demo
	@$(PYTHON_VENV) tools/wheel
	@$(MAKE) --silent -C examples/pack PKG_CONFIG_PATH="$$(libcai config --pkg-config-dir)"
	@libcai demo --pack examples/pack/out/libpack.so

.PHONY: check
check: ## after a change, in a minute: the plain build, lazily, and the core of the Python suites
	@tools/setup test
	@$(PYTHON_VENV) tools/test check

.PHONY: test
test: ## set up, build, and run every suite
	@tools/setup test
	@$(PYTHON_VENV) tools/test test

.PHONY: test-long
test-long: ## all schedules, seeds and counts, valgrind, fuzzers; PART=NAME for one of its parts
	@tools/setup long
	@$(PYTHON_VENV) tools/test long $(PART)

.PHONY: mutate
mutate: ## a sample of operators of src/ changed in turn, for a test to see each
	@tools/setup test
	@$(PYTHON_VENV) tools/mutate --most 100

.PHONY: coverage
coverage: ## what the suites do not reach of src and simcuda, and nobody has explained
	@tools/setup coverage
	@$(PYTHON_VENV) tools/wheel --of-tests
	@$(PYTHON_VENV) tools/coverage

.PHONY: test-gpu
test-gpu: ## on a GPU: driver rules, order, pairs of frameworks, with what the machine has
	@$${PYTHON:-python3} tests/gpu/run.py

.PHONY: bench-gpu
bench-gpu: ## on a GPU, after test-gpu: libcai beside CuPy, PyTorch, cuda.core, numba-cuda
	@PYTHONPATH=build-gpu/python $${PYTHON:-python3} bench/bench_gpu.py

.PHONY: bench
bench: ## measure
	@tools/setup bench
	@$(PYTHON_VENV) tools/wheel
	@tools/build
	@$(PYTHON_VENV) bench/run.py

.PHONY: docs
docs: ## build the documentation into build-docs/
	@tools/setup docs
	@$(PYTHON_VENV) tools/wheel
	@tools/build
	@$(PYTHON_VENV) -m sphinx -W --keep-going -q docs build-docs
	@echo build-docs/index.html

.PHONY: wheel
wheel: ## build the wheel into dist/ and install it into .venv
	@tools/setup demo
	@$(PYTHON_VENV) tools/wheel

.PHONY: wheels
wheels: ## build the wheels of a release into dist/, for each Python here and both machines
	@tools/setup wheels
	@$(PYTHON_VENV) tools/wheels

.PHONY: format
format: ## lay out C, C++, Python and Rust in the project's style
	@tools/setup lint
	@clang-format -i $(CXX_FILES)
	@cargo fmt --manifest-path bindings/rust/Cargo.toml --all
	@ruff format --quiet
	@ruff check --quiet --fix

.PHONY: lint
lint: ## check style, words and spelling, and look for mistakes
	@tools/setup lint
	@tools/build
	@status=0; \
	clang-format --dry-run --Werror $(CXX_FILES) || status=1; \
	ruff format --check --quiet || status=1; \
	ruff check --quiet || status=1; \
	git ls-files -z $(TEXTS) | xargs -0 codespell || status=1; \
	printf '%s\n' $(CORE_FILES) | \
	  xargs -n 1 -P "$$(nproc)" clang-tidy --quiet -p build --extra-arg=-I$(CURDIR)/src/pch || status=1; \
	exit $$status

.PHONY: clean
clean: ## remove what was built (.venv stays)
	rm -rf build build-* dist .venv/.wheel-installed-*
