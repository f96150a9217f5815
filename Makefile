# SPDX-License-Identifier: BSD-3-Clause
# Two commands from a fresh clone: `make demo` and `make test`. The build itself is Meson's.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

export PATH := $(CURDIR)/.venv/bin:$(PATH)
PYTHON_VENV := .venv/bin/python

CXX_FILES = $(shell git ls-files --cached --others --exclude-standard \
  '*.c' '*.cpp' '*.h' '*.hpp')
CORE_FILES = $(shell git ls-files --cached --others --exclude-standard 'src/*.cpp')

.PHONY: help
help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

.PHONY: demo
demo: ## set up, build, and run the main job
	@tools/setup demo
	@$(PYTHON_VENV) tools/wheel
	@tools/build
	@$(PYTHON_VENV) examples/demo.py

.PHONY: test
test: ## set up, build, and run every suite
	@tools/setup test
	@$(PYTHON_VENV) tools/test

.PHONY: test-long
test-long: ## the same with full counts, valgrind and a search by fuzzers
	@tools/setup long
	@$(PYTHON_VENV) tools/test --long

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
	@$(PYTHON_VENV) -m sphinx -W --keep-going -q docs build-docs

.PHONY: wheel
wheel: ## build the wheel into dist/ and install it into .venv
	@tools/setup demo
	@$(PYTHON_VENV) tools/wheel

.PHONY: format
format: ## lay out C, C++ and Python in the project's style
	@tools/setup lint
	@clang-format -i $(CXX_FILES)
	@ruff format --quiet
	@ruff check --quiet --fix

.PHONY: lint
lint: ## check style and look for mistakes
	@tools/setup lint
	@clang-format --dry-run --Werror $(CXX_FILES)
	@ruff format --check --quiet
	@ruff check --quiet
	@tools/build
	@clang-tidy --quiet -p build $(CORE_FILES)

.PHONY: clean
clean: ## remove what was built (.venv stays)
	rm -rf build build-* dist .venv/.wheel-installed
