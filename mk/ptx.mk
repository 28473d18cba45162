# Tests of the PTX that the code generator writes: simulated, assembled, compared with sums.

# Targets that the simulator runs.
PTX_TARGETS ?= sm_75 sm_80 sm_90a

CORPUS_PTX = $(OUT)/corpus_run $(BUILD)/corpus --version 13.5 --needs tests/corpus/unsupported.txt \
    --part $(TEST_PART) --jobs 2
##@ Test the code generator
## check-ptx: compile the corpus and run it on the PTX simulator, for sm_90a also over clusters
.PHONY: check-ptx
check-ptx: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)status=0; for t in $(PTX_TARGETS); do $(CORPUS_PTX) --ptx $$t || status=1; done; \
	    for t in $(filter sm_90a,$(PTX_TARGETS)); do $(CORPUS_PTX) --ptx $$t --cluster 2 || status=1; done; exit $$status

## check-choices: the same with another choice for each case in place of what passes decide
.PHONY: check-choices
check-choices: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)status=0; for t in $(PTX_TARGETS); do $(CORPUS_PTX) --ptx $$t --choice each || status=1; done; exit $$status

REFERENCE_TARGETS ?= sm_90 sm_100 sm_103 sm_110 sm_120
REFERENCE_BLOCKS ?= 1 2
## check-sim-reference: run the PTX of NVIDIA's tile compiler for the corpus, and of stock Triton, on the simulator
##   TILEIR_TOOLS: the folder of tileiras; REFERENCE_TARGETS, REFERENCE_BLOCKS: for what; TEST_PART=I/N: every Nth case;
##   PYTHON: one with triton 3.6 and NumPy
.PHONY: check-sim-reference
check-sim-reference: check-sim-triton $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)TILEIR_TOOLS="$(TILEIR_TOOLS)" sh tests/shell/reference.sh $(OUT) $(BUILD)/corpus $(BUILD)/reference \
	    "$(REFERENCE_TARGETS)" "$(REFERENCE_BLOCKS)" $(TEST_PART)
## check-sim-triton: run the PTX of stock Triton for its kernels on the simulator (tests/triton/README.md)
.PHONY: check-sim-triton
check-sim-triton: $(OUT)/ptxsim
	$(Q)if command -v $(PYTHON) > /dev/null; then \
	    $(PYTHON) tests/triton/stock.py $(OUT)/ptxsim $(BUILD)/stock-triton --part $(TEST_PART); \
	    else echo "stock triton: skipped, there is no $(PYTHON)"; fi

PTX_SUMS = $(OUT)/ptx_sums $(BUILD)/corpus/bytecode/13.5 tests/ptx/sums.txt $(BUILD)/ptx-sums
## check-ptx-sums: check that the PTX of every kernel is unchanged (`make golden` accepts a change)
.PHONY: check-ptx-sums
check-ptx-sums: $(OUT)/ptx_sums $(BUILD)/corpus/unpacked
	$(Q)$(PTX_SUMS)

## check-ptx-order: check fixtures of PTX and the sums as built by another compiler of C, whose order of arguments must
##   not matter (CC=clang BUILD=build/clang)
.PHONY: check-ptx-order
check-ptx-order: all $(OUT)/run_fixtures $(OUT)/ptx_sums $(BUILD)/corpus/unpacked
	$(Q)status=0; $(FIXTURES) tests/ptx || status=1; $(PTX_SUMS) || status=1; exit $$status

# Loads that stay behind for want of an analysis: one of k14_control.cu, compiled twice, in a loop with two exits, and
# one of list_of_arrays_sum, through a view that the loop makes.
CORPUS_BEHIND := 3
LOADS_TOLD = $(BUILD)/corpus/bytecode/13.5 $(BUILD)/cpp/bytecode
## check-loads-told: check that a remark says for every load in a loop how it is prefetched, or why not
##   and that no more than are known stay behind for want of an analysis
.PHONY: check-loads-told
check-loads-told: $(OUT)/loads_told $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked
	$(Q)$(OUT)/loads_told $(LOADS_TOLD)
	$(Q)if command -v $(PYTHON) > /dev/null; then \
	    $(PYTHON) tools/loads_kinds.py $(OUT) $(ZOO_LIMITS) --most $(CORPUS_BEHIND) $(LOADS_TOLD); \
	    else echo "loads-kinds: skipped, there is no $(PYTHON)"; fi

FIGURE_CASES = $(BUILD)/figures-composed
## check-figures: run the kernels that are composed for bench-gpu-figures on the virtual machine and the simulator, and
##   test its tools, without a GPU
.PHONY: check-figures
check-figures: all $(OUT)/fakecuda/libcuda.so.1
	$(Q)PYTHON=$(PYTHON) sh tests/shell/figures.sh $(OUT)/tilevm
	$(Q)rm -rf $(FIGURE_CASES) && $(PYTHON) tests/gpu/perf/figures.py $(FIGURE_CASES) --tilevm $(OUT)/tilevm
	$(Q)$(PYTHON) tests/gpu/perf/zoo_tiny.py $(OUT)/tilevm $(FIGURE_CASES)
	$(Q)$(PYTHON) tools/zoo_check.py $(OUT) $(FIGURE_CASES) --jobs $(PROCESSORS)

OWN_COUNTERS = $(foreach of,fmha decode latent,$(BUILD)/sweep-cases/$(of)*.tbc) \
    $(foreach of,perf_attention attention,$(BUILD)/corpus/bytecode/13.4/$(of)*.tbc)
## check-own-counters: check that the PTX of attention is the same if its tiles are indexed by a counter of their own
.PHONY: check-own-counters
check-own-counters: all $(BUILD)/sweep-cases/unpacked $(BUILD)/corpus/unpacked
	$(Q)$(PYTHON) tests/gpu/perf/own_counter.py $(OUT)/tilevm $(OWN_COUNTERS)

SPILLS = sh tests/shell/spills.sh $(OUT)/tilevm $(BUILD)/corpus/bytecode/13.5 tests/ptx/spills.txt sm_90a \
    $(BUILD)/spills
## check-spills: check that ptxas spills no more in any kernel, and serialises no products in flight
.PHONY: check-spills
check-spills: all $(BUILD)/corpus/unpacked
	$(Q)$(SPILLS) $(TEST_PART)
## spills: accept the current spills of ptxas (tests/ptx/spills.txt)
.PHONY: spills
spills: all $(BUILD)/corpus/unpacked
	$(Q)$(SPILLS) --update

## check-ptxas: assemble the corpus for every target with ptxas, where it is installed
.PHONY: check-ptxas
check-ptxas: all $(OUT)/assemble $(BUILD)/corpus/unpacked
	$(Q)$(OUT)/assemble $(BUILD)/corpus tests/corpus/unsupported.txt --part $(TEST_PART) --jobs $(PROCESSORS)

## check-matrix-ptx: run the same ops as PTX on the simulator, for five targets
.PHONY: check-matrix-ptx
check-matrix-ptx: $(OUT)/matrix
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_75 arith convert functions aggregate mma
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_80
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_90a
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_100 arith convert
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --ptx=sm_120a mma

STRIPS_OBJ := $(patsubst %,$(OUT)/obj/strips/codegen/%.o,plan/budget values/pieces)
$(STRIPS_OBJ): $(OUT)/obj/strips/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -DTV_SMALL_STRIPS -MMD -MP -c $< -o $@
$(OUT)/strips/matrix: $(MATRIX_OBJ)
$(OUT)/strips/random_ptx: $(OUT)/obj/tests/runners/random_ptx.o
$(OUT)/strips/%: $(STRIPS_OBJ) $(OUT)/libtests.a $(OUT)/libtools.a $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -o $@

## check-regress: run kernels that once gave wrong results on the PTX simulator for four targets, and on the VM
.PHONY: check-regress
check-regress: tests
	$(Q)TEST_PART=$(TEST_PART) bash tests/shell/regress.sh $(OUT) $(OUT)/regress

## check-strips: run the ops again with all but the smallest tiles in strips
.PHONY: check-strips
check-strips: $(OUT)/strips/matrix $(OUT)/strips/random_ptx
	$(Q)$(OUT)/strips/matrix --part=$(TEST_PART) --quick --ptx=sm_90a
	$(Q)$(OUT)/strips/random_ptx $(PROPERTY_SEEDS) sm_90a

# The zoo: kernels that a seed composes. ZOO_SEED: the round's, so that each round has other ones.
ZOO_SEED ?= $(or $(ROUND),1)
ZOO_COUNT ?= $(if $(FULL),400,80)
ZOO_CASES = $(BUILD)/zoo-cases/$(ZOO_SEED)-$(ZOO_COUNT)
ZOO_LIMITS := tests/gpu/perf/zoo_limits.txt
ZOO_CHECK = $(PYTHON) tools/zoo_check.py $(OUT) $(ZOO_CASES) --limits $(ZOO_LIMITS) --jobs $(PROCESSORS)
.PHONY: zoo-cases
zoo-cases: all
	$(Q)rm -rf $(ZOO_CASES) && $(PYTHON) tests/gpu/perf/zoo.py $(ZOO_CASES) --seed $(ZOO_SEED) --count $(ZOO_COUNT) \
	    --tilevm $(OUT)/tilevm
## check-zoo: run kernels composed from a seed on the simulator, and count loads in loops that are not prefetched
##   ZOO_SEED, ZOO_COUNT: seed, number (80; FULL=1: 400); TILEIR_TOOLS, CUDA_HOME: also spills, with NVIDIA's
.PHONY: check-zoo
check-zoo: zoo-cases $(OUT)/fakecuda/libcuda.so.1 $(OUT)/loads_told
	$(Q)PYTHON=$(PYTHON) sh tests/shell/zoo.sh
	$(Q)$(PYTHON) tests/gpu/perf/zoo_tiny.py $(OUT)/tilevm $(ZOO_CASES)
	$(Q)$(ZOO_CHECK) $(if $(TILEIR_TOOLS),--beside $(TILEIR_TOOLS)/tileiras)
## zoo-limits: accept that fewer loads in loops are not prefetched (with ZOO_COUNT=2000 or more)
.PHONY: zoo-limits
zoo-limits: zoo-cases $(OUT)/loads_told
	$(Q)$(ZOO_CHECK) --loads --update
