# `make` alone lists the targets. Every target does the set-up it needs, once.

VENV   := .venv
PYTHON ?= python3
STAMP  := $(VENV)/.setup-done
RUN    := $(VENV)/bin/python
# Runs a command with the Java that scripts/java.sh found; stops if there is none.
WITH_JAVA = JAVA_HOME="$$(scripts/java.sh)" && export JAVA_HOME &&

# Extra arguments for pytest, such as ARGS="-k cam -x" or ARGS="-n 0 --pdb". They may leave one of
# the passes without tests, which pytest reports as 5.
ARGS  ?=
PASS   = $(ARGS) $(if $(ARGS),|| [ $$? -eq 5 ])

# The core's tests run on every core. A file's tests stay in one process, so that no two processes
# compile the same kernels, or make what the tests of a file share, at the same time.
CORE    = $(RUN) -m pytest --dist loadfile -n logical
# Every process of Spark tests has a Java process of its own, which is busy on two cores by itself.
CLASSIC = $(WITH_JAVA) $(RUN) -m pytest --dist loadfile -n 2
# Connect's server listens at one fixed port: one process.
CONNECT = $(WITH_JAVA) TRIMTAB_SPARK_MODE=connect $(RUN) -m pytest

# Which benchmarks to run, by file name without .py; all of them unless told.
BENCH ?= $(filter-out machine memory spark_runs stream_pictures,$(basename $(notdir $(sort $(wildcard benchmarks/*.py)))))

.DEFAULT_GOAL := help
.PHONY: help setup java demo test test-fast test-rest test-all test-connect chaos coverage lint bench claims clean

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

test: $(STAMP) java ## Run the tests and doctests: the core, Spark Classic, a part of them on Spark Connect
	@$(CORE) -m "not spark and not exhaustive" $(PASS)
	@$(CLASSIC) -m "spark and not exhaustive" $(PASS)
	@$(CONNECT) -m "smoke and not exhaustive" $(PASS)

test-fast: $(STAMP) ## Run the tests that need neither Spark nor patience
	@$(CORE) -m "not spark and not slow and not exhaustive" $(ARGS)

test-rest: $(STAMP) java ## Run what `make test` leaves out: more kills, more cases, all of Spark Connect
	@$(CLASSIC) -m "spark and exhaustive" $(PASS)
	@$(CORE) -m "not spark and exhaustive" $(PASS)
	@$(CONNECT) -m "both and (exhaustive or not smoke)" $(PASS)

test-all: test test-rest ## Run every test there is, on Spark Connect too

test-connect: $(STAMP) java ## Run what must hold on Spark Connect, and nothing else
	@$(CONNECT) -m both $(ARGS)

# How many processes `make chaos` kills, how many hostile rows it tries, and the seed of both. A run
# that was stopped goes on from build/chaos. VOYAGE=3 runs one voyage of the schedule, and no rows;
# ONLY=states,totals kills these queries only, and tries no rows; ONLY=receiver kills a receiver only.
KILLS ?= 200
RECEIVER_KILLS ?= 100
ROWS  ?= 1000000
SEED  ?= 1

chaos: $(STAMP) java ## Kill drivers, executors and workers of streams, and try hostile rows (KILLS=200 ROWS=1000000 SEED=1)
	@$(if $(VOYAGE)$(filter-out receiver,$(ONLY)),,$(RUN) -m tests.receive.crash --kills $(RECEIVER_KILLS) --seed $(SEED))
	@$(if $(filter receiver,$(ONLY)),,$(WITH_JAVA) $(RUN) -m tests.chaos --kills $(KILLS) --seed $(SEED) $(if $(VOYAGE),--voyage $(VOYAGE)) $(if $(ONLY),--only $(ONLY)))
	@$(if $(VOYAGE)$(ONLY),,$(WITH_JAVA) $(RUN) -m tests.spark.hostile --rows $(ROWS) --seed $(SEED))

# With the JIT switched off a tuple takes a thousand times as long: only tests of short streams.
INTERPRETED = $(addprefix tests/,$(addsuffix /test_contract.py,routers planners sketches) \
	test_look_up.py test_table.py simulate/test_queues.py) -k "pieces or restored or equals or twin or plan"

coverage: $(STAMP) ## Measure how much of the kernels short streams reach, with the JIT switched off
	@NUMBA_DISABLE_JIT=1 $(CORE) $(INTERPRETED) --cov --cov-report= \
		-W "ignore:overflow encountered:RuntimeWarning" $(ARGS)
	@$(RUN) -m coverage report --include="$$(grep -lrE --include='*.py' '^@(kernel|inline)' src | paste -sd,)"

lint: $(STAMP) ## Check style, format and types
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

bench: $(STAMP) ## Run the benchmarks (BENCH=kernels runs one of them)
	@for name in $(BENCH); do \
		echo "== benchmarks/$$name.py"; $(RUN) benchmarks/$$name.py || exit 1; \
	done

claims: $(STAMP) ## Repeat the five papers' experiments and write docs/claims.md (some minutes)
	@$(RUN) -m trimtab claims --processes $$(nproc)

clean: ## Remove caches and compiled kernels, keep .venv
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist .coverage
	@find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
