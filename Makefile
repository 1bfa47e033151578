# MLHub's commands. `make` or `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export PYTHONDONTWRITEBYTECODE := 1
export NODE_USE_SYSTEM_CA := 1
export TIMEFORMAT = $@ took %1R s, %1U + %1S s of processors
EXIT ?=

##@ Use it
.PHONY: demo up down help
demo: setup frontend  ## Start the platform, train three models as two people, show the dashboard (EXIT=1: stop then)
	@python -m mlhub.embedded up --demo $(if $(EXIT),--exit)

up: setup frontend  ## Start the platform: http://127.0.0.1:8000 or $MLHUB_PORT; state lies in .mlhub or $MLHUB_HOME
	@python -m mlhub.embedded up

down: setup  ## Stop a platform that runs elsewhere
	@python -m mlhub.embedded down

help:  ## List these commands
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Set up
.PHONY: setup frontend browser lock clean
setup: $(VENV)/.compiled  ## Create .venv with the pinned requirements

$(VENV)/.installed: requirements.txt requirements-dev.txt requirements-data.txt deploy/local/setup.sh
	@PYTHON=$(PYTHON) deploy/local/setup.sh $(VENV)
	@touch $@

# The platform's processes write no bytecode: without it each of them would compile all packages again at every start. A
# second client of Kubernetes, for asyncio, is left out: 963 files that nothing here imports. Some packages ship templates
# that are no Python.
$(VENV)/.compiled: $(VENV)/.installed
	@echo "setup: compiling"
	@python -m compileall -qq -j 0 -x '/tests?/|/kubernetes/aio/' -i $(VENV)/.packages || true
	@touch $@

FRONTEND_SOURCES := $(shell find frontend/src frontend/public frontend/build -type f 2>/dev/null) $(wildcard frontend/*.json frontend/*.ts frontend/index.html)
frontend: frontend/dist/index.html  ## Build the dashboard

frontend/node_modules/.installed: frontend/package-lock.json | $(VENV)/.installed
	@echo "dashboard: installing packages"
	@cd frontend && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
	@touch $@

frontend/dist/index.html: frontend/node_modules/.installed $(FRONTEND_SOURCES)
	@echo "dashboard: building"
	@cd frontend && time npm run --silent build -- --logLevel warn
	@touch $@

browser:  ## Install Chromium for the browser test (Debian or Ubuntu, root or sudo)
	@deploy/local/chromium.sh

lock: setup  ## Pin the requirements anew
	@deploy/local/lock.sh

clean:  ## Remove what was built (not the platform's state)
	rm -rf $(VENV) frontend/node_modules frontend/dist .mypy_cache .ruff_cache .pytest_cache

##@ On a cluster
.PHONY: kube-check
kube-check: setup  ## Is that cluster fit for MLHub? KUBECONFIG=path IMAGE=runtime-image; cleans up after itself
	@python -m mlhub.backends.kubernetes.check $(if $(KUBECONFIG),--kubeconfig $(KUBECONFIG)) $(if $(IMAGE),--image $(IMAGE))

##@ Check it
.PHONY: test test-rest test-slow lint scan format types imports layers picture touched schema schema-check tables client unit frontend-test e2e visual visual-renew pictures chaos-ci chaos fuzz soak docs
# Python tests by groups, a process and servers of its own each: no process collects what another runs. What is in no
# other group is in `rest`.
GROUP_runtime := tests/runtime tests/backends
GROUP_control := tests/control tests/jobs tests/metrics tests/tenants
GROUP_library := tests/scheduler tests/parity tests/cli tests/docs tests/deploy tests/architecture tests/packaging
GROUP_rest = $(filter-out $(GROUP_runtime) $(GROUP_control) $(GROUP_library) %/e2e %/__pycache__,$(patsubst %/,%,$(wildcard tests/*/)))
UNIT := unit-runtime unit-control unit-library unit-rest

# One more at a time than there are processors, so that none is idle while a browser, a server or a registry is waited for:
# with two more each part takes a tenth more of them. First what most parts need, and what is short, while the dashboard's
# packages are fetched. Then the rest, what takes longest in one process first: alone at the end it would leave processors
# idle. make keeps to the order only where nothing that a part needs is still to be made. A part prints when it has ended.
FIRST := compiled frontend docs imports
PARTS := unit-rest unit-runtime unit-control unit-library e2e frontend-test types lint schema-check
IN_PARALLEL = $(MAKE) --no-print-directory --jobs=$$(($$(nproc) + 1)) --output-sync=target
test:  ## Everything that must pass, but for test-slow and chaos-ci
	@+$(IN_PARALLEL) $(FIRST)
	@+$(IN_PARALLEL) COMPILED=yes $(PARTS)
	@echo "make test: everything passed"

# Two processes for tests of the whole platform, each with one that all of its tests share, and as many as for `make unit` for
# all others: first those of faults, which wait for half of their time. The tests of a file stay together; each process has
# servers of its own. `make chaos` alone runs the four files that take longest. PART=2/3 runs the second third of the slow tests
# by what they took when the times were stored (STORE=yes), and all tests of faults.
POOL := --dist loadfile --no-loadscope-reorder
ONLY_IN_CHAOS := chaos/test_(sandbox_processes|platform|backups|bucket_kills)
FILES_MARKED = $$(grep -rlE --include='test_*.py' 'mark\.($(1))' tests | grep -vE '^tests/e2e/|$(ONLY_IN_CHAOS)')
DIVIDED := $(if $(PART),--group $(firstword $(subst /, ,$(PART))) --splits $(lastword $(subst /, ,$(PART))))
DIVIDED += $(if $(STORE),--store-durations --clean-durations)
SLOW_IN_PARALLEL = $(MAKE) --no-print-directory --jobs=2 --output-sync=target
test-rest: compiled frontend browser  ## All that make test leaves out: test-slow and chaos-ci (PART=1/3: a third of the slow ones)
	@+$(SLOW_IN_PARALLEL) chaos-ci slow-e2e slow-unit
	@echo "make test-rest: everything passed"

test-slow: compiled frontend browser  ## What takes a processor for half a second or more: gangs, platforms, sandboxes, pages (ARGS= PART=)
	@+$(SLOW_IN_PARALLEL) slow-e2e slow-unit
	@echo "make test-slow: everything passed"

chaos-ci: compiled  ## The tests of faults, which all others leave out: platforms, rounds and restores killed, objects corrupted
	@time PYTHONDONTWRITEBYTECODE= python -m pytest -m chaos -n $(JOBS) $(POOL) --durations=8 $(or $(ARGS),$(call FILES_MARKED,chaos))

.PHONY: slow-e2e slow-unit
slow-e2e: compiled
	@time python -m pytest -m "slow and e2e" -n 2 --dist loadfile --durations=8 --durations-path=tests/durations-e2e.json \
	  $(DIVIDED) $(or $(ARGS),tests/e2e)

slow-unit: compiled
	@time PYTHONDONTWRITEBYTECODE= python -m pytest -m "slow and not e2e and not chaos" -n $(JOBS) $(POOL) --durations=12 \
	  --durations-path=tests/durations-unit.json $(DIVIDED) $(or $(ARGS),$(call FILES_MARKED,slow))

# Bytecode of the code itself is looked after each time, but by `make test` once, before its parts begin.
.PHONY: compiled
compiled: setup
	@python -c "from mlhub.embedded.bytecode import compile_sources; compile_sources()"
SOURCES := $(if $(COMPILED),setup,compiled)

.PHONY: $(UNIT)
$(UNIT): unit-%: $(SOURCES) frontend/node_modules/.installed
	@time PYTHONDONTWRITEBYTECODE= python -m pytest -m "not slow and not e2e and not chaos" $(GROUP_$*)

lint: setup frontend/node_modules/.installed scan  ## ruff (with bandit's rules), oxlint with type checks, and the scans
	@ruff check . && ruff format --check --quiet . || { echo "mend with: make format"; exit 1; }
	@cd frontend && time npm run --silent lint

scan: setup frontend/node_modules/.installed  ## Known flaws of the pinned packages (pip-audit, npm audit)
	@time python deploy/local/scan.py

format: setup  ## Let ruff mend what it can
	@ruff check --fix . ; ruff format .

types: $(VENV)/.installed  ## mypy
	@time mypy scheduler mlhub

imports: $(VENV)/.installed  ## Who may import whom
	@time lint-imports --no-cache

docs: $(VENV)/.installed  ## The documentation as a site, in .mlhub/site/html, every link checked (ARGS=--serve)
	@time python deploy/docs/site.py $(ARGS)

picture: setup  ## Draw the components in ARCHITECTURE.md from the import graph
	@python -m tests.architecture.picture --write

touched: setup  ## How many files the last commits of each kind touched
	@python -m tests.architecture.touched

layers: setup  ## Levels, import cycles and large folders of the scheduler and the training runtime
	@python -m tests.architecture.layers $(ARGS)

schema: setup frontend/node_modules/.installed  ## Write the OpenAPI schema, the dashboard's types and the Python client from the code
	@python manage.py spectacular --validate --fail-on-warn --file frontend/openapi.yaml
	@cd frontend && npm run --silent schema
	@python deploy/client/generate.py

tables: setup  ## Write mlhub/core/schema.sql, which empty databases start from, after a change of migrations
	@python deploy/local/tables.py

texts: setup  ## Add new texts of the server to the catalogues in mlhub/locale, compile these, and say what is missing
	@python deploy/local/texts.py $(ARGS)

client: setup  ## Write the typed part of mlhub.client from the schema, and its blocking twin
	@python deploy/client/generate.py

schema-check: setup frontend/node_modules/.installed  ## The committed schema, types and client are those of the code
	@time deploy/local/schema-check.sh

# All groups of Python tests at once, in one process more than there are processors. JOBS=0: in one process. With bytecode
# a process of the platform starts in three quarters of the time, and tests are collected in half of it.
JOBS ?= $(shell n=$$(nproc); echo $$((n < 3 ? n + 1 : 4)))
unit: compiled frontend/node_modules/.installed  ## Python tests, with real PostgreSQL and Valkey (JOBS=processes)
	@time PYTHONDONTWRITEBYTECODE= python -m pytest -m "not slow and not e2e and not chaos" -n $(JOBS) $(POOL) $(ARGS)

frontend-test: frontend/node_modules/.installed  ## The dashboard's tests
	@cd frontend && time npm test --silent

visual: setup frontend browser  ## All pages of the dashboard look as their references do (ARGS=pattern of pages)
	@time python -m tests.e2e.visual $(ARGS)

pictures: setup frontend browser  ## The pictures of the README and of the first job, from the dashboard as it is
	@python -m tests.e2e.showcase
	@MLHUB_SCREENSHOTS=docs/images/first-job python -m pytest -m "e2e and slow" tests/e2e/test_first_job.py

visual-renew: setup frontend browser  ## Take the pages as they are for references (ARGS=pattern of pages)
	@time python -m tests.e2e.visual --renew $(ARGS)

e2e: $(SOURCES) frontend  ## The whole platform, driven through a real browser
	@deploy/local/chromium.sh  # no prerequisite: make begins with what waits for none, and this part is to come early
	@time python -m pytest -m "e2e and not slow" $(or $(ARGS),tests/e2e)

.PHONY: test-scripts
test-scripts: setup  ## Run unchanged scripts on a platform of their own; writes benchmarks/results/scripts.md (ARGS=names)
	@OMP_NUM_THREADS=1 python -m tests.scripts $(if $(ARGS),$(ARGS),--page benchmarks/results/scripts.md)

.PHONY: test-examples
test-examples: setup  ## Run examples/ on a platform of its own, by the commands of its README (ARGS=names)
	@OMP_NUM_THREADS=1 python -m tests.examples $(ARGS)

chaos: setup  ## What is guaranteed under faults, as much as fits into MINUTES=10; writes docs/guides/guarantees.md
	@OMP_NUM_THREADS=1 python -m tests.chaos --minutes $(or $(MINUTES),10) $(ARGS)

soak: setup  ## Random faults on a running platform for HOURS=1 (SEED=number repeats them)
	@OMP_NUM_THREADS=1 python -m tests.chaos.soak --hours $(or $(HOURS),1) $(if $(SEED),--seed $(SEED))

fuzz: setup  ## Corrupt what pods and clusters write, a round after each (EXAMPLES=10000, 300 in `make chaos-ci`)
	@EXAMPLES=$(or $(EXAMPLES),10000) python -m pytest -n $(JOBS) --timeout=0 --show-capture=no tests/fuzz $(ARGS)

##@ Measure it
.PHONY: bench-training bench-convergence bench-testbed bench-slow-network bench-scheduling
bench-training: setup  ## What the training runtime costs; writes benchmarks/results/training.md (QUICK=1)
	@OMP_NUM_THREADS=1 python -m benchmarks.training $(if $(QUICK),--quick) $(ARGS)

.PHONY: bench-gpu
bench-gpu: setup  ## All-reduce and a parameter server on a GPU against plain torch; writes benchmarks/results/gpu-speed.md
	@python -m benchmarks.gpu

.PHONY: bench-properties bench-histories bench-scheduling-cost
bench-properties: setup  ## What must hold for every history, on EXAMPLES=10000 of them a property (POLICIES="drf fair")
	@PROPERTY_EXAMPLES=$(or $(EXAMPLES),10000) PROPERTY_POLICIES="$(POLICIES)" python -m pytest --timeout=0 tests/scheduler/test_properties.py tests/scheduler/test_histories.py tests/scheduler/quota/test_rest.py

bench-histories: setup  ## Random histories under every policy, goes on where it ended; writes benchmarks/results/histories.md (ARGS=)
	@python -m benchmarks.histories $(ARGS)

bench-scheduling-cost: setup  ## What rounds and simulations cost by size ($MLHUB_TRACES or DATA=folder; QUICK=1)
	@OMP_NUM_THREADS=1 python -m benchmarks.scheduling_cost $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)

.PHONY: bench-startup
bench-startup: setup  ## From POST to the first step, and what starts import; writes benchmarks/results/startup.md (ARGS=)
	@python -m benchmarks.startup $(ARGS)

.PHONY: bench-dashboard
bench-dashboard: setup frontend  ## Pages of the dashboard with 10 to 10,000 jobs in Chromium; writes benchmarks/results/dashboard.md (ARGS=)
	@python -m benchmarks.dashboard --page benchmarks/results/dashboard.md $(ARGS)

.PHONY: bench-servers-return
bench-servers-return: setup  ## What a killed parameter server costs; writes benchmarks/results/servers-return.md (ARGS=)
	@OMP_NUM_THREADS=1 python -m benchmarks.servers_return $(ARGS)

.PHONY: bench-network
bench-network: setup  ## Policies on racks with narrow uplinks; writes benchmarks/results/network.md (DATA=folder OUT=folder)
	@OMP_NUM_THREADS=1 python -m benchmarks.network $(if $(DATA),--data $(DATA)) --out $(or $(OUT),.mlhub/network-compared) $(ARGS)

.PHONY: bench-mixed-gpus
bench-mixed-gpus: setup  ## Policies on several GPU types; writes benchmarks/results/mixed-gpus.md (DATA=folder OUT=folder)
	@OMP_NUM_THREADS=1 python -m benchmarks.mixed_gpus $(if $(DATA),--data $(DATA)) --out $(or $(OUT),.mlhub/mixed-gpus) $(ARGS)

.PHONY: bench-advice bench-predictions bench-models
bench-advice: setup  ## How often advice of /why comes true in the simulator; writes benchmarks/results/advice.md
	@OMP_NUM_THREADS=1 python -m benchmarks.advice --out benchmarks/results/advice.md

bench-predictions: setup  ## Step times and ends, predicted and true; writes benchmarks/results/predictions.md (DATA=folder)
	@OMP_NUM_THREADS=1 python -m benchmarks.predictions $(if $(DATA),--data $(DATA))

bench-models: setup  ## What each model predicts, drawn; writes the figures of docs/guides/scheduling.md (DATA=folder)
	@OMP_NUM_THREADS=1 python -m benchmarks.models $(if $(DATA),--data $(DATA))

bench-convergence: setup  ## How well every strategy learns, with stragglers; writes benchmarks/results/convergence.md (WORK=folder)
	@OMP_NUM_THREADS=1 python -m benchmarks.convergence $(if $(WORK),--work $(WORK)) $(ARGS)

.PHONY: bench-defaults
bench-defaults: setup  ## What jobs without hyperparameters learn; writes benchmarks/results/defaults.md (SKLEARN=python)
	@OMP_NUM_THREADS=1 python -m benchmarks.defaults $(if $(SKLEARN),--sklearn $(SKLEARN)) $(ARGS)

bench-slow-network: setup  ## Speed over workers and servers on slow links (root); writes benchmarks/results/slow-network.md
	@python -m benchmarks.slow_network $(ARGS)

bench-testbed: setup  ## Real jobs on virtual nodes under several policies (root); writes benchmarks/results/testbed.md
	@python -m benchmarks.testbed $(ARGS)

bench-scheduling: setup  ## The scheduler against published figures and its rivals ($MLHUB_TRACES or DATA=folder; QUICK=1)
	@OMP_NUM_THREADS=1 python -m benchmarks.scheduling $(if $(DATA),--data $(DATA)) $(if $(QUICK),--quick)
