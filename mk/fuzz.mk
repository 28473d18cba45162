# Mutation testing (tests/mutation/README.md) and fuzzing (tests/fuzz/README.md). libFuzzer needs clang
# (CONFIG=fuzz CC=clang); replaying does not.

MUTATE_FILES := $(or $(FILES),$(wildcard vm/*.c vm/*/*.c codegen/*.c codegen/*/*.c bytecode/verify/*.c loader/cache*.c))
COUNT ?= 200
SEED  ?= 1
JOBS  ?= 2
$(OUT)/plant: $(OUT)/obj/tests/mutation/plant.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

##@ Fuzzing and mutation testing
## mutate: plant COUNT single faults (SEED: 1) in FILES, one at a time, and list those that no fast test finds
.PHONY: mutate
mutate: $(OUT)/plant $(BUILD)/corpus/unpacked
	+$(Q)MAKE="$(MAKE)" MAKEFLAGS= sh tests/mutation/run.sh $(OUT)/plant $(BUILD) $(COUNT) $(SEED) $(JOBS) $(MUTATE_FILES)

RULE_KERNELS ?= 10000
## mutate-rules: drop the rules about the order of memory accesses one at a time, and check that kernels fail
##   RULE_KERNELS: random kernels per rule (10000); RULE_FILES: only rules of these files
.PHONY: mutate-rules
mutate-rules:
	+$(Q)MAKE="$(MAKE)" MAKEFLAGS= sh tests/mutation/rules.sh $(BUILD) $(RULE_KERNELS) $(JOBS) $(RULE_FILES)

## check-rules: check that each rule of mutate-rules occurs once in its file, and that its kernel exists
.PHONY: check-rules
check-rules:
	$(Q)sh tests/mutation/rules.sh $(BUILD) 0 1

FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_HEADERS := $(wildcard tests/fuzz/*.h)
FUZZ_LIBS := $(OUT)/libtools.a $(OUT)/libtilevm.a
FUZZ_SEEDS := $(OUT)/fuzz-seeds
# Where the commands are that make the seeds: a build without sanitizers makes the same ones, sooner.
FUZZ_TOOLS ?= $(OUT)
FUZZ_SECONDS ?= $(if $(FULL),60,8)
FUZZ_NEEDS_CLANG = $(if $(findstring clang,$(CC)),, \
    $(error fuzzing needs clang: make CONFIG=fuzz CC=clang $(firstword $(GOALS))$(if \
    $(shell command -v clang),,. On Debian: sudo apt-get install -y $(patsubst gcc,clang,$(DEBIAN_PACKAGES)) llvm)))
# What a target reads: seeds, crashes that were found, and (in FUZZ_CORPUS/<target>) what a long run has gathered.
FUZZ_INPUTS = $(FUZZ_SEEDS)/$* $(wildcard tests/fuzz/crashes/$* $(if $(FUZZ_CORPUS),$(FUZZ_CORPUS)/$*))

## fuzz: build the fuzz targets (CONFIG=fuzz CC=clang)
.PHONY: fuzz
fuzz: $(patsubst %,$(OUT)/fuzz_%,$(call in_part,$(FUZZ_NAMES)))

$(OUT)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_HEADERS) $(FUZZ_LIBS)
	$(FUZZ_NEEDS_CLANG)
	$(Q)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer $< $(LDFLAGS_ALL) $(FAST_LINKER) $(FUZZ_LIBS) $(LIBS) -o $@

$(OUT)/replay_%: tests/fuzz/fuzz_%.c $(FUZZ_HEADERS) $(FUZZ_LIBS)
	$(Q)$(CC) $(CFLAGS_ALL) -DFUZZ_REPLAY $< $(LDFLAGS_ALL) $(FAST_LINKER) $(FUZZ_LIBS) $(LIBS) -o $@

$(FUZZ_SEEDS)/made: tests/fuzz/make_seeds.sh $(FUZZ_TOOLS)/tilevm $(FUZZ_TOOLS)/program $(BUILD)/corpus/unpacked
	$(Q)sh $< $(FUZZ_TOOLS) $(BUILD)/corpus $(@D)

## check-fuzz-replay: replay the seeds and every crash ever found (SAN=1: with sanitizers)
.PHONY: check-fuzz-replay
check-fuzz-replay: $(patsubst %,replayed_%,$(call in_part,$(FUZZ_NAMES)))
replayed_%: $(OUT)/replay_% $(FUZZ_SEEDS)/made
	$(Q)$< $(FUZZ_INPUTS)

## fuzz-smoke: fuzz each target for FUZZ_SECONDS, 8 or with FULL=1 60 (CONFIG=fuzz CC=clang)
.PHONY: fuzz-smoke
fuzz-smoke: $(patsubst %,smoked_%,$(call in_part,$(FUZZ_NAMES)))
smoked_%: $(OUT)/fuzz_% $(FUZZ_SEEDS)/made
	$(Q)sh tests/fuzz/smoke.sh $< $(FUZZ_SECONDS) $(OUT)/smoke/$* $(FUZZ_INPUTS)

FUZZ_PROFILE := $(OUT)/profile
## fuzz-coverage: report the lines that seeds, crashes and FUZZ_CORPUS reach (CONFIG=coverage CC=clang)
.PHONY: fuzz-coverage
fuzz-coverage: $(FUZZ_NAMES:%=covered_%)
covered_%: $(OUT)/replay_% $(FUZZ_SEEDS)/made
	$(FUZZ_NEEDS_CLANG)
	$(Q)mkdir -p $(FUZZ_PROFILE)
	$(Q)LLVM_PROFILE_FILE=$(FUZZ_PROFILE)/$*.raw $< $(FUZZ_INPUTS) > /dev/null
	$(Q)llvm-profdata merge -sparse $(FUZZ_PROFILE)/$*.raw -o $(FUZZ_PROFILE)/$*.data
	$(Q)llvm-cov report $< -instr-profile=$(FUZZ_PROFILE)/$*.data $(FUZZ_AREA_$*) > $(FUZZ_PROFILE)/$*.txt
	$(Q)awk '$$1 == "TOTAL" { print "$*: " $$10 " of " $$8 " lines; by file: $(FUZZ_PROFILE)/$*.txt" }' \
	    $(FUZZ_PROFILE)/$*.txt
# The code that a target is about.
FUZZ_AREA_read := $(wildcard bytecode/read/*)
FUZZ_AREA_body := $(wildcard bytecode/read/body.c bytecode/verify/*.c bytecode/print/*.c bytecode/write/write.c)
FUZZ_AREA_text := $(wildcard bytecode/parse/*.c)
FUZZ_AREA_symbol := $(wildcard bytecode/symbol/*.c)
FUZZ_AREA_args := $(wildcard $(addprefix tools/tilevm/,args/spec.c args/make.c args/json.c io/*.c))
FUZZ_AREA_bundle := $(wildcard loader/bundle/*.c) bytecode/base/zip.c
FUZZ_AREA_fleet := $(wildcard tools/tilevm/fleet/*.c)
FUZZ_AREA_dap := $(wildcard tools/tilevm/debug/*.c vm/debug/*.c)
FUZZ_AREA_debug := $(FUZZ_AREA_dap)
FUZZ_AREA_tune := $(wildcard tools/tilevm/bench/space.c tools/tilevm/bench/saved.c)
FUZZ_AREA_toml := $(wildcard tools/tilevm/report/toml.c tools/tilevm/report/suppress.c)
FUZZ_AREA_container := $(wildcard container/*.c)
FUZZ_AREA_demangle := bytecode/base/demangle.c
FUZZ_AREA_ptx := $(wildcard codegen/*.c codegen/*/*.c)
FUZZ_AREA_tokens := $(FUZZ_AREA_ptx)
FUZZ_AREA_vm := $(wildcard vm/*.c vm/*/*.c)
