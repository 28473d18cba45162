# Tests and measurements that need a GPU.

GPU_TARGET ?= sm_90a
##@ Test and measure on a GPU
## check-gpu: run the corpus in every version, the matrix of ops and random kernels on a GPU
##   GPU_TARGET: sm_90a; GPU_QUICK=1: fewer cases
.PHONY: check-gpu
check-gpu: all $(OUT)/corpus_run $(OUT)/matrix $(OUT)/random_ptx $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked
	$(Q)status=0; $(OUT)/corpus_run $(BUILD)/corpus --gpu $(GPU_TARGET) --needs tests/corpus/unsupported.txt --jobs 4 || \
	        status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --version 13.5 --gpu $(GPU_TARGET) --cluster 2 \
	        --needs tests/corpus/unsupported.txt --jobs 4 || status=1; \
	    $(OUT)/corpus_run $(BUILD)/cpp --version 13.5 --gpu $(GPU_TARGET) --needs tests/cpp/unsupported.txt --jobs 4 || \
	        status=1; \
	    $(OUT)/matrix --gpu=$(GPU_TARGET) --jobs=8 $(if $(GPU_QUICK),--quick) || status=1; \
	    $(OUT)/random_ptx $(PROPERTY_SEEDS) $(GPU_TARGET) 1 gpu || status=1; exit $$status

SANITIZER_SHARE ?= 1
## check-gpu-regress: run the kernels of check-regress on a GPU
.PHONY: check-gpu-regress
check-gpu-regress: all
	$(Q)bash tests/shell/regress.sh $(OUT) $(OUT)/regress gpu

## check-gpu-sanitize: run the corpus under compute-sanitizer (SANITIZER_SHARE: every Nth case)
.PHONY: check-gpu-sanitize
check-gpu-sanitize: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)sh tests/gpu/sanitizer.sh $(OUT) $(BUILD)/corpus $(GPU_TARGET) $(SANITIZER_SHARE)

## bench-gpu-repeat: measure how far medians of `tilevm bench` lie apart when it runs 5 times
.PHONY: bench-gpu-repeat
bench-gpu-repeat: all $(BUILD)/corpus/unpacked
	$(Q)sh tests/gpu/bench_repeat.sh $(OUT) $(BUILD)/corpus

## bench-gpu: measure the large kernels of the corpus, torch and Triton on a GPU
##   PYTHON: one with torch; BENCH_OLD: the corpus_run of another build, to compare with
.PHONY: bench-gpu
bench-gpu: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)sh tests/gpu/bench.sh $(OUT) $(BUILD)/corpus $(GPU_TARGET) $(PYTHON) $(BENCH_OLD)

# SWEEP_BESIDE: compilers to compare with, NAME=PATH each: older builds of tilevm, NVIDIA's tileiras. They
# and ptxas may run on another machine than the GPU: run `make sweep-cubins` here, then
# tools/perf_run.py there with the folder.
SWEEP_SECONDS ?= 360
SWEEP_FILTER ?= .
SWEEP = $(BUILD)/sweep
## sweep-cubins: compile the performance cases with tilevm and SWEEP_BESIDE="ref=tileiras old=PATH"
##   SWEEP_FILTER: a pattern of names
.PHONY: sweep-cubins
sweep-cubins: all $(BUILD)/sweep-cases/unpacked
	$(Q)$(PYTHON) tools/perf_build.py $(BUILD)/sweep-cases $(SWEEP) $(SWEEP_BESIDE) ours=$(OUT)/tilevm \
	    --target $(GPU_TARGET) --filter '$(SWEEP_FILTER)'

## bench-gpu-sweep: measure those cubins on a GPU in one run (PYTHON: one with torch; SWEEP_SECONDS: 360)
.PHONY: bench-gpu-sweep
bench-gpu-sweep: sweep-cubins
	$(Q)$(PYTHON) tools/perf_run.py $(SWEEP) --filter '$(SWEEP_FILTER)' --seconds $(SWEEP_SECONDS) --csv $(SWEEP)/sweep.csv

# The zoo's kernels for a seed (mk/ptx.mk), in the same way.
ZOO_SECONDS ?= 420
ZOO = $(BUILD)/zoo-cubins/$(ZOO_SEED)-$(ZOO_COUNT)
## zoo-cubins: compile the zoo of ZOO_SEED with tilevm and SWEEP_BESIDE, with results of small launches
.PHONY: zoo-cubins
zoo-cubins: zoo-cases
	$(Q)$(PYTHON) tools/perf_build.py $(ZOO_CASES) $(ZOO) $(SWEEP_BESIDE) ours=$(OUT)/tilevm --target $(GPU_TARGET) \
	    --jobs $(PROCESSORS)
	$(Q)$(PYTHON) tests/gpu/perf/zoo.py $(ZOO_CASES) --seed $(ZOO_SEED) --count $(ZOO_COUNT) --tilevm $(OUT)/tilevm \
	    --small $(ZOO)/small
## bench-gpu-zoo: measure those cubins on a GPU in one run (PYTHON: one with torch; ZOO_SECONDS: 420)
.PHONY: bench-gpu-zoo
bench-gpu-zoo: zoo-cubins
	$(Q)$(PYTHON) tools/zoo_run.py $(ZOO) --seconds $(ZOO_SECONDS) --csv $(ZOO)/zoo.csv

# The table of performance goals. TILEIR_TOOLS: the folder of NVIDIA's compiler; SWEEP_BESIDE: older builds of tilevm;
# FIGURES_TRITON: a Python with Triton 3.6, for rows beside its compiler.
FIGURES_SECONDS ?= 150
FIGURES = $(BUILD)/figures
## figures-cubins: compile the kernels of the table of performance goals with tilevm, NVIDIA's compiler and SWEEP_BESIDE
##   TILEIR_TOOLS: the folder of tileiras; FIGURES_TRITON: a Python with Triton 3.6, for rows beside its own compiler
.PHONY: figures-cubins
figures-cubins: all $(BUILD)/sweep-cases/unpacked
	$(Q)mkdir -p $(FIGURES) && $(PYTHON) tests/gpu/perf/figures.py $(FIGURES)-cases --sweep $(BUILD)/sweep-cases \
	    --tilevm $(OUT)/tilevm && cp $(FIGURES)-cases/cases.json $(FIGURES)
	$(Q)$(PYTHON) tools/perf_build.py $(FIGURES)-cases $(FIGURES) $(if $(TILEIR_TOOLS),ref=$(TILEIR_TOOLS)/tileiras) \
	    $(SWEEP_BESIDE) ours=$(OUT)/tilevm --target $(GPU_TARGET) --jobs $(PROCESSORS)
	$(Q)$(if $(FIGURES_TRITON),$(FIGURES_TRITON) tests/gpu/perf/figures_triton.py $(FIGURES)-cases $(FIGURES))
## bench-gpu-figures: measure those cubins on a GPU in one run, and print that table (FIGURES_SECONDS: 150)
.PHONY: bench-gpu-figures
bench-gpu-figures: figures-cubins
	$(Q)$(PYTHON) tools/figures_run.py $(FIGURES) --seconds $(FIGURES_SECONDS) --csv $(FIGURES)/figures.csv \
	    --json $(FIGURES)/figures.json

# COUNTERS: names of large kernels of the corpus, each of which fits one of them alone.
COUNTERS ?= attention_full_f16 matmul_tall_f16 matmul_batched_bf16 matmul_splitk_f16 conv2d_3x3_f16
## bench-gpu-counters: read hardware counters for kernels of the corpus (ncu; COUNTERS: their names, without perf_)
.PHONY: bench-gpu-counters
bench-gpu-counters: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)for name in $(COUNTERS); do $(PYTHON) tools/gpu_counters.py --skip 2 --title $$name -- \
	    $(OUT)/corpus_run $(BUILD)/corpus --gpu $(GPU_TARGET) --version 13.5 --perf --jobs 1 --filter perf_$$name || \
	        exit 1; done

## check-counters: test the tool that reads hardware counters, without a GPU
.PHONY: check-counters
check-counters:
	$(Q)if command -v $(PYTHON) >/dev/null; then sh tests/shell/counters.sh $(PYTHON); \
	    else echo "counters: skipped, there is no $(PYTHON)"; fi

$(BUILD)/sweep-cases/unpacked: tests/gpu/perf/cases.tar.xz
$(BUILD)/tile-cases/unpacked: tests/gpu/perf/tiles.tar.xz
$(BUILD)/sweep-cases/unpacked $(BUILD)/tile-cases/unpacked:
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && xz -dc $< | tar -xf - -C $(@D) && touch $@

GPU_LOADER := $(OUT)/gpu_loader
$(GPU_LOADER): $(OUT)/obj/tests/gpu/loader.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

## check-gpu-loader: test the loader on a GPU, cold and from the cache, and tilevm run
.PHONY: check-gpu-loader
check-gpu-loader: all $(GPU_LOADER) $(OUT)/fakecuda/libtilevm_cuda.so $(BUILD)/corpus/unpacked
	$(Q)sh tests/gpu/loader.sh $(OUT) $(BUILD)/corpus/bytecode/13.4/vadd_f32.tbc
	$(Q)sh tests/gpu/run.sh $(OUT) $(BUILD)/corpus

## gpu-programs: compile programs with nvcc for check-gpu-programs (CUDA_HOME: a toolkit from 13.3 on; no GPU)
.PHONY: gpu-programs
gpu-programs:
	$(Q)sh tests/programs/build.sh programs $(BUILD)/gpu-programs

## check-gpu-programs: run the programs of gpu-programs on a GPU, with libtilevm_cuda.so preloaded
.PHONY: check-gpu-programs
check-gpu-programs: all
	$(Q)sh tests/gpu/programs.sh $(OUT) $(BUILD)/gpu-programs

## check-gpu-deploy: test doctor, bundles of each form and cache warming in many threads on one or several GPUs
.PHONY: check-gpu-deploy
check-gpu-deploy: all $(GPU_DEPLOY) $(BUILD)/corpus/unpacked
	$(Q)bash tests/gpu/deploy.sh $(OUT) $(BUILD)/corpus

FIRST_HOUR_SHARE ?= 1
## first-hour: run what to run in the first hour on a new kind of GPU, and pack the results
##   FIRST_HOUR_SHARE: every Nth case; FIRST_HOUR_STEPS: names of steps; PYTHON: one with torch, for the sweep
.PHONY: first-hour
first-hour: all $(OUT)/corpus_run $(OUT)/matrix $(OUT)/random_ptx $(OUT)/random_memory $(GPU_LOADER) $(GPU_DEPLOY) \
    $(OUT)/fakecuda/libtilevm_cuda.so $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked $(BUILD)/sweep-cases/unpacked
	$(Q)PYTHON=$(PYTHON) sh tests/gpu/first_hour.sh $(OUT) $(BUILD)/corpus $(BUILD)/cpp $(BUILD)/sweep-cases \
	    $(BUILD)/first-hour $(FIRST_HOUR_SHARE)
