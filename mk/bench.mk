# Measurements on this machine.

##@ Measure
## bench: print this project's figures (TILEIR_TOOLS: also NVIDIA's; PYTHON: one with numpy)
.PHONY: bench
bench: all $(OUT)/bench $(OUT)/bench_vm.so $(BUILD)/corpus/unpacked
	$(Q)$(OUT)/tilevm gen --ops 400 -o $(BUILD)/bench-10k.tbc
	$(Q)$(OUT)/bench $(OUT)/tilevm $(BUILD)/corpus/bytecode/13.4 $(BUILD)/bench-10k.tbc
	$(Q)if command -v $(PYTHON) >/dev/null; then $(PYTHON) tools/bench_vm.py $(OUT)/bench_vm.so tests/bench; \
	    else echo "the virtual machine beside NumPy: skipped, there is no $(PYTHON)"; fi

## bench-debug: measure the debugger: its first stop, steps, a condition that is far away, going back
.PHONY: bench-debug
bench-debug: $(OUT)/bench_debug
	$(Q)$<

BENCH_SHARE ?= 8
## bench-compile: measure compile times (BENCH_SHARE: processes for every Nth kernel; TILEIR_TOOLS: also NVIDIA's)
.PHONY: bench-compile
bench-compile: all $(OUT)/bench_compile $(OUT)/fakecuda/libcuda.so.1 $(BUILD)/corpus/unpacked
	$(Q)LD_LIBRARY_PATH=$(OUT)/fakecuda $(OUT)/bench_compile $(OUT)/tileiras $(BUILD)/corpus --share $(BENCH_SHARE)

# With a share beyond the corpus, bench_compile starts the processes of its second and third part for one kernel only.
## bench-compile-figures: time from bytecode to PTX, and with ptxas beside BENCH_OLD, the tilevm of another build
##   BENCH_SHARE: beside BENCH_OLD, every Nth kernel (8); CUDA_HOME: the toolkit of ptxas
.PHONY: bench-compile-figures
bench-compile-figures: all $(OUT)/bench_compile $(BUILD)/corpus/unpacked
	$(Q)$(OUT)/bench_compile $(OUT)/tileiras $(BUILD)/corpus --share 1000000 | grep -E '^milliseconds|^bytecode to PTX'
	$(Q)if [ -n "$(BENCH_OLD)" ]; then $(PYTHON) tools/bench_compile_beside.py $(OUT)/tilevm $(BENCH_OLD) $(BUILD)/corpus \
	    --share $(BENCH_SHARE); else echo "beside another build: skipped, there is no BENCH_OLD"; fi

MODEL_ZOO := $(BUILD)/zoo-cases/1-400
MODEL_TABLES := $(BUILD)/sweep-cases tests/gpu/sweep_h200.csv $(BUILD)/tile-cases tests/gpu/tiles_h200.csv
## bench-model: compare the cost model's predictions with measurements (tests/gpu/*.csv)
##   SWEEP_FILTER: kernels of the sweep; MODEL_OPTIONS: of tools/bench_model.py, such as --half 1
.PHONY: bench-model
bench-model: all $(BUILD)/sweep-cases/unpacked $(BUILD)/tile-cases/unpacked
	$(Q)$(PYTHON) tools/bench_model.py $(OUT)/tilevm $(MODEL_TABLES) \
	    --filter '$(SWEEP_FILTER)' $(MODEL_OPTIONS)
	$(Q)[ -d $(MODEL_ZOO) ] || $(MAKE) --no-print-directory zoo-cases ZOO_SEED=1 ZOO_COUNT=400
	$(Q)$(PYTHON) tools/bench_model.py $(OUT)/tilevm $(MODEL_ZOO) tests/gpu/zoo1_h100.csv --gpu h100 $(MODEL_OPTIONS)
## check-model: check that the model ranks kernels within a family as they were measured, the fastest among its first
.PHONY: check-model
check-model: all $(BUILD)/sweep-cases/unpacked $(BUILD)/tile-cases/unpacked
	$(Q)$(PYTHON) tools/bench_model.py $(OUT)/tilevm $(MODEL_TABLES) --check \
	    > $(BUILD)/bench-model.txt || { tail -12 $(BUILD)/bench-model.txt; exit 1; }
	$(Q)tail -1 $(BUILD)/bench-model.txt

## bench-sim-reference: compare our PTX with that of NVIDIA's tile compiler by what the simulator counts, without a GPU
##   TILEIR_TOOLS: the folder of tileiras, ptxas and cuobjdump; REFERENCE_FILTER: kernels whose name has it
.PHONY: bench-sim-reference
bench-sim-reference: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked
	$(Q)if command -v $(PYTHON) > /dev/null; then TILEIR_TOOLS="$(TILEIR_TOOLS)" $(PYTHON) tools/bench_reference.py \
	    $(OUT) $(BUILD)/corpus $(BUILD)/bench-reference --filter '$(REFERENCE_FILTER)'; \
	    else echo "bench-sim-reference: skipped, there is no $(PYTHON)"; fi

TUNE_SPACE := $(BUILD)/bench-tune.json
# Every value that the hints may have, and none.
$(TUNE_SPACE):
	@mkdir -p $(@D)
	$(Q)printf '{"occupancy": [null, %s],\n "num_ctas": [null, 1, 2, 4, 8],\n "num_worker_warps": [null, %s]}\n' \
	    "$$(seq -s ', ' 1 32)" "1, 2, 4, 8, 16, 32" > $@
## bench-tune: measure how long `tilevm tune` takes to rank 1,155 variants
.PHONY: bench-tune
bench-tune: all $(TUNE_SPACE) $(BUILD)/corpus/unpacked
	$(Q)for k in perf_matmul_simple_f16_4096 attention_full_f16; do \
	    bash -c 'TIMEFORMAT="    all of it: %R s (user %U, system %S)"; time $(OUT)/tilevm tune --device cpu --grid 512 \
	        '$(BUILD)/corpus/bytecode/13.4/$$k.tbc' --space $(TUNE_SPACE) > $(BUILD)/bench-tune.txt' && \
	        head -n 1 $(BUILD)/bench-tune.txt; done

## bench-programs: measure verify on a program of 100 MB with 50 images
.PHONY: bench-programs
bench-programs: all $(OUT)/program $(BUILD)/corpus/unpacked
	$(Q)ls $(BUILD)/corpus/bytecode/13.5/*.tbc | head -n 50 | xargs $(OUT)/program elf zstd 102400 > $(BUILD)/bench-program
	$(Q)for i in 1 2 3; do \
	    bash -c 'TIMEFORMAT="%R s (user %U, system %S)"; time $(OUT)/tilevm verify $(BUILD)/bench-program'; done

## bench-preload: measure how much slower programs without Tile IR start under libtilevm_cuda.so
.PHONY: bench-preload
bench-preload: tests
	$(Q)bash tests/shell/bench_preload.sh $(OUT) $(BUILD)/bench-preload

## bench-bundle: measure building bundles, their size, and the start of a service (BENCH_EMIT=ptx: without cubins)
##   TILEIR_TOOLS, PYTHON with cuda-tile: also NVIDIA's compiler and Python
.PHONY: bench-bundle
bench-bundle: all $(OUT)/bundle_client $(OUT)/fakecuda/libcuda.so.1 $(BUILD)/corpus/unpacked
	$(Q)PYTHON="$(PYTHON)" bash tests/shell/bench_bundle.sh $(OUT) $(BUILD)/corpus $(OUT)/bench-bundle

## bench-cutile: measure cuTile Python on the virtual machine, and Triton's interpreter
##   PYTHON: one with numpy, cuda-tile, triton
.PHONY: bench-cutile
bench-cutile: all
	$(Q)PYTHONPATH=tools/python TILEVM_LIBRARY=$(OUT)/libtilevm.so $(PYTHON) tools/bench_cutile.py

$(OUT)/bench_vm.so: $(OUT)/obj/tests/bench/bench_vm.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(CC) -shared $(LDFLAGS_ALL) $^ $(LIBS) -o $@

## charts: draw the charts of the documents from the figures in tests/gpu
.PHONY: charts
charts:
	$(Q)$(PYTHON) tools/charts.py docs/pictures

## pictures: draw what commands print and reports show, for the documents (needs chromium)
##   PYTHON: one with tools/pictures/requirements.txt
.PHONY: pictures
pictures: all
	$(Q)$(PYTHON) tools/pictures/terminals.py $(OUT) docs/pictures
	$(Q)$(PYTHON) tools/pictures/report.py $(OUT) docs/pictures
