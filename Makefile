# Every target works on a fresh clone with python3 (venv), make and git; each sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: setup demo test test-slow test-browser lint bench docs clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/rapidtask demo --out demo

# With bytecode kept: tests start commands in processes of their own, and each would compile all modules anew.
test: setup
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test-slow: setup
	$(BIN)/python -m pytest -m slow

# A Chromium comes from the system; Debian's is installed where that is possible.
test-browser: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[browser]'
	test -n "$$RAPIDTASK_BROWSER" || command -v chromium || command -v chromium-browser || command -v google-chrome \
		|| { command -v apt-get > /dev/null && test "$$(id -u)" = 0 \
			&& apt-get install --quiet --yes --no-install-recommends chromium; } \
		|| echo "no browser found, and none can be installed here: the tests will be skipped"
	$(BIN)/python -m pytest -m browser -rs tests/viewer/test_viewer_browser.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: setup
	$(BIN)/python benchmarks/run_all.py

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .jax_cache build dist demo
