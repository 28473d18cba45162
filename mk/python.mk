# The Python package.

# A system that installs the wheel needs nothing but the C library: the command finds its cJSON beside itself, and the
# decompressors are linked from archives.
WHEEL := $(OUT)/wheel
CJSON := $(shell $(CC) -print-file-name=libcjson.so.1 2>/dev/null)
$(OUT)/wheel-tilevm: $(TOOL_OBJ) $(OUT)/libtilevm.a $(OUT)/tilevm.list
	$(Q)$(LINK) -Wl,-rpath,'$$ORIGIN/../lib/tilevm' $(TOOL_OBJ) $(OUT)/libtilevm.a $(call archived,$(LIBS)) -o $@

$(OUT)/wheel-libraries/libtilevm.so: $(OUT)/libtilevm.so
	@mkdir -p $(@D)
	$(Q)$(LINK_LIBRARY) $(call archived,$(LIB_LIBS)) -o $@
$(OUT)/wheel-libraries/libtilevm_cuda.so: $(OUT)/libtilevm_cuda.so
	@mkdir -p $(@D)
	$(Q)$(LINK_PRELOAD) $(call archived,$(LIB_LIBS)) -o $@

WHEEL_LIBRARIES := $(addprefix $(OUT)/wheel-libraries/,libtilevm.so libtilevm_cuda.so)
.PHONY: wheel-files
wheel-files: all $(OUT)/wheel-tilevm $(WHEEL_LIBRARIES)
	$(Q)rm -rf $(WHEEL) && $(INSTALL) -d $(addprefix $(WHEEL)/,bin package lib/tilevm licenses)
	$(Q)$(INSTALL) -s -m 755 $(OUT)/wheel-tilevm $(WHEEL)/bin/tilevm
	$(Q)$(INSTALL) -s -m 755 $(OUT)/tileiras $(WHEEL)/bin/tileiras
	$(Q)$(INSTALL) -s -m 755 $(WHEEL_LIBRARIES) $(WHEEL)/package
	$(Q)$(INSTALL) -m 644 tools/tilevm/fleet/gpus.def $(WHEEL)/package
	$(Q)$(INSTALL) -m 755 $(CJSON) $(WHEEL)/lib/tilevm/libcjson.so.1
	$(Q)for part in cJSON:libcjson1 zlib:zlib1g-dev zstd:libzstd-dev lz4:liblz4-dev; do \
	    file=/usr/share/doc/$${part#*:}/copyright; \
	    if [ -r $$file ]; then $(INSTALL) -m 644 $$file $(WHEEL)/licenses/$${part%:*}; fi; done

##@ Package
## wheel: build dist/*.whl, the Python package with libraries and commands, which pip installs without a compiler
.PHONY: wheel
wheel: wheel-files
	$(Q)LICENSE_NAME="$(LICENSE_NAME)" $(PYTHON) tools/python/backend.py $(WHEEL) dist

# Cross-compiled for aarch64 with the libraries that `make from-debian` has downloaded.
ARM64_LIBS = $(abspath $(BUILD)/from-debian/arm64/root)/usr/lib/aarch64-linux-gnu
## wheel-aarch64: build it for aarch64 with a cross compiler (make from-debian first)
.PHONY: wheel-aarch64
wheel-aarch64:
	+$(Q)PKG_CONFIG_LIBDIR=$(ARM64_LIBS)/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(abspath $(BUILD)/from-debian/arm64/root) \
	    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
	    LDFLAGS="-L$(ARM64_LIBS) -Wl,-rpath-link,$(ARM64_LIBS)" \
	    $(MAKE) --no-print-directory CC=aarch64-linux-gnu-gcc BUILD=$(BUILD)/wheel-aarch64 WERROR=0 \
	    ARCHIVE_FOLDER=$(ARM64_LIBS) CJSON=$(ARM64_LIBS)/libcjson.so.1 \
	    INSTALL="install --strip-program=aarch64-linux-gnu-strip" wheel

JAX_BESIDE ?=
## bench-gpu-jax: measure functions of JAX on a GPU through Tile IR and by XLA's own emitters
##   PYTHON: one with jax 0.12; JAX_BESIDE="nvidia=PATH": other tileiras
.PHONY: bench-gpu-jax
bench-gpu-jax: all
	$(Q)$(PYTHON) tests/jax/bench_jax.py $(OUT)/jax-gpu $(JAX_BESIDE) ours=$(OUT)/tileiras --csv $(OUT)/jax-gpu.csv

JAX_KERNELS = $(BUILD)/jax-kernels
## jax-kernels: compile these functions for arrays in DRAM and in L2, without a GPU, for bench-gpu-jax-kernels
##   PYTHON: one with jax 0.12; JAX_BESIDE="nvidia=PATH": other tileiras
.PHONY: jax-kernels
jax-kernels: all $(OUT)/libtilevm.so
	$(Q)PYTHONPATH=tools/python TILEVM_LIBRARY=$(abspath $(OUT))/libtilevm.so PYTHONDONTWRITEBYTECODE=1 \
	    $(PYTHON) tests/jax/collect_kernels.py $(JAX_KERNELS) $(JAX_BESIDE) ours=$(OUT)/tileiras

## bench-gpu-jax-kernels: time those kernels on a GPU, where PYTHON needs torch, but no JAX
.PHONY: bench-gpu-jax-kernels
bench-gpu-jax-kernels:
	$(Q)$(PYTHON) tests/jax/time_kernels.py $(JAX_KERNELS) --csv $(JAX_KERNELS)/jax.csv

## check-jax: compile functions of JAX with our tileiras, without a GPU, and compare their results with JAX's
.PHONY: check-jax
check-jax: all $(OUT)/libtilevm.so
	$(Q)PYTHONPATH=tools/python TILEVM_LIBRARY=$(abspath $(OUT))/libtilevm.so PYTHONDONTWRITEBYTECODE=1 \
	    $(PYTHON) tests/jax/check_jax.py $(OUT)/tileiras $(OUT)/jax 2> $(OUT)/jax.log
