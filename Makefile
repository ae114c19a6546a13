# `make` alone lists the targets. Every target does the set-up it needs, once.

VENV   := .venv
PYTHON ?= python3
STAMP  := $(VENV)/.setup-done
RUN    := $(VENV)/bin/python
# Runs a command with the Java that scripts/java.sh found; stops if there is none.
WITH_JAVA = JAVA_HOME="$$(scripts/java.sh)" && export JAVA_HOME &&

# Extra arguments for pytest, such as ARGS="-k cam -x". They may leave one of the two passes of
# `make test` without tests, which pytest reports as 5.
ARGS  ?=
PASS   = $(ARGS) $(if $(ARGS),|| [ $$? -eq 5 ])
# Which benchmarks to run, by file name without .py; all of them unless told.
BENCH ?= $(filter-out machine spark_runs stream_pictures,$(basename $(notdir $(sort $(wildcard benchmarks/*.py)))))

# The suites that must pass on Spark Connect as well.
CONNECT_TESTS := tests/spark/test_columns.py tests/spark/routing tests/spark/counting tests/spark/groups \
	$(filter-out %_properties.py,$(wildcard tests/spark/batch/test_*.py)) tests/spark/stream/test_connect.py

ON_CONNECT = TRIMTAB_SPARK_MODE=connect $(RUN) -m pytest -m spark $(CONNECT_TESTS)

.DEFAULT_GOAL := help
.PHONY: help setup java demo test test-connect lint bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make the virtual environment in .venv (quick when nothing has changed)

$(STAMP): requirements.lock pyproject.toml scripts/setup.sh
	@scripts/setup.sh $(VENV) "$(PYTHON)"
	@touch $@

java: ## Check for Java 17 or 21; install it where that is possible without asking
	@$(WITH_JAVA) echo "Java: $$JAVA_HOME"

demo: $(STAMP) java ## Show what Trimtab does
	@$(WITH_JAVA) $(RUN) -m trimtab.demo

test: $(STAMP) java ## Run all tests and doctests: the core, then Spark Classic, then Spark Connect
	@$(RUN) -m pytest -m "not spark" $(PASS)
	@$(WITH_JAVA) $(RUN) -m pytest -m spark $(PASS)
	@$(WITH_JAVA) $(ON_CONNECT) $(PASS)

test-connect: $(STAMP) java ## Run the batch operators' tests on Spark Connect alone
	@$(WITH_JAVA) $(ON_CONNECT) $(ARGS)

lint: $(STAMP) ## Check style, format and types
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

bench: $(STAMP) ## Run the benchmarks (BENCH=kernels runs one of them)
	@for name in $(BENCH); do \
		echo "== benchmarks/$$name.py"; $(RUN) benchmarks/$$name.py || exit 1; \
	done

clean: ## Remove caches and compiled kernels, keep .venv
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
