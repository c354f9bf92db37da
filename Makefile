# Every target works on a fresh clone with python3 (venv), make and git; each sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: setup demo test test-slow lint bench clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/rapidtask demo --out demo

test: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test-slow: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[cluster]'
	$(BIN)/python -m pytest -m slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: setup
	$(BIN)/python benchmarks/run_all.py

clean:
	rm -rf .venv build dist demo
