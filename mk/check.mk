# Tests that need no GPU. Each target ends with a line `name: N passed, N failed`.

##@ Test
## check: run every test, also with sanitizers and with clang, and print one line of counts
##   FULL=1: all seeds and allocations, longer fuzzing
.PHONY: check
check:
	+$(Q)MAKE="$(MAKE)" BUILD=$(BUILD) sh tests/shell/check.sh

## check-unit: run the unit tests (SAN=1: with sanitizers)
.PHONY: unit check-unit
unit check-unit: $(call in_part,$(UNIT_BIN))
	$(Q)status=0; for t in $^; do $$t || status=1; done; exit $$status

FIXTURES := $(OUT)/run_fixtures --tool $(OUT)/tilevm --work $(OUT)/fixtures --rules tests/rules --part $(TEST_PART)
# Under an emulator the command cannot start itself, which `tilevm test` does.
FIXTURE_FILES ?= $(if $(EMULATED),$(shell find tests -name '*.test' ! -path '*suite*'),tests)
## check-fixtures: run the .test files
.PHONY: check-fixtures
check-fixtures: all $(OUT)/run_fixtures
	$(Q)sh tests/selftest/run.sh $(OUT)/run_fixtures $(OUT)/selftest
	$(Q)$(if $(filter release,$(CONFIG)),sh tests/selftest/check.sh $(OUT)/selftest/check)
	$(Q)$(FIXTURES) $(FIXTURE_FILES)

## golden: rewrite the expected output of the .test files, the API example, the PTX sums and rules.md; review the diff
.PHONY: golden
golden: all $(OUT)/run_fixtures $(OUT)/ptx_sums $(BUILD)/corpus/unpacked
	$(Q)$(PTX_SUMS) --update
	$(Q)$(FIXTURES) --update tests; status=$$?; $(MAKE) --no-print-directory -s docs && \
	    $(MAKE) --no-print-directory -s check-api UPDATE=1 && exit $$status

## corpus: unpack the corpus of real kernels
.PHONY: corpus
corpus: $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked
CORPUS_ARCHIVES := $(wildcard tests/corpus/*.tar.xz)
$(BUILD)/corpus/unpacked: $(CORPUS_ARCHIVES)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)for a in $(CORPUS_ARCHIVES); do xz -dc $$a | tar -xf - -C $(@D) || exit 1; done
	$(Q)touch $@

$(BUILD)/cpp/unpacked: tests/cpp/corpus.tar.xz
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && xz -dc $< | tar -xf - -C $(@D) && touch $@

CPP_RUN = $(OUT)/corpus_run $(BUILD)/cpp --version 13.5 --jobs 2 --part $(TEST_PART)
## check-cpp: run kernels of CUDA Tile C++ on the virtual machine, with its checks, and on the PTX simulator
.PHONY: check-cpp
check-cpp: all $(OUT)/corpus_run $(BUILD)/cpp/unpacked
	$(Q)status=0; $(CPP_RUN) || status=1; $(CPP_RUN) --checks tests/cpp/findings.txt || status=1; \
	    for t in $(PTX_TARGETS); do $(CPP_RUN) --ptx $$t --needs tests/cpp/unsupported.txt || status=1; done; exit $$status

## check-triton: run kernels in Triton's form on the virtual machine and the PTX simulator, for all targets
.PHONY: check-triton
check-triton: all $(OUT)/corpus_run
	$(Q)sh tests/shell/triton.sh $(OUT) $(OUT)/triton $(PTX_TARGETS)

## check-corpus: run every kernel of the corpus, again in the debugger, and with the checks of tilevm check
.PHONY: check-corpus
check-corpus: all $(filter $(OUT)/corpus_%,$(TEST_BIN)) $(BUILD)/corpus/unpacked
	$(Q)status=0; $(OUT)/corpus_bytes $(BUILD)/corpus $(TEST_PART) || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) --version 13.5 --debug || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) --checks tests/corpus/findings.txt || status=1; exit $$status

## check-matrix: run every op on every type against references (SAN=1: with sanitizers, fewer cases)
.PHONY: check-matrix
check-matrix: $(OUT)/matrix
	$(Q)$(OUT)/matrix --part=$(TEST_PART) $(if $(filter asan,$(CONFIG)),--quick)

## check-report: test reports and traces of runs, and the pages of reports in headless Chromium where there is one
.PHONY: check-report
check-report: all $(BUILD)/corpus/unpacked
	$(Q)if command -v $(PYTHON) >/dev/null; then \
	    $(PYTHON) tests/report/report.py $(OUT)/tilevm $(OUT)/report-work $(BUILD)/corpus; \
	    else echo "report: skipped, there is no $(PYTHON)"; fi

## check-toml: compare the reader of tilevm.toml with Python's tomllib on random documents (PYTHON: 3.11 or later)
.PHONY: check-toml
check-toml: $(OUT)/toml_dump
	$(Q)if command -v $(PYTHON) >/dev/null; then $(PYTHON) tests/toml/differential.py $< 20000 $(or $(ROUND),1); \
	    else echo "toml: skipped, there is no $(PYTHON)"; fi

## check-precision: run the corpus beside itself with more digits, and compare run --precision with NumPy (PYTHON)
.PHONY: check-precision
check-precision: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)status=0; $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) --precision || status=1; \
	    if $(PYTHON) -c 'import numpy' 2> /dev/null; then \
	        $(PYTHON) tests/precision/numpy_reference.py $(OUT)/tilevm $(OUT)/precision-work || status=1; \
	    else echo "precision beside NumPy: skipped, there is no numpy for $(PYTHON)"; fi; exit $$status

BATCH_KERNELS ?= $(if $(filter release,$(CONFIG)),4000,400)
BATCH_FIRST ?= $(shell expr 1 + $(or $(ROUND),0) '*' 10000)
## check-batches: run random kernels and the corpus in batches of tile blocks and block by block, and compare
##   BATCH_KERNELS: number of random kernels (4000), from seed BATCH_FIRST
.PHONY: check-batches
check-batches: $(OUT)/batches $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)status=0; $< $(BATCH_KERNELS) $(BATCH_FIRST) || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) --batch 2 || status=1; exit $$status

# OOM_MOST: allocations of each command; FULL=1: all of them, and of more commands.
OOM_MOST ?= $(if $(filter asan,$(CONFIG)),6,10)
OOM := $(OUT)/oom $(if $(FULL),,--most $(OOM_MOST)) --work $(OUT)/oom-work
OOM_FIXTURES := tests/oom $(if $(FULL),tests/cli/compile* tests/cli/insp*) \
    $(if $(filter asan,$(CONFIG)),,tests/check tests/text tests/run)
## check-oom: run the commands with allocations that fail (FULL=1: every one; SAN=1: with sanitizers)
.PHONY: check-oom
check-oom: $(OUT)/oom $(OOM_TOOLS) $(OOM_OWN) $(OUT)/fakecuda/libcuda.so.1
	$(Q)rm -rf $(OUT)/oom-work && mkdir -p $(OUT)/oom-work
	$(Q)status=0; $(OOM) --tool $(OUT)/oom-tools/tilevm $(OOM_FIXTURES) || status=1; \
	    TILEVM_PTXAS=none $(OOM) --tool $(OUT)/oom-tools/tileiras --exit 5 tests/oom/tileiras.fixture || status=1; \
	    FAKECUDA_RUN=1 LD_LIBRARY_PATH=$(abspath $(OUT)/fakecuda) $(OOM) --tool $(OOM_OWN) tests/oom/device.fixture || \
	        status=1; exit $$status

# Programs with threads, under ThreadSanitizer (CONFIG=tsan): the loader's scenarios, the loader's and the machine's
# unit tests, and the example of the API.
THREAD_UNITS := $(addprefix $(OUT)/unit/,loader hostile kernels)
THREAD_LOADER := $(OUT)/loader_faults $(OUT)/fakecuda/libcuda.so.1
$(OUT)/api_example: $(OUT)/obj/tests/api/example.o $(OUT)/libtilevm.a
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

.PHONY: tests-threads
tests-threads: $(THREAD_UNITS) $(THREAD_LOADER) $(OUT)/api_example

## check-threads: test the loader and the API with threads (CONFIG=tsan: under ThreadSanitizer)
.PHONY: check-threads
check-threads: tests-threads
	$(Q)rm -rf $(OUT)/loader-work && status=0; for t in $(THREAD_UNITS); do $$t || status=1; done; \
	    $(OUT)/loader_faults $(OUT)/loader-work || status=1; \
	    $(OUT)/api_example > $(OUT)/api_example.txt && echo "api: 1 passed, 0 failed" || \
	        { status=1; echo "api: 0 passed, 1 failed"; }; \
	    exit $$status

## check-debug: test the debugger on a terminal, with ^C, through a port, and with a client from PyPI
##   PYTHON: one with dap-python, cuda-tile, numpy
.PHONY: check-debug
check-debug: all
	$(Q)bash tests/shell/debug.sh $(OUT) $(OUT)/debug-work
	$(Q)if command -v $(PYTHON) >/dev/null; then PYTHONPATH=tools/python$${PYTHONPATH:+:$$PYTHONPATH} \
	        TILEVM_LIBRARY=$(abspath $(OUT))/libtilevm.so PYTHONDONTWRITEBYTECODE=1 \
	        $(PYTHON) tests/debug/client.py $(OUT)/tilevm $(OUT)/debug-work/client; \
	    else echo "dap client: skipped, there is no $(PYTHON)"; fi

## check-stop: test ^C and the progress display of tilevm run
.PHONY: check-stop
check-stop: all
	$(Q)sh tests/shell/stop.sh $(OUT) $(OUT)/stop-work

GPU_DEPLOY := $(OUT)/gpu_deploy
$(GPU_DEPLOY): $(OUT)/obj/tests/gpu/deploy.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

## check-loader: test the loader on a fake driver
.PHONY: check-loader
check-loader: all $(LOADER_TESTS) $(GPU_DEPLOY) $(OUT)/program $(OUT)/corpus_run $(OUT)/matrix $(OUT)/random_ptx \
    $(OUT)/random_memory $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked
	$(Q)rm -rf $(OUT)/loader-work
	$(Q)$(OUT)/loader_faults $(OUT)/loader-work
	$(Q)$(if $(SAN)$(EMULATED),,sh tests/shell/preload.sh $(OUT) $(OUT)/loader-work/preload)
	$(Q)PRELOAD=$(if $(SAN)$(EMULATED),no,yes) sh tests/shell/dropin.sh $(OUT) $(OUT)/loader-work/dropin
	$(Q)sh tests/shell/device.sh $(OUT) $(BUILD)/corpus $(OUT)/loader-work/device
	$(Q)PYTHON="$(PYTHON)" sh tests/shell/bench.sh $(OUT) $(BUILD)/corpus $(OUT)/loader-work/bench
	$(Q)PYTHON="$(PYTHON)" sh tests/shell/tune.sh $(OUT) $(BUILD)/corpus $(OUT)/loader-work/tune
	$(Q)sh tests/shell/doctor.sh $(OUT) $(OUT)/loader-work/doctor
	$(Q)$(if $(SAN)$(EMULATED),,LD_LIBRARY_PATH=$(abspath $(OUT)/fakecuda) \
	    TILEVM_PTXAS=$(abspath tests/fakecuda/ptxas.sh) FAKECUDA_RUN=1 FAKECUDA_DEVICES=90,80 \
	    bash tests/gpu/deploy.sh $(OUT) $(BUILD)/corpus)
	$(Q)$(if $(SAN)$(EMULATED),,sh tests/shell/first_hour.sh $(OUT) $(BUILD)/corpus $(BUILD)/cpp \
	    $(OUT)/loader-work/first-hour)
	$(Q)CC="$(CC)" SANITIZE="$(filter -fsanitize=%,$(OPT_$(CONFIG)))" sh tests/shell/bundle.sh $(OUT) $(BUILD)/corpus \
	    $(OUT)/loader-work/bundle

## check-malformed: open damaged files (SAN=1: with sanitizers)
.PHONY: check-malformed
check-malformed: $(filter $(OUT)/malformed,$(TEST_BIN)) $(BUILD)/corpus/unpacked
	$(Q)$(if $<,$(OUT)/malformed $(BUILD)/corpus tests/malformed $(TEST_PART))

PROPERTY_SEEDS ?= $(if $(FULL),$(if $(filter release,$(CONFIG)),200,40),$(if $(filter release,$(CONFIG)),80,20))
PROPERTY_FIRST ?= 1
PROPERTY_TARGETS ?= sm_80 sm_90a sm_100
## check-property: check properties of all modules on random ones, also as PTX on the simulator
##   PROPERTY_SEEDS: seeds per version (80; FULL=1: 200), from PROPERTY_FIRST
.PHONY: check-property
check-property: $(OUT)/property $(OUT)/random_ptx
	$(Q)$< $(PROPERTY_SEEDS) $(PROPERTY_FIRST)
	$(Q)status=0; first=$(PROPERTY_FIRST); for t in $(PROPERTY_TARGETS); do \
	    $(OUT)/random_ptx $(PROPERTY_SEEDS) $$t $$first || status=1; \
	    first=$$((first + $(PROPERTY_SEEDS))); done; exit $$status

RANDOM_KERNELS ?= $(if $(FULL),2000,$(if $(filter release,$(CONFIG)),300,60))
RANDOM_FIRST ?= $(shell expr 1 + $(or $(ROUND),0) '*' 2000)
RANDOM_TARGETS ?= $(if $(filter release,$(CONFIG)),sm_80 sm_90a sm_100a sm_120a,sm_90a)
RANDOM_PRODUCTS ?= $(if $(FULL),1000,$(if $(filter release,$(CONFIG)),150,30))
RANDOM_PRODUCT_TARGETS ?= $(if $(filter release,$(CONFIG)),sm_75 sm_80 sm_90a sm_100a sm_120a,sm_90a sm_100a)
RANDOM_CHAINS ?= $(if $(FULL),400,$(if $(filter release,$(CONFIG)),40,10))
RANDOM_PAIRS ?= $(if $(FULL),400,$(if $(filter release,$(CONFIG)),40,10))
RANDOM_JOBS ?= 1
## check-random: compile random kernels whose accesses overlap, and others that multiply, and run them on the simulator
##   RANDOM_KERNELS: number of kernels (300), from seed RANDOM_FIRST, each for RANDOM_TARGETS; RANDOM_JOBS: at a time;
##   RANDOM_PRODUCTS, RANDOM_PRODUCT_TARGETS: the same for those that multiply (150); RANDOM_CHAINS: number of chains
##   of products for sm_100a, most of them in pairs of thread blocks (40); RANDOM_PAIRS: the same of other products (40)
.PHONY: check-random
check-random: $(OUT)/random_memory
	$(Q)status=0; sh tests/shell/random_memory.sh $< $(RANDOM_KERNELS) $(RANDOM_FIRST) $(RANDOM_JOBS) \
	        $(OUT)/random-kernels $(RANDOM_TARGETS) || status=1; \
	    sh tests/shell/random_memory.sh $< $(RANDOM_PRODUCTS) $(RANDOM_FIRST) $(RANDOM_JOBS) \
	        $(OUT)/random-products $(RANDOM_PRODUCT_TARGETS) products || status=1; \
	    sh tests/shell/random_memory.sh $< $(RANDOM_CHAINS) $(RANDOM_FIRST) $(RANDOM_JOBS) \
	        $(OUT)/random-chains sm_100a chains || status=1; \
	    sh tests/shell/random_memory.sh $< $(RANDOM_PAIRS) $(RANDOM_FIRST) $(RANDOM_JOBS) \
	        $(OUT)/random-pairs sm_100a pairs || status=1; exit $$status

RANDOM_OLD ?= c1cf712
## random-old: find the defects of an earlier commit by random kernels, which must pass now; takes minutes
##   RANDOM_OLD: the commit (c1cf712); RANDOM_KERNELS, RANDOM_FIRST, RANDOM_JOBS as for check-random (5000, 1, 2)
.PHONY: random-old
random-old: RANDOM_KERNELS = 5000
random-old: RANDOM_FIRST = 1
random-old: RANDOM_JOBS = 2
random-old: $(OUT)/random_memory
	$(Q)MAKE="$(MAKE)" sh tests/shell/random_old.sh $< $(RANDOM_KERNELS) $(RANDOM_FIRST) $(RANDOM_JOBS) \
	    $(BUILD)/random-old $(RANDOM_OLD)

## check-made-up: run every kernel of the corpus with generated arguments
.PHONY: check-made-up
check-made-up: all $(BUILD)/corpus/unpacked
	$(Q)sh tests/shell/made_up.sh $(OUT)/tilevm $(BUILD)/corpus

## check-api: install the library, link it shared and static, and run the API example
.PHONY: check-api
check-api: all
	$(Q)MAKE="$(MAKE)" CC="$(CC)" UPDATE="$(UPDATE)" sh tests/api/check.sh $(OUT)/api

## check-commands: test terminals, colours, links, JSON documents and completions
.PHONY: check-commands
check-commands: all
	$(Q)sh tests/shell/commands.sh $(OUT) $(OUT)/commands

## check-programs: test device code in programs with every command
.PHONY: check-programs
check-programs: all $(OUT)/program $(BUILD)/corpus/unpacked
	$(Q)sh tests/shell/programs.sh $(OUT) $(BUILD)/corpus $(OUT)/programs

## check-compat: check the promises to programs and files of earlier releases
##   UPDATE=1: add new names to the lists
.PHONY: check-compat
check-compat: all $(LOADER_TESTS)
	$(Q)CC="$(CC)" UPDATE="$(UPDATE)" sh tests/shell/compat.sh $(OUT) $(OUT)/compat

## check-examples: parse the files for CI, containers and clusters, and run their commands
.PHONY: check-examples
check-examples: all $(LOADER_TESTS)
	$(Q)CC="$(CC)" sh tests/shell/examples.sh $(OUT) $(OUT)/examples

## check-hardening: check that binaries have PIE, RELRO, stack protectors and FORTIFY_SOURCE
.PHONY: check-hardening
check-hardening: all
	$(Q)sh tests/shell/hardening.sh $(OUT)

## check-python: test the Python package, its wheel, and cuTile without a GPU
##   PYTHON: one with numpy, cuda-tile, torch, pytest; tests of missing ones are skipped
.PHONY: check-python
check-python: wheel-files $(OUT)/fakecuda/libcuda.so.1 $(BUILD)/corpus/unpacked
	$(Q)CC="$(CC)" sh tests/shell/python.sh "$(PYTHON)" $(OUT) $(BUILD)/corpus/bytecode/13.4 $(OUT)/python

## check-reproducible: build a copy of the sources in another folder and compare the bytes
.PHONY: check-reproducible
check-reproducible: all
	+$(Q)MAKE="$(MAKE)" sh tests/shell/reproducible.sh $(OUT) $(OUT)/reproducible $(TEST_PART)
