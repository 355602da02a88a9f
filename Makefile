# Thin: every target is one line to a real command. `make demo` is the place to begin.
PYTHON ?= python3
BIN := .venv/bin
# Every extra but chdb, which is twice the size of all others together: tests/production/chdb.lock has it.
LOCKED := otlp github calibrate mcp clickhouse ray docs dev
# Tests start the command thousands of times: each would compile the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: engines demo drift-real demo-drift demo-causes demo-judge eval eval-findings eval-causes eval-judge test test-full tools images browser runtimes clickhouse lint bench soak audit licences install lock reference docs clean demo-online demo-simulate demo-optimise demo-real-model demo-view eval-optimise eval-themes eval-shifts bench-online kill-receiver mutate release release-tools
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: tools ## build what is missing, run the drive-thru suite with both agents, compare them
	@$(BIN)/python -m qa.demo drive_thru

demo-judge: install ## judge the drive-thru suite by a rubric, hold the judge against people's labels, calibrate it
	@$(BIN)/python -m qa.demo_judge

demo-drift: install ## a service changes under its recordings: issues are filed, grow, stay quiet, and close by themselves
	@$(BIN)/python -m qa.demo_drift

demo-causes: install ## the step that made a trial fail, found by trying
	@$(BIN)/python -m qa.demo_causes

eval-causes: install ## planted causes: the exact step by intervention beside the detectors' guess
	@$(BIN)/python -m qa.counterfactual_eval.planted drive_thru drive_thru_talk basics library_desk grocery,40

demo-view: demo ## the app over the demo's runs: prints a link and opens it; Ctrl-C ends it
	@$(BIN)/harness view

demo-online: install ## production: 300 sessions of two releases, scored, grouped into themes, filed, and one made a case
	@$(BIN)/python -m qa.demo_online

demo-simulate: install ## ten grocery scenarios, two versions of the shopper, a user who is a model and one who is a log
	@$(BIN)/python -m qa.demo_simulate

demo-optimise: install ## two planted faults in prompts are mended by doubles, and a bait is refused
	@$(BIN)/python -m qa.demo_optimise

demo-real-model: install ## two small models on this machine are agent, user, judge and reflector (fetches 330 MB, takes minutes)
	@$(BIN)/python -m qa.demo_real_model

eval-optimise: install ## planted faults in prompts: mended, not or harmed, by mode, beside random search (doubles; long)
	@$(BIN)/python -m qa.optimise_eval

drift-real: install ## drift between releases of real servers, against what their changelogs say (needs the network)
	@$(BIN)/python -m qa.drift_real.run

eval: install ## the daily command: run the suite, print scores and the difference to the last comparable run
	@$(BIN)/harness run drive_thru

eval-findings: install ## what findings show on published runs, beside the figures to reach (HARNESS_REAL_DATA says where they are)
	@$(BIN)/python qa/findings_eval/run.py

eval-themes: install ## planted causes in real trajectories found again as themes (HARNESS_REAL_DATA says where they are)
	@$(BIN)/python -m qa.themes_eval

eval-shifts: install ## planted shifts of production: days to the alert, false alarms a year
	@$(BIN)/python -m qa.production.shifts

bench-online: install ## production: spans received a second, a session of 1 M spans, a day's report, scoring (5 GB of disk)
	@$(BIN)/python -m qa.production.speed

kill-receiver: install ## kill -9 of the receiver at 100 random moments: spans lost, doubled
	@$(BIN)/python -m qa.production.senders --kills 100

eval-judge: install ## judge prompts beside experts, judged criteria beside a reward (HARNESS_REAL_DATA says where they are)
	@$(BIN)/python qa/judge_eval/llmbar.py
	@$(BIN)/python qa/judge_eval/airline.py

test: install tools ## the tests, containers included where a daemon answers
	@$(BIN)/pytest -m "not slow" -n 2 --dist loadfile --no-loadscope-reorder

test-full: install images ## the slow tests: frameworks, browser, escapes
	@$(BIN)/pytest -m slow -n 3 --dist loadfile --no-loadscope-reorder

tools: install ## what base images are made with (as root, on Debian), and the base image
	-@command -v mmdebstrap > /dev/null || { apt-get update --quiet && apt-get install --yes --no-install-recommends mmdebstrap; }
	-@$(BIN)/harness image build base

images: tools ## every image of the project, so that no test has to wait for one
	-@$(BIN)/harness image build && $(BIN)/harness image build browser

browser: ## the Chromium that `make test-full` looks at reports with (as root, on Debian)
	apt-get update --quiet && apt-get install --yes --no-install-recommends chromium fonts-dejavu-core

runtimes: ## the second container runtime, crun, that `make test-full` runs sandboxes under (as root, on Debian)
	apt-get update --quiet && apt-get install --yes --no-install-recommends crun

engines: install ## other container engines that `make test-full` runs sandboxes on: Docker 26.1 and Podman (as root, on Debian)
	apt-get update --quiet && apt-get install --yes --no-install-recommends podman uidmap slirp4netns netavark
	@$(BIN)/python -m tests.sandbox.engines.docker_26

clickhouse: install ## ClickHouse inside of the process, chdb, about 500 MB, which the tests of that engine need
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r tests/production/chdb.lock

lint: install ## format, lint, types, import contracts, size
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python -m qa.size

bench: install ## speed as ratios measured in one run
	@$(BIN)/python -m qa.bench

mutate: install ## plant mutants in the core rooms, and count those that the room's fast tests notice (long)
	@$(BIN)/python -m qa.mutation $(ARGS)

soak: install ## attacks and faults, long, in one table: tries, survived, lost, left behind (as root: some need it)
	@$(BIN)/python -m qa.soak

audit: install ## the pinned versions against the published advisories (exit 3 where they cannot be had)
	@$(BIN)/python -m tests.supply.audit

licences: install ## what an installation brings with it, and under which licence
	@$(BIN)/python -m tests.supply.licences

release: install release-tools ## the wheel, the source distribution and the bill of materials, checked, in dist/
	@$(BIN)/python -m tests.supply.release

release-tools: .venv-release/installed ## what `make release` and its tests need: twine, cyclonedx-py, uv, pipx

.venv-release/installed: tests/supply/release.lock
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --no-deps --require-hashes -r $<
	@touch $@

install: .venv/installed ## the virtual environment

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

lock: ## pin again: names, versions and hashes, no addresses (needs uv)
	uv pip compile --quiet pyproject.toml $(LOCKED:%=--extra %) --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --output-file requirements.lock
	echo hatchling | uv pip compile --quiet pyproject.toml - --extra github --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --constraint requirements.lock --output-file harness/cli/template_github/requirements.txt
	printf 'twine\ncyclonedx-bom\nuv\npipx\n' | uv pip compile --quiet - --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --constraint requirements.lock --output-file tests/supply/release.lock
	echo 'chdb>=4.1.7,<5' | uv pip compile --quiet - --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --constraint requirements.lock --output-file tests/production/chdb.lock

reference: install ## the generated pages of docs/reference/: files, schemas, command line, routes, checks, metrics, detectors
	@$(BIN)/python -m tests.docs.reference

docs: install ## build the documentation into site/, strictly and without a network
	@$(BIN)/python -m tests.docs.build

clean: ## remove the virtual environment and what runs left in this folder
	rm -rf .venv .venv-release .harness dist runs
