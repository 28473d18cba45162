# tilevm. `make run` and `make check` are the two commands; `make help` lists the rest.
#
#   CONFIG=release|debug|asan|tsan|fuzz|coverage   SAN=1 is CONFIG=asan   V=1 shows commands   CC=clang   WERROR=0
#   PREFIX=/usr/local   LIBDIR=PREFIX/lib   DESTDIR=     for install      HARDENING= without it

CONFIG  ?= $(if $(SAN),asan,release)
BUILD   ?= build
OUT     := $(BUILD)/$(CONFIG)
PREFIX  ?= /usr/local
CC      := $(if $(filter default,$(origin CC)),cc,$(CC))
PKGS    := zlib libcjson
# What packs device code in programs; without them, such images are named and not read.
OPTIONAL_PKGS := libzstd liblz4
Q       := $(if $(V),,@)

.DEFAULT_GOAL := all

# ---- what the build needs: installed when root, else named ----
GOALS := $(or $(MAKECMDGOALS),all)
# What clang has for sanitizers and fuzzers is only recommended by its package.
DEBIAN_PACKAGES := $(if $(findstring clang,$(CC)),clang,gcc) libc6-dev pkg-config zlib1g-dev libcjson-dev libzstd-dev liblz4-dev
NEEDED_PROGRAMS := $(firstword $(CC)) pkg-config
ifneq ($(filter check% corpus% golden run bench fuzz-%,$(GOALS)),)
  DEBIAN_PACKAGES += xz-utils
  NEEDED_PROGRAMS += xz
endif
ifneq ($(filter-out help clean dist-clean uninstall,$(GOALS)),)
  # What is missing, in words; empty when all is there.
  MISSING = $(shell for p in $(NEEDED_PROGRAMS); do command -v $$p >/dev/null || echo $$p; done; \
              for p in $(PKGS); do pkg-config --exists $$p 2>/dev/null || echo $$p; done)
  ifneq ($(MISSING),)
    INSTALL_PACKAGES := apt-get install -y $(if $(findstring clang,$(CC)),,--no-install-recommends) $(DEBIAN_PACKAGES)
    ifneq ($(and $(filter 0,$(shell id -u)),$(shell command -v apt-get)),)
      $(info installing $(DEBIAN_PACKAGES))
      INSTALLED := $(shell (apt-get update -q && DEBIAN_FRONTEND=noninteractive $(INSTALL_PACKAGES)) >&2)
    endif
    ifneq ($(MISSING),)
      $(error The build needs $(MISSING). On Debian: sudo $(INSTALL_PACKAGES))
    endif
  endif
  FOUND_PKGS := $(foreach p,$(OPTIONAL_PKGS),$(shell pkg-config --exists $p 2>/dev/null && echo $p))
  $(foreach p,$(filter-out $(FOUND_PKGS),$(OPTIONAL_PKGS)),$(info note: built without $p: images that it packs in programs are not read))
  PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) $(FOUND_PKGS)) $(FOUND_PKGS:lib%=-DTV_HAVE_%)
  PKG_LIBS   := $(shell pkg-config --libs $(PKGS) $(FOUND_PKGS))
endif

# ---- flags ----
comma := ,
X86 := $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null))
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wcast-qual -Wvla -Wdate-time
ifneq ($(WERROR),0)
  WARN += -Werror
endif
OPT_release := -O2 -g
# Builds that look for defects check the code generator's IR after every pass.
OPT_debug   := -O0 -g3 -DTV_VERIFY_EACH
# Lines in reports need no more than -g1, which compiles a sixth faster.
OPT_asan    := -O1 -g1 -DTV_VERIFY_EACH -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan    := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
OPT_coverage := -O1 -g -fprofile-instr-generate -fcoverage-mapping
OPT_fuzz    := -O1 -g1 -DTV_VERIFY_EACH -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# gcc warns about the code that its own sanitizer puts around shifts.
WARN_asan   := -Wno-conversion -Wno-sign-conversion
# Against what a file could do with a mistake of ours. Sanitizers have checks of their own, which FORTIFY_SOURCE hides.
HARDENING_CFLAGS := -fstack-protector-strong -fstack-clash-protection $(if $(X86),-fcf-protection) \
                    $(if $(filter release,$(CONFIG)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDENING ?= $(if $(filter release debug,$(CONFIG)),$(HARDENING_CFLAGS))
HARDENING_LDFLAGS := $(if $(HARDENING),-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now)
# The same bytes in every folder: its name is not in them.
SAME_BYTES = -ffile-prefix-map=$(CURDIR)=. $(if $(filter-out build,$(BUILD)),-ffile-prefix-map=$(BUILD)=build)
# No contraction: every f32 operation of the VM rounds on its own.
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(WARN) $(WARN_$(CONFIG)) $(OPT_$(CONFIG)) $(HARDENING) $(SAME_BYTES) -ffp-contract=off -fPIC -pthread -I. -Iinclude $(PKG_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(filter -fsanitize=% -fprofile-instr-generate,$(OPT_$(CONFIG))) $(HARDENING_LDFLAGS) -pthread $(LDFLAGS)
LINK = $(CC) $(if $(HARDENING),-pie) $(LDFLAGS_ALL)
LIBS = $(PKG_LIBS) -lm -ldl
# What the library and tileiras need: cJSON is the command's.
LIB_LIBS = $(filter-out -lcjson,$(LIBS))

# The loops of the virtual machine, once per instruction set (vm/kernels/kernels.inc). No traps or errno to observe there,
# and strips of memory hold whatever type the kernel says.
VM_KERNELS := $(if $(filter release,$(CONFIG)),-O3) -fno-math-errno -fno-trapping-math -fno-strict-aliasing
CFLAGS_vm_kernels_base   := $(VM_KERNELS)
CFLAGS_vm_kernels_avx2   := $(VM_KERNELS) $(if $(X86),-mavx2 -mfma -mf16c)
CFLAGS_vm_kernels_avx512 := $(VM_KERNELS) $(if $(X86),-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

# The stand-in for dlsym must leave its caller's place on the stack to the real one, whatever the configuration.
CFLAGS_loader_preload_preload := -O2 -foptimize-sibling-calls

# ---- sources: every .c of a folder belongs to it ----
# But what LD_PRELOAD takes is no part of the library.
LIB_DIRS  := bytecode bytecode/* container vm vm/* codegen codegen/* loader loader/bundle
LIB_SRC   := $(sort $(wildcard $(addsuffix /*.c,$(LIB_DIRS))))
TOOL_SRC  := $(sort $(wildcard tools/tilevm/*.c tools/tilevm/*/*.c))
UNIT_SRC  := $(wildcard tests/unit/*.c)
# The tests of the loader: a driver, a code generator and a client that are not what they seem.
LOADER_TESTS := $(addprefix $(OUT)/,loader_faults bundle_client fakecuda/libcuda.so.1 fakecuda/libtilevm_cuda.so fakecuda/host fakecuda/app obj/tests/fakecuda/runtime.o \
                $(addprefix fakecuda/,tilevm tileiras))
# Test programs have a main; the other files of tests/ are what they share.
TEST_MAIN := $(wildcard $(addprefix tests/,mkbc_main.c ptxsim_main.c program_main.c run_fixtures.c corpus_bytes.c corpus_run.c assemble.c ptx_sums.c loads_told.c malformed.c property.c random_ptx.c bench.c bench_compile.c mutate.c oom.c))
TEST_SRC  := $(filter-out $(TEST_MAIN),$(wildcard tests/*.c tests/ptxsim/*.c))
LIB_OBJ   := $(LIB_SRC:%.c=$(OUT)/obj/%.o) $(OUT)/obj/gen/build_id.o
TOOL_OBJ  := $(TOOL_SRC:%.c=$(OUT)/obj/%.o) $(OUT)/obj/gen/rule_examples.o $(OUT)/obj/gen/embed_text.o
TEST_OBJ  := $(TEST_SRC:%.c=$(OUT)/obj/%.o)
MATRIX_OBJ := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard tests/matrix/*.c))
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(OUT)/unit/%)
TEST_BIN  := $(patsubst tests/%.c,$(OUT)/%,$(TEST_MAIN:_main.c=.c))

all: $(OUT)/tilevm $(OUT)/tileiras $(OUT)/libtilevm.so $(OUT)/libtilevm_cuda.so $(OUT)/mkbc ## build the commands and the libraries
tests: all $(UNIT_BIN) $(TEST_BIN) $(LOADER_TESTS) $(OUT)/matrix ## build the test programs too

# A stamp changes when its text does, so that other flags, another compiler or a removed file rebuild what they touch.
define stamp
@mkdir -p $(@D)
@echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
endef
# Where the sources lie changes no byte.
$(OUT)/flags: FORCE
	$(call stamp,$(CC) $(filter-out $(SAME_BYTES),$(CFLAGS_ALL)))
$(OUT)/libtilevm.list: FORCE
	$(call stamp,$(LIB_OBJ))
$(OUT)/tilevm.list: FORCE
	$(call stamp,$(TOOL_OBJ))
$(OUT)/libtests.list: FORCE
	$(call stamp,$(TEST_OBJ))

$(OUT)/obj/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS_$(subst /,_,$(basename $<))) -MMD -MP -c $< -o $@

# The rule fixtures as C, for `tilevm explain`.
$(OUT)/gen/rule_examples.c: tools/embed_examples.sh $(wildcard tests/rules tests/rules/*.test)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  GEN   $@")
	$(Q)sh tools/embed_examples.sh tests/rules > $@.tmp && mv $@.tmp $@
# What `tilevm embed` writes around the kernels.
$(OUT)/gen/embed_text.c: tools/embed_text.sh tools/tilevm/cmd/embed.c.in
	@mkdir -p $(@D)
	$(if $(Q),@echo "  GEN   $@")
	$(Q)sh tools/embed_text.sh tools/tilevm/cmd/embed.c.in > $@.tmp && mv $@.tmp $@
$(OUT)/obj/gen/rule_examples.o $(OUT)/obj/gen/embed_text.o: $(OUT)/obj/gen/%.o: $(OUT)/gen/%.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Wno-overlength-strings -MMD -MP -c $< -o $@

# tv_version, and for tv_build_id a checksum over the sources of the library.
LIB_TEXT := $(sort $(wildcard $(addsuffix /*.[chdi]*,include/tilevm $(LIB_DIRS))))
$(OUT)/gen/build_id.c: $(LIB_TEXT) $(OUT)/libtilevm.list
	@mkdir -p $(@D)
	$(Q)printf '#include "tilevm/tilevm.h"\n\nconst char *tv_version(void)\n{\n    return TV_VERSION;\n}\n\nconst char *tv_build_id(void)\n{\n    return "%s";\n}\n' \
	    $$(cat $(LIB_TEXT) | cksum | cut -d' ' -f1) > $@
$(OUT)/obj/gen/build_id.o: $(OUT)/gen/build_id.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(OUT)/libtilevm.a: $(LIB_OBJ) $(OUT)/libtilevm.list
	$(if $(Q),@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) rcsD $@ $(LIB_OBJ)

# The shared library shows tv_ names only.
SONAME := libtilevm.so.0
LINK_LIBRARY = $(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=tools/libtilevm.map $(LDFLAGS_ALL) $(LIB_OBJ)
$(OUT)/libtilevm.so: $(LIB_OBJ) $(OUT)/libtilevm.list tools/libtilevm.map
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK_LIBRARY) $(LIB_LIBS) -o $@

# What LD_PRELOAD takes: shows the driver's names, and nothing else.
PRELOAD_OBJ := $(OUT)/obj/loader/preload/preload.o
LINK_PRELOAD = $(CC) -shared -Wl,-soname,libtilevm_cuda.so -Wl,--version-script=loader/preload/preload.map $(LDFLAGS_ALL) $(PRELOAD_OBJ) $(OUT)/libtilevm.a
$(OUT)/libtilevm_cuda.so: $(PRELOAD_OBJ) $(OUT)/libtilevm.a loader/preload/preload.map
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK_PRELOAD) $(LIB_LIBS) -o $@

# The command takes archives of what unpacks where there are some: a shared library less is a start that is 0.03 ms shorter.
# ARCHIVE_FOLDER: where they are, if the compiler does not look there.
archive_of = $(or $(wildcard $(ARCHIVE_FOLDER)/lib$1.a),$(filter /%,$(shell $(CC) -print-file-name=lib$1.a 2>/dev/null)),-l$1)
ARCHIVES := $(foreach l,z zstd lz4,$(call archive_of,$l))
archived = $(foreach l,$1,$(if $(filter -lz -lzstd -llz4,$l),$(or $(filter %/lib$(l:-l%=%).a,$(ARCHIVES)),$l),$l))
$(OUT)/tilevm: $(TOOL_OBJ) $(OUT)/libtilevm.a $(OUT)/tilevm.list
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK) $(TOOL_OBJ) $(OUT)/libtilevm.a $(call archived,$(LIBS)) -o $@

# The drop-in takes reading of files and ptxas from the parts of the command.
TILEIRAS_OBJ := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard tools/tileiras/*.c))
$(OUT)/tileiras: $(TILEIRAS_OBJ) $(OUT)/libtools.a $(OUT)/libtilevm.a
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK) $^ $(call archived,$(LIB_LIBS)) -o $@

$(OUT)/libtests.a: $(TEST_OBJ) $(OUT)/libtests.list
	$(Q)rm -f $@ && $(AR) rcsD $@ $(TEST_OBJ)

# The parts of the command that have unit tests of their own.
TOOL_PARTS := $(filter-out %/tilevm/main.o,$(TOOL_OBJ))
$(OUT)/libtools.a: $(TOOL_PARTS) $(OUT)/tilevm.list
	$(Q)rm -f $@ && $(AR) rcsD $@ $(TOOL_PARTS)

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(OUT)/libtests.a $(OUT)/libtools.a $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(OUT)/mkbc: $(OUT)/obj/tests/mkbc_main.o $(OUT)/libtests.a
	$(Q)$(LINK) $^ -o $@

$(OUT)/ptxsim: $(OUT)/obj/tests/ptxsim_main.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(OUT)/program: $(OUT)/obj/tests/program_main.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(filter-out $(OUT)/mkbc $(OUT)/ptxsim $(OUT)/program,$(TEST_BIN)): $(OUT)/%: $(OUT)/obj/tests/%.o $(OUT)/libtests.a $(OUT)/libtools.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(OUT)/matrix: $(MATRIX_OBJ) $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

FAKE_COMPILE := $(OUT)/obj/tests/fakecuda/compile.o
$(OUT)/loader_faults: $(OUT)/obj/tests/loader_faults.o $(FAKE_COMPILE) $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc $^ $(LIBS) -o $@

$(OUT)/bundle_client: $(OUT)/obj/tests/bundle_client.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(OUT)/fakecuda/libcuda.so.1: $(OUT)/obj/tests/fakecuda/fakecuda.o $(OUT)/libtests.a $(OUT)/libtilevm.a tests/fakecuda/fakecuda.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,--version-script=tests/fakecuda/fakecuda.map $(LDFLAGS_ALL) $(filter %.o %.a,$^) $(LIBS) -o $@

$(OUT)/fakecuda/libtilevm_cuda.so: $(PRELOAD_OBJ) $(FAKE_COMPILE) $(OUT)/libtilevm.a loader/preload/preload.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,--version-script=loader/preload/preload.map $(LDFLAGS_ALL) $(filter %.o %.a,$^) $(LIBS) -o $@

$(OUT)/fakecuda/host: $(OUT)/obj/tests/fakecuda/host.o $(OUT)/libtests.a $(OUT)/fakecuda/libcuda.so.1
	$(Q)$(LINK) $^ -Wl,-rpath,'$$ORIGIN' $(LIBS) -o $@

$(OUT)/fakecuda/app: $(OUT)/obj/tests/fakecuda/app.o $(OUT)/libtests.a
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LIBS) -o $@

# The commands with allocations that fail: any, or those of the command's own objects.
OOM_TOOLS := $(OUT)/oom-tools/tilevm $(OUT)/oom-tools/tileiras
OOM_OWN := $(OUT)/oom-tools/own/tilevm
tests: $(OOM_TOOLS) $(OOM_OWN)
# Before a sanitizer's own allocator has begun nothing can stand in front of it: there, only the command's own ones fail.
OOM_OBJ := $(OUT)/obj/tests/oom/$(if $(filter asan,$(CONFIG)),own/)allocations.o
$(OUT)/obj/tests/oom/own/allocations.o: tests/oom/allocations.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -DOWN_ALLOCATIONS -MMD -MP -c $< -o $@
$(OUT)/oom-tools/tilevm: $(TOOL_OBJ) $(OOM_OBJ) $(OUT)/libtilevm.a
$(OUT)/oom-tools/tileiras: $(TILEIRAS_OBJ) $(OOM_OBJ) $(OUT)/libtools.a $(OUT)/libtilevm.a
$(OOM_OWN): $(TOOL_OBJ) $(OUT)/obj/tests/oom/own/allocations.o $(OUT)/libtilevm.a
$(OOM_OWN) $(if $(filter asan,$(CONFIG)),$(OOM_TOOLS)): LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(OOM_TOOLS) $(OOM_OWN):
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LIBS) -o $@

# The commands with that code generator.
$(OUT)/fakecuda/tilevm: $(TOOL_OBJ) $(FAKE_COMPILE) $(OUT)/libtilevm.a
$(OUT)/fakecuda/tileiras: $(TILEIRAS_OBJ) $(FAKE_COMPILE) $(OUT)/libtools.a $(OUT)/libtilevm.a
$(OUT)/fakecuda/tilevm $(OUT)/fakecuda/tileiras:
	@mkdir -p $(@D)
	$(Q)$(LINK) $^ $(LIBS) -o $@

docs: $(OUT)/tilevm ## write docs/rules.md again, from the tables and fixtures, and the kernels in docs/codegen.md
	$(Q)$(OUT)/tilevm explain --all --format markdown -o docs/rules.md
	$(Q)sh tools/show_passes.sh docs/codegen.md > $(OUT)/codegen.md && cp $(OUT)/codegen.md docs/codegen.md

check-docs: $(OUT)/tilevm $(OUT)/tileiras ## are docs/rules.md and docs/codegen.md up to date, and every option in the man page?
	$(Q)sh tools/check_docs.sh $(OUT)/tilevm $(OUT)/tileiras

run: all $(BUILD)/corpus/unpacked ## build, and run kernels of the corpus on the CPU: vector addition, softmax, layer norm, matrix product
	$(Q)sh tools/run_examples.sh $(OUT)/tilevm $(BUILD)/corpus

# Of what is alike, tests take a part: every Nth, from the one with number I on (tests/README.md#rounds).
TEST_PART ?= 0/1
in_part = $(if $(filter 0/1,$(TEST_PART)),$1,$(shell echo '$1' | tr ' ' '\n' | awk '{ split("$(TEST_PART)", p, "/"); if ((NR - 1) % p[2] == p[1]) print }'))

# ---- tests: each target ends with a line `name: N passed, N failed` ----
check: ## every test, also with sanitizers and with clang; ends with one line of counts (FULL=1: all seeds and allocations, longer fuzzing)
	+$(Q)MAKE="$(MAKE)" BUILD=$(BUILD) sh tests/check.sh

unit check-unit: $(call in_part,$(UNIT_BIN)) ## the unit tests (SAN=1: with sanitizers)
	$(Q)status=0; for t in $^; do $$t || status=1; done; exit $$status

FIXTURES := $(OUT)/run_fixtures --tool $(OUT)/tilevm --work $(OUT)/fixtures --rules tests/rules --part $(TEST_PART)
# Under an emulator the command cannot start itself.
FIXTURE_FILES ?= $(if $(EMULATED),$(shell find tests -name '*.test' ! -path '*suite*'),tests)
check-fixtures: all $(OUT)/run_fixtures ## the .test files
	$(Q)sh tests/selftest/run.sh $(OUT)/run_fixtures $(OUT)/selftest
	$(Q)$(if $(filter release,$(CONFIG)),sh tests/selftest/check.sh $(OUT)/selftest/check)
	$(Q)$(FIXTURES) $(FIXTURE_FILES)

golden: all $(OUT)/run_fixtures $(OUT)/ptx_sums $(BUILD)/corpus/unpacked ## rewrite what the .test files and the example expect, sums of PTX, docs/rules.md; read the difference before you commit it
	$(Q)$(PTX_SUMS) --update
	$(Q)$(FIXTURES) --update tests; status=$$?; $(MAKE) --no-print-directory -s docs && \
	    $(MAKE) --no-print-directory -s check-api UPDATE=1 && exit $$status

corpus: $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked ## unpack the corpus of real kernels
CORPUS_ARCHIVES := $(wildcard tests/corpus/*.tar.xz)
$(BUILD)/corpus/unpacked: $(CORPUS_ARCHIVES)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)
	$(Q)for a in $(CORPUS_ARCHIVES); do xz -dc $$a | tar -xf - -C $(@D) || exit 1; done
	$(Q)touch $@

# Of the simulator's runs.
PTX_TARGETS ?= sm_80 sm_90a
$(BUILD)/cpp/unpacked: tests/cpp/corpus.tar.xz
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && xz -dc $< | tar -xf - -C $(@D) && touch $@

CPP_RUN = $(OUT)/corpus_run $(BUILD)/cpp --version 13.5 --jobs 2 --part $(TEST_PART)
.PHONY: check-cpp
check-cpp: all $(OUT)/corpus_run $(BUILD)/cpp/unpacked ## kernels of CUDA Tile C++: on the virtual machine, with its checks, and on the PTX simulator
	$(Q)status=0; $(CPP_RUN) || status=1; $(CPP_RUN) --checks tests/cpp/findings.txt || status=1; \
	    for t in $(PTX_TARGETS); do $(CPP_RUN) --ptx $$t --needs tests/cpp/unsupported.txt || status=1; done; exit $$status

check-corpus: all $(filter $(OUT)/corpus_%,$(TEST_BIN)) $(BUILD)/corpus/unpacked ## every kernel of the corpus, the second time with the checks of tilevm check
	$(Q)status=0; $(OUT)/corpus_bytes $(BUILD)/corpus $(TEST_PART) || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --part $(TEST_PART) --checks tests/corpus/findings.txt || status=1; exit $$status

CORPUS_PTX = $(OUT)/corpus_run $(BUILD)/corpus --version 13.5 --needs tests/corpus/unsupported.txt --part $(TEST_PART) --jobs 2
check-ptx: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked ## the corpus through the code generator, on the PTX simulator; for sm_90a also over clusters
	$(Q)status=0; for t in $(PTX_TARGETS); do $(CORPUS_PTX) --ptx $$t || status=1; done; \
	    for t in $(filter sm_90a,$(PTX_TARGETS)); do $(CORPUS_PTX) --ptx $$t --cluster 2 || status=1; done; exit $$status

.PHONY: check-ptxas
PTX_SUMS = $(OUT)/ptx_sums $(BUILD)/corpus/bytecode/13.5 tests/ptx/sums.txt $(BUILD)/ptx-sums
.PHONY: check-ptx-sums
check-ptx-sums: $(OUT)/ptx_sums $(BUILD)/corpus/unpacked ## has the PTX of any kernel changed? (`make golden` takes it as it is)
	$(Q)$(PTX_SUMS)

.PHONY: check-loads-told
check-loads-told: $(OUT)/loads_told $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked ## do remarks say of every load of every loop how it is fed?
	$(Q)$(OUT)/loads_told $(BUILD)/corpus/bytecode/13.5 $(BUILD)/cpp/bytecode

SPILLS = sh tests/spills.sh $(OUT)/tilevm $(BUILD)/corpus/bytecode/13.5 tests/ptx/spills.txt sm_90a $(BUILD)/spills
.PHONY: check-spills spills
check-spills: all $(BUILD)/corpus/unpacked ## does ptxas spill more in any kernel of the corpus, or hold back products that are in flight?
	$(Q)$(SPILLS) $(TEST_PART)
spills: all $(BUILD)/corpus/unpacked ## takes over what it spills now (tests/ptx/spills.txt)
	$(Q)$(SPILLS) --update

check-ptxas: all $(OUT)/assemble $(BUILD)/corpus/unpacked ## the corpus for every target through ptxas, where it is installed
	$(Q)$(OUT)/assemble $(BUILD)/corpus tests/corpus/unsupported.txt --part $(TEST_PART) --jobs $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

GPU_TARGET ?= sm_90a
check-gpu: all $(OUT)/corpus_run $(OUT)/matrix $(OUT)/random_ptx $(BUILD)/corpus/unpacked $(BUILD)/cpp/unpacked ## the corpus on a GPU, every version, every op beside the references of the matrix, and random kernels (GPU_TARGET: sm_90a; GPU_QUICK=1: fewer)
	$(Q)status=0; $(OUT)/corpus_run $(BUILD)/corpus --gpu $(GPU_TARGET) --needs tests/corpus/unsupported.txt --jobs 4 || status=1; \
	    $(OUT)/corpus_run $(BUILD)/corpus --version 13.5 --gpu $(GPU_TARGET) --cluster 2 --needs tests/corpus/unsupported.txt --jobs 4 || status=1; \
	    $(OUT)/corpus_run $(BUILD)/cpp --version 13.5 --gpu $(GPU_TARGET) --needs tests/cpp/unsupported.txt --jobs 4 || status=1; \
	    $(OUT)/matrix --gpu=$(GPU_TARGET) --jobs=8 $(if $(GPU_QUICK),--quick) || status=1; \
	    $(OUT)/random_ptx $(PROPERTY_SEEDS) $(GPU_TARGET) 1 gpu || status=1; exit $$status

SANITIZER_SHARE ?= 1
check-gpu-sanitize: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked ## the corpus under compute-sanitizer (SANITIZER_SHARE: every Nth case)
	$(Q)sh tests/gpu/sanitizer.sh $(OUT) $(BUILD)/corpus $(GPU_TARGET) $(SANITIZER_SHARE)

bench-gpu: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked ## speed on a GPU: the large kernels of the corpus, and ours beside torch and Triton (PYTHON: one with torch; BENCH_OLD: the corpus_run of another build, to compare with)
	$(Q)sh tests/gpu/bench.sh $(OUT) $(BUILD)/corpus $(GPU_TARGET) $(PYTHON) $(BENCH_OLD)

# SWEEP_BESIDE: compilers to compare with, NAME=PATH each: older builds of tilevm, NVIDIA's tileiras. They and ptxas may run elsewhere
# than the GPU: `make sweep-cubins`, then tools/perf_run.py there, with the folder.
SWEEP_SECONDS ?= 360
SWEEP_FILTER ?= .
SWEEP = $(BUILD)/sweep
sweep-cubins: all $(BUILD)/sweep-cases/unpacked ## compile the performance cases by ours and SWEEP_BESIDE="ref=tileiras old=PATH" (SWEEP_FILTER: names)
	$(Q)$(PYTHON) tools/perf_build.py $(BUILD)/sweep-cases $(SWEEP) $(SWEEP_BESIDE) ours=$(OUT)/tilevm --target $(GPU_TARGET) --filter '$(SWEEP_FILTER)'

bench-gpu-sweep: sweep-cubins ## how fast those are on a GPU, in one run (PYTHON: one with torch; SWEEP_SECONDS: 360)
	$(Q)$(PYTHON) tools/perf_run.py $(SWEEP) --filter '$(SWEEP_FILTER)' --seconds $(SWEEP_SECONDS) --csv $(SWEEP)/sweep.csv

# COUNTERS: names of large kernels of the corpus, each of which fits one of them alone.
COUNTERS ?= attention_full_f16 matmul_tall_f16 matmul_batched_bf16 matmul_splitk_f16 conv2d_3x3_f16
bench-gpu-counters: all $(OUT)/corpus_run $(BUILD)/corpus/unpacked ## what hardware counters say of kernels of the corpus (ncu; COUNTERS: their names, without perf_)
	$(Q)for name in $(COUNTERS); do $(PYTHON) tools/gpu_counters.py --skip 2 --title $$name -- \
	    $(OUT)/corpus_run $(BUILD)/corpus --gpu $(GPU_TARGET) --version 13.5 --perf --jobs 1 --filter perf_$$name || exit 1; done

.PHONY: check-counters bench-gpu-counters
check-counters: ## the tool that reads hardware counters, without a GPU (python3, else skipped)
	$(Q)if command -v $(PYTHON) >/dev/null; then sh tests/counters.sh $(PYTHON); else echo "counters: skipped, there is no $(PYTHON)"; fi

$(BUILD)/sweep-cases/unpacked: tests/gpu/perf/cases.tar.xz
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && xz -dc $< | tar -xf - -C $(@D) && touch $@

.PHONY: check-matrix check-ptx check-gpu check-gpu-sanitize bench-gpu bench-gpu-sweep sweep-cubins
check-matrix: $(OUT)/matrix ## every op on every type against references (SAN=1: with sanitizers, fewer cases)
	$(Q)$(OUT)/matrix --part=$(TEST_PART) $(if $(filter asan,$(CONFIG)),--quick)

.PHONY: check-matrix-ptx
check-matrix-ptx: $(OUT)/matrix ## the same ops as PTX in the simulator, without and with instructions for f8 and bf16, f32 in pairs, and scaled products
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_80
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_90a
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --quick --ptx=sm_100 arith convert
	$(Q)$(OUT)/matrix --part=$(TEST_PART) --ptx=sm_120a mma

.PHONY: check-strips
STRIPS_OBJ := $(patsubst %,$(OUT)/obj/strips/codegen/%.o,passes/budget values/pieces)
$(STRIPS_OBJ): $(OUT)/obj/strips/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -DTV_SMALL_STRIPS -MMD -MP -c $< -o $@
$(OUT)/strips/matrix: $(MATRIX_OBJ)
$(OUT)/strips/random_ptx: $(OUT)/obj/tests/random_ptx.o
$(OUT)/strips/%: $(STRIPS_OBJ) $(OUT)/libtests.a $(OUT)/libtools.a $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -o $@

check-strips: $(OUT)/strips/matrix $(OUT)/strips/random_ptx ## the same, with all but the smallest tiles in strips
	$(Q)$(OUT)/strips/matrix --part=$(TEST_PART) --quick --ptx=sm_90a
	$(Q)$(OUT)/strips/random_ptx $(PROPERTY_SEEDS) sm_90a

# Another processor, where its compiler and an emulator are installed; what of its libraries is missing comes from Debian's archive.
AARCH64 := sh tests/aarch64.sh $(BUILD)/aarch64 $(BUILD)/from-debian/arm64/root
AARCH64_UNITS := $(wildcard $(addprefix tests/unit/,float_env.c call.c bundle.c container.c fleet.c format.c reach.c))
AARCH64_FIXTURES := $(wildcard tests/bundle/*.test tests/fleet/*.test tests/run/*.test)
.PHONY: check-aarch64 check-aarch64-sample from-debian
check-aarch64: ## the whole test suite on aarch64, by a cross compiler and qemu (an hour)
	+$(Q)MAKE="$(MAKE)" $(AARCH64) PROPERTY_SEEDS=200 check-unit check-fixtures check-compat check-commands check-programs check-loader \
	    check-property check-malformed check-corpus check-cpp check-matrix check-fuzz-replay

# ROUND: of `make check`, which takes another part in each.
ROUND ?= 0
check-aarch64-sample: ## some of that, which is always the same, and the part that has its turn in this ROUND
	+$(Q)MAKE="$(MAKE)" $(AARCH64) UNIT_SRC="$(AARCH64_UNITS)" FIXTURE_FILES="$(AARCH64_FIXTURES)" check-unit check-fixtures
	$(Q)echo "on aarch64, in round $(ROUND): $$(sh tests/aarch64_round.sh $(ROUND))"
	+$(Q)MAKE="$(MAKE)" $(AARCH64) $$(sh tests/aarch64_round.sh $(ROUND))

# Needs a network.
from-debian: ## what builds for aarch64 and static ones need beyond what is installed: build/from-debian
	$(Q)sh tools/from_debian.sh libraries arm64 $(BUILD)/from-debian/arm64 zlib1g zlib1g-dev libcjson1 libcjson-dev \
	    libzstd1 libzstd-dev liblz4-1 liblz4-dev libssl3
	$(Q)sh tools/from_debian.sh source $(BUILD)/from-debian/cjson cjson

# OOM_MOST: allocations of each command; FULL=1: all of them, and of more commands.
OOM_MOST ?= $(if $(filter asan,$(CONFIG)),6,10)
OOM := $(OUT)/oom $(if $(FULL),,--most $(OOM_MOST)) --work $(OUT)/oom-work
OOM_FIXTURES := tests/oom $(if $(FULL),tests/cli/compile* tests/cli/insp*) $(if $(filter asan,$(CONFIG)),,tests/check tests/text tests/run)
.PHONY: check-oom
check-oom: $(OUT)/oom $(OOM_TOOLS) $(OOM_OWN) $(OUT)/fakecuda/libcuda.so.1 ## the commands with allocations that fail (FULL=1: every one; SAN=1: with sanitizers)
	$(Q)rm -rf $(OUT)/oom-work && mkdir -p $(OUT)/oom-work
	$(Q)status=0; $(OOM) --tool $(OUT)/oom-tools/tilevm $(OOM_FIXTURES) || status=1; \
	    TILEVM_PTXAS=none $(OOM) --tool $(OUT)/oom-tools/tileiras --exit 5 tests/oom/tileiras.fixture || status=1; \
	    FAKECUDA_RUN=1 LD_LIBRARY_PATH=$(abspath $(OUT)/fakecuda) $(OOM) --tool $(OOM_OWN) tests/oom/device.fixture || status=1; exit $$status

# Programs with threads, under ThreadSanitizer (CONFIG=tsan): the loader's scenarios, the loader's and the machine's
# unit tests, and the example of the API.
THREAD_UNITS := $(addprefix $(OUT)/unit/,loader hostile kernels)
THREAD_LOADER := $(OUT)/loader_faults $(OUT)/fakecuda/libcuda.so.1
.PHONY: tests-threads check-threads
$(OUT)/api_example: $(OUT)/obj/tests/api/example.o $(OUT)/libtilevm.a
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

tests-threads: $(THREAD_UNITS) $(THREAD_LOADER) $(OUT)/api_example

check-threads: tests-threads ## the loader and the API (CONFIG=tsan: under ThreadSanitizer)
	$(Q)rm -rf $(OUT)/loader-work && status=0; for t in $(THREAD_UNITS); do $$t || status=1; done; \
	    $(OUT)/loader_faults $(OUT)/loader-work || status=1; \
	    $(OUT)/api_example > $(OUT)/api_example.txt && echo "api: 1 passed, 0 failed" || { status=1; echo "api: 0 passed, 1 failed"; }; \
	    exit $$status

.PHONY: check-stop
check-stop: all ## ^C and progress of tilevm run
	$(Q)sh tests/stop.sh $(OUT) $(OUT)/stop-work

GPU_DEPLOY := $(OUT)/gpu_deploy
.PHONY: check-gpu-deploy
$(GPU_DEPLOY): $(OUT)/obj/tests/gpu/deploy.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

check-loader: all $(LOADER_TESTS) $(GPU_DEPLOY) $(OUT)/program $(BUILD)/corpus/unpacked ## the loader, against a driver that is not one
	$(Q)rm -rf $(OUT)/loader-work
	$(Q)$(OUT)/loader_faults $(OUT)/loader-work
	$(Q)$(if $(SAN)$(EMULATED),,sh tests/preload.sh $(OUT) $(OUT)/loader-work/preload)
	$(Q)PRELOAD=$(if $(SAN)$(EMULATED),no,yes) sh tests/dropin.sh $(OUT) $(OUT)/loader-work/dropin
	$(Q)sh tests/device.sh $(OUT) $(BUILD)/corpus $(OUT)/loader-work/device
	$(Q)sh tests/doctor.sh $(OUT) $(OUT)/loader-work/doctor
	$(Q)$(if $(SAN)$(EMULATED),,LD_LIBRARY_PATH=$(abspath $(OUT)/fakecuda) TILEVM_PTXAS=$(abspath tests/fakecuda/ptxas.sh) FAKECUDA_RUN=1 \
	    FAKECUDA_DEVICES=90,80 bash tests/gpu/deploy.sh $(OUT) $(BUILD)/corpus)
	$(Q)CC="$(CC)" SANITIZE="$(filter -fsanitize=%,$(OPT_$(CONFIG)))" sh tests/bundle.sh $(OUT) $(BUILD)/corpus $(OUT)/loader-work/bundle

GPU_LOADER := $(OUT)/gpu_loader
.PHONY: check-gpu-loader
$(GPU_LOADER): $(OUT)/obj/tests/gpu/loader.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

check-gpu-loader: all $(GPU_LOADER) $(OUT)/fakecuda/libtilevm_cuda.so $(BUILD)/corpus/unpacked ## the loader on a real device, cold and from the cache, and tilevm run
	$(Q)sh tests/gpu/loader.sh $(OUT) $(BUILD)/corpus/bytecode/13.4/vadd_f32.tbc
	$(Q)sh tests/gpu/run.sh $(OUT) $(BUILD)/corpus

.PHONY: gpu-programs check-gpu-programs
gpu-programs: ## programs of nvcc for check-gpu-programs, some of them for another device (CUDA_HOME: a toolkit from 13.3 on; no GPU)
	$(Q)sh tests/programs/build.sh programs $(BUILD)/gpu-programs

check-gpu-programs: all ## what gpu-programs made, on a real device, with libtilevm_cuda.so preloaded
	$(Q)sh tests/gpu/programs.sh $(OUT) $(BUILD)/gpu-programs

check-gpu-deploy: all $(GPU_DEPLOY) $(BUILD)/corpus/unpacked ## on one or several GPUs: doctor, bundles of each form in many threads on all, warming, the start of a service
	$(Q)bash tests/gpu/deploy.sh $(OUT) $(BUILD)/corpus

check-malformed: $(filter $(OUT)/malformed,$(TEST_BIN)) $(BUILD)/corpus/unpacked ## damaged files (SAN=1: with sanitizers)
	$(Q)$(if $<,$(OUT)/malformed $(BUILD)/corpus tests/malformed $(TEST_PART))

PROPERTY_SEEDS ?= $(if $(FULL),$(if $(filter release,$(CONFIG)),200,40),$(if $(filter release,$(CONFIG)),80,20))
PROPERTY_FIRST ?= 1
PROPERTY_TARGETS ?= sm_80 sm_90a sm_100
check-property: $(OUT)/property $(OUT)/random_ptx ## what holds of every module, on random ones: PROPERTY_SEEDS seeds (80; FULL=1: 200) from PROPERTY_FIRST on in every version, and as PTX in the simulator
	$(Q)$< $(PROPERTY_SEEDS) $(PROPERTY_FIRST)
	$(Q)status=0; first=$(PROPERTY_FIRST); for t in $(PROPERTY_TARGETS); do $(OUT)/random_ptx $(PROPERTY_SEEDS) $$t $$first || status=1; \
	    first=$$((first + $(PROPERTY_SEEDS))); done; exit $$status

.PHONY: check-regress check-gpu-regress
check-regress: tests ## kernels that once gave a wrong number: on the PTX simulator for four targets, beside the virtual machine
	$(Q)bash tests/regress.sh $(OUT) $(OUT)/regress
check-gpu-regress: all ## the same on a GPU
	$(Q)bash tests/regress.sh $(OUT) $(OUT)/regress gpu

check-made-up: all $(BUILD)/corpus/unpacked ## every kernel of the corpus with arguments that are made up
	$(Q)sh tests/made_up.sh $(OUT)/tilevm $(BUILD)/corpus

check-api: all ## the library as others get it: installed, then linked shared and static
	$(Q)MAKE="$(MAKE)" CC="$(CC)" UPDATE="$(UPDATE)" sh tests/api/check.sh $(OUT)/api

check-commands: all ## the commands: terminals, colours, links, documents for machines, completions
	$(Q)sh tests/commands.sh $(OUT) $(OUT)/commands

.PHONY: check-programs
check-programs: all $(OUT)/program $(BUILD)/corpus/unpacked ## device code in programs: every command takes them
	$(Q)sh tests/programs.sh $(OUT) $(BUILD)/corpus $(OUT)/programs

.PHONY: check-compat
check-compat: all $(LOADER_TESTS) ## what was promised to programs and files of earlier releases (UPDATE=1: what is new is added to the lists)
	$(Q)CC="$(CC)" UPDATE="$(UPDATE)" sh tests/compat.sh $(OUT) $(OUT)/compat

.PHONY: check-examples
check-examples: all $(LOADER_TESTS) ## the files for CI, containers and clusters: parsed, their commands run
	$(Q)CC="$(CC)" sh tests/examples.sh $(OUT) $(OUT)/examples

check-hardening: all ## what programs and libraries were linked with: PIE, RELRO, stack protector, FORTIFY_SOURCE
	$(Q)sh tests/hardening.sh $(OUT)

check-python: wheel-files $(OUT)/fakecuda/libcuda.so.1 $(BUILD)/corpus/unpacked ## the Python package, its wheel, cuTile without a GPU (PYTHON: one with numpy, cuda-tile, torch, pytest; what it lacks is skipped)
	$(Q)CC="$(CC)" sh tests/python.sh "$(PYTHON)" $(OUT) $(BUILD)/corpus/bytecode/13.4 $(OUT)/python

check-reproducible: all ## the same bytes from a copy of the sources in another folder
	+$(Q)MAKE="$(MAKE)" sh tests/reproducible.sh $(OUT) $(OUT)/reproducible $(TEST_PART)

check-format: ## lines within 120 columns, laid out as clang-format 14 does
	$(Q)sh tools/check_format.sh

format: ## lay the sources out (clang-format 14)
	$(Q)sh tools/check_format.sh --fix

.PHONY: check-sizes
check-sizes: ## files above 600 lines, functions above 60 lines or 25 branches, and the median function
	$(Q)sh tools/check_sizes.sh tools/sizes.txt bytecode container vm codegen loader tools include
	$(Q)sh tests/selftest/sizes.sh $(OUT)/selftest/sizes

check-layers: all ## who may include and use whom, and that no files of codegen/ need each other in a circle
	$(Q)sh tools/deps.sh --strict codegen $(OUT)/obj > $(OUT)/deps.txt || { grep '^cycle' $(OUT)/deps.txt; exit 1; }
	$(Q)sh tools/folders.sh --uses $(OUT)/deps.txt tools/folders.txt include bytecode container vm codegen loader tools
	$(Q)CC="$(CC)" sh tools/check_layers.sh
	$(Q)sh tests/selftest/folders.sh $(OUT)/selftest/folders
	$(Q)CC="$(CC)" sh tests/selftest/deps.sh $(OUT)/selftest/deps

DEPS_OF ?= codegen
.PHONY: deps
deps: all ## which file needs which in a folder (DEPS_OF: codegen), and which need each other in a circle
	$(Q)sh tools/deps.sh $(DEPS_OF) $(OUT)/obj

# ---- mutation testing: tests/mutation/README.md ----
MUTATE_FILES := $(or $(FILES),$(wildcard vm/*.c vm/*/*.c codegen/*.c codegen/*/*.c bytecode/verify/*.c loader/cache*.c))
COUNT ?= 200
SEED  ?= 1
JOBS  ?= 2
.PHONY: mutate
$(OUT)/plant: $(OUT)/obj/tests/mutation/plant.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

mutate: $(OUT)/plant $(BUILD)/corpus/unpacked ## plant COUNT single faults (SEED, 1 by default) in FILES, one at a time, and list those that no fast test sees
	+$(Q)MAKE="$(MAKE)" MAKEFLAGS= sh tests/mutation/run.sh $(OUT)/plant $(BUILD) $(COUNT) $(SEED) $(JOBS) $(MUTATE_FILES)

# ---- fuzzing: libFuzzer needs clang (CONFIG=fuzz CC=clang), replaying does not; tests/fuzz/README.md ----
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_HEADERS := $(wildcard tests/fuzz/*.h)
FUZZ_LIBS := $(OUT)/libtools.a $(OUT)/libtilevm.a
FUZZ_SEEDS := $(OUT)/fuzz-seeds
FUZZ_SECONDS ?= $(if $(FULL),60,8)
FUZZ_NEEDS_CLANG = $(if $(findstring clang,$(CC)),,$(error fuzzing needs clang: make CONFIG=fuzz CC=clang $(firstword $(GOALS))$(if \
    $(shell command -v clang),,. On Debian: sudo apt-get install -y $(patsubst gcc,clang,$(DEBIAN_PACKAGES)) llvm)))
# What a target reads: seeds, crashes that were found, and (in FUZZ_CORPUS/<target>) what a long run has gathered.
FUZZ_INPUTS = $(FUZZ_SEEDS)/$* $(wildcard tests/fuzz/crashes/$* $(if $(FUZZ_CORPUS),$(FUZZ_CORPUS)/$*))

fuzz: $(FUZZ_NAMES:%=$(OUT)/fuzz_%) ## build the fuzz targets (CONFIG=fuzz CC=clang)

$(OUT)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_HEADERS) $(FUZZ_LIBS)
	$(FUZZ_NEEDS_CLANG)
	$(Q)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer $< $(LDFLAGS_ALL) $(FUZZ_LIBS) $(LIBS) -o $@

$(OUT)/replay_%: tests/fuzz/fuzz_%.c $(FUZZ_HEADERS) $(FUZZ_LIBS)
	$(Q)$(CC) $(CFLAGS_ALL) -DFUZZ_REPLAY $< $(LDFLAGS_ALL) $(FUZZ_LIBS) $(LIBS) -o $@

$(FUZZ_SEEDS)/made: tests/fuzz/make_seeds.sh $(OUT)/tilevm $(OUT)/program $(BUILD)/corpus/unpacked
	$(Q)sh $< $(OUT) $(BUILD)/corpus $(@D)

check-fuzz-replay: $(patsubst %,replayed_%,$(call in_part,$(FUZZ_NAMES))) ## the seeds and every crash ever found (SAN=1: with sanitizers)
replayed_%: $(OUT)/replay_% $(FUZZ_SEEDS)/made
	$(Q)$< $(FUZZ_INPUTS)

fuzz-smoke: $(patsubst %,smoked_%,$(call in_part,$(FUZZ_NAMES))) ## fuzz each target for FUZZ_SECONDS, 8 by default, 60 with FULL=1 (CONFIG=fuzz CC=clang)
smoked_%: $(OUT)/fuzz_% $(FUZZ_SEEDS)/made
	$(Q)sh tests/fuzz/smoke.sh $< $(FUZZ_SECONDS) $(OUT)/smoke/$* $(FUZZ_INPUTS)

FUZZ_PROFILE := $(OUT)/profile
fuzz-coverage: $(FUZZ_NAMES:%=covered_%) ## lines that seeds, crashes and FUZZ_CORPUS reach (CONFIG=coverage CC=clang)
covered_%: $(OUT)/replay_% $(FUZZ_SEEDS)/made
	$(FUZZ_NEEDS_CLANG)
	$(Q)mkdir -p $(FUZZ_PROFILE)
	$(Q)LLVM_PROFILE_FILE=$(FUZZ_PROFILE)/$*.raw $< $(FUZZ_INPUTS) > /dev/null
	$(Q)llvm-profdata merge -sparse $(FUZZ_PROFILE)/$*.raw -o $(FUZZ_PROFILE)/$*.data
	$(Q)llvm-cov report $< -instr-profile=$(FUZZ_PROFILE)/$*.data $(FUZZ_AREA_$*) > $(FUZZ_PROFILE)/$*.txt
	$(Q)awk '$$1 == "TOTAL" { print "$*: " $$10 " of " $$8 " lines; by file: $(FUZZ_PROFILE)/$*.txt" }' $(FUZZ_PROFILE)/$*.txt
# The code that a target is about.
FUZZ_AREA_read := $(wildcard bytecode/read/*)
FUZZ_AREA_body := $(wildcard bytecode/read/body.c bytecode/verify/*.c bytecode/print/*.c bytecode/write/write.c)
FUZZ_AREA_text := $(wildcard bytecode/parse/*.c)
FUZZ_AREA_symbol := $(wildcard bytecode/symbol/*.c)
FUZZ_AREA_args := $(wildcard $(addprefix tools/tilevm/,args/spec.c args/make.c args/json.c io/*.c))
FUZZ_AREA_bundle := $(wildcard loader/bundle/*.c) bytecode/base/zip.c
FUZZ_AREA_fleet := $(wildcard tools/tilevm/fleet/*.c)
FUZZ_AREA_container := $(wildcard container/*.c)
FUZZ_AREA_demangle := bytecode/base/demangle.c
FUZZ_AREA_ptx := $(wildcard codegen/*.c codegen/*/*.c)
FUZZ_AREA_tokens := $(FUZZ_AREA_ptx)
FUZZ_AREA_vm := $(wildcard vm/*.c vm/*/*.c)

# ---- figures ----
PYTHON ?= python3
bench: all $(OUT)/bench $(OUT)/bench_vm.so $(BUILD)/corpus/unpacked ## print this project's figures (TILEIR_TOOLS: beside NVIDIA's; PYTHON: one with numpy)
	$(Q)$(OUT)/tilevm gen --ops 400 -o $(BUILD)/bench-10k.tbc
	$(Q)$(OUT)/bench $(OUT)/tilevm $(BUILD)/corpus/bytecode/13.4 $(BUILD)/bench-10k.tbc
	$(Q)if command -v $(PYTHON) >/dev/null; then $(PYTHON) tools/bench_vm.py $(OUT)/bench_vm.so tests/bench; \
	    else echo "the virtual machine beside NumPy: skipped, there is no $(PYTHON)"; fi

BENCH_SHARE ?= 8
bench-compile: all $(OUT)/bench_compile $(OUT)/fakecuda/libcuda.so.1 $(BUILD)/corpus/unpacked ## how long compiling takes (BENCH_SHARE: processes for every Nth kernel; TILEIR_TOOLS: beside NVIDIA's)
	$(Q)LD_LIBRARY_PATH=$(OUT)/fakecuda $(OUT)/bench_compile $(OUT)/tileiras $(BUILD)/corpus --share $(BENCH_SHARE)

.PHONY: bench-model check-model
bench-model: all $(BUILD)/sweep-cases/unpacked ## what the cost model predicts beside what was measured (tests/gpu/sweep_h200.csv)
	$(Q)$(PYTHON) tools/bench_model.py $(OUT)/tilevm $(BUILD)/sweep-cases tests/gpu/sweep_h200.csv --filter '$(SWEEP_FILTER)'
check-model: all $(BUILD)/sweep-cases/unpacked ## its ranks of kernels within a family are those that were measured
	$(Q)$(PYTHON) tools/bench_model.py $(OUT)/tilevm $(BUILD)/sweep-cases tests/gpu/sweep_h200.csv --check > $(BUILD)/bench-model.txt || { tail -12 $(BUILD)/bench-model.txt; exit 1; }
	$(Q)tail -1 $(BUILD)/bench-model.txt

.PHONY: bench-programs
bench-programs: all $(OUT)/program $(BUILD)/corpus/unpacked ## how long verify takes for a program of 100 MB with 50 images
	$(Q)ls $(BUILD)/corpus/bytecode/13.5/*.tbc | head -n 50 | xargs $(OUT)/program elf zstd 102400 > $(BUILD)/bench-program
	$(Q)for i in 1 2 3; do bash -c 'TIMEFORMAT="%R s (user %U, system %S)"; time $(OUT)/tilevm verify $(BUILD)/bench-program'; done

.PHONY: bench-preload
bench-preload: tests ## how much slower programs without Tile IR start under libtilevm_cuda.so
	$(Q)bash tests/bench_preload.sh $(OUT) $(BUILD)/bench-preload

.PHONY: bench-bundle
bench-bundle: all $(OUT)/bundle_client $(OUT)/fakecuda/libcuda.so.1 $(BUILD)/corpus/unpacked ## bundles: building, size, starting a service (BENCH_EMIT=ptx: without cubins; TILEIR_TOOLS, PYTHON with cuda-tile: beside NVIDIA's compiler and Python)
	$(Q)PYTHON="$(PYTHON)" bash tests/bench_bundle.sh $(OUT) $(BUILD)/corpus $(OUT)/bench-bundle

.PHONY: bench-cutile
bench-cutile: all ## cuTile Python on the virtual machine: beside Triton's interpreter, and a first vector addition (PYTHON: one with numpy, cuda-tile, triton)
	$(Q)PYTHONPATH=tools/python TILEVM_LIBRARY=$(OUT)/libtilevm.so $(PYTHON) tools/bench_cutile.py

$(OUT)/bench_vm.so: $(OUT)/obj/tests/bench/bench_vm.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(CC) -shared $(LDFLAGS_ALL) $^ $(LIBS) -o $@

# ---- install ----
INSTALL ?= install
BIN_DIR := $(DESTDIR)$(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
LIB_DIR := $(DESTDIR)$(LIBDIR)
INC_DIR := $(DESTDIR)$(PREFIX)/include/tilevm
MAN_DIR := $(DESTDIR)$(PREFIX)/share/man/man1
BASH_DIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_DIR := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_DIR := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
VERSION := $(shell sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' include/tilevm/tilevm.h)
LIB_FILE := libtilevm.so.$(VERSION)

install: all ## install below $(DESTDIR)$(PREFIX)
	$(Q)$(INSTALL) -d $(BIN_DIR) $(LIB_DIR)/pkgconfig $(INC_DIR) $(MAN_DIR)
	$(Q)$(INSTALL) -m 755 $(OUT)/tilevm $(BIN_DIR)/tilevm
	$(Q)$(INSTALL) -m 755 $(OUT)/tileiras $(BIN_DIR)/tileiras
	$(Q)$(INSTALL) -m 644 $(OUT)/libtilevm.a $(LIB_DIR)/libtilevm.a
	$(Q)$(INSTALL) -m 755 $(OUT)/libtilevm.so $(LIB_DIR)/$(LIB_FILE)
	$(Q)$(INSTALL) -m 755 $(OUT)/libtilevm_cuda.so $(LIB_DIR)/libtilevm_cuda.so
	$(Q)ln -sf $(LIB_FILE) $(LIB_DIR)/$(SONAME) && ln -sf $(SONAME) $(LIB_DIR)/libtilevm.so
	$(Q)$(INSTALL) -m 644 $(wildcard include/tilevm/*.h) $(INC_DIR)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	    -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIB_LIBS)|' tools/tilevm.pc.in > $(LIB_DIR)/pkgconfig/tilevm.pc
	$(Q)$(INSTALL) -m 644 $(wildcard docs/man/*.1) $(MAN_DIR)
	$(Q)if $(OUT)/tilevm completions bash >/dev/null 2>&1; then \
	    $(INSTALL) -d $(BASH_DIR) $(ZSH_DIR) $(FISH_DIR) \
	    && for program in tilevm tileiras; do \
	        $(OUT)/tilevm completions bash $$program > $(BASH_DIR)/$$program \
	        && $(OUT)/tilevm completions zsh $$program > $(ZSH_DIR)/_$$program \
	        && $(OUT)/tilevm completions fish $$program > $(FISH_DIR)/$$program.fish || exit 1; done; fi

# ---- the Python package ----
# No system that the wheel may come to need have more than the C library: the command finds its cJSON beside itself, and what
# unpacks is taken from archives.
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
wheel-files: all $(OUT)/wheel-tilevm $(WHEEL_LIBRARIES)
	$(Q)rm -rf $(WHEEL) && $(INSTALL) -d $(addprefix $(WHEEL)/,bin package lib/tilevm licenses)
	$(Q)$(INSTALL) -s -m 755 $(OUT)/wheel-tilevm $(WHEEL)/bin/tilevm
	$(Q)$(INSTALL) -s -m 755 $(OUT)/tileiras $(WHEEL)/bin/tileiras
	$(Q)$(INSTALL) -s -m 755 $(WHEEL_LIBRARIES) $(WHEEL)/package
	$(Q)$(INSTALL) -m 755 $(CJSON) $(WHEEL)/lib/tilevm/libcjson.so.1
	$(Q)for part in cJSON:libcjson1 zlib:zlib1g-dev zstd:libzstd-dev lz4:liblz4-dev; do file=/usr/share/doc/$${part#*:}/copyright; \
	    if [ -r $$file ]; then $(INSTALL) -m 644 $$file $(WHEEL)/licenses/$${part%:*}; fi; done

# For aarch64, by a cross compiler, of what `make from-debian` has fetched.
ARM64_LIBS = $(abspath $(BUILD)/from-debian/arm64/root)/usr/lib/aarch64-linux-gnu
wheel-aarch64: ## the same for aarch64, by a cross compiler (make from-debian first)
	+$(Q)PKG_CONFIG_LIBDIR=$(ARM64_LIBS)/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(abspath $(BUILD)/from-debian/arm64/root) PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
	    LDFLAGS="-L$(ARM64_LIBS) -Wl,-rpath-link,$(ARM64_LIBS)" $(MAKE) --no-print-directory CC=aarch64-linux-gnu-gcc BUILD=$(BUILD)/wheel-aarch64 WERROR=0 \
	    ARCHIVE_FOLDER=$(ARM64_LIBS) CJSON=$(ARM64_LIBS)/libcjson.so.1 INSTALL="install --strip-program=aarch64-linux-gnu-strip" wheel

wheel: wheel-files ## dist/*.whl: the Python package with libraries and commands; pip installs it without a compiler
	$(Q)$(PYTHON) tools/python/backend.py $(WHEEL) dist

# ---- commands that need no libraries ----
# libcrypto is linked where there is an archive of it. Debian has none of cJSON: CJSON_SOURCE is its one source, cJSON.c.
STATIC := $(OUT)/static
CJSON_SOURCE ?= $(firstword $(wildcard $(BUILD)/from-debian/cjson/cjson-*/cJSON.c))
STATIC_CJSON := $(if $(CJSON_SOURCE),$(STATIC)/cJSON.o,$(filter /%,$(shell $(CC) -print-file-name=libcjson.a 2>/dev/null)))
STATIC_CRYPTO := $(filter /%,$(shell $(CC) -print-file-name=libcrypto.a 2>/dev/null))
STATIC_LINK = $(CC) -static-pie -Wl,--wrap=dlopen,--wrap=dlerror,--wrap=getpwuid,--wrap=getgrgid $(LDFLAGS_ALL)
NO_LIBRARIES := $(OUT)/obj/tools/static/no_libraries.o
.PHONY: static check-static
static: $(STATIC)/tileiras $(STATIC)/tilevm ## build/release/static: the commands, linked statically (CJSON_SOURCE=cJSON.c)

$(STATIC)/tileiras: $(TILEIRAS_OBJ) $(NO_LIBRARIES) $(OUT)/libtools.a $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(STATIC_LINK) $^ $(LIB_LIBS) -o $@

$(STATIC)/tilevm: $(TOOL_OBJ) $(NO_LIBRARIES) $(STATIC)/signature.o $(filter $(STATIC)/%,$(STATIC_CJSON)) $(OUT)/libtilevm.a
	$(if $(STATIC_CJSON),,$(error a static tilevm needs an archive of cJSON, which is not here, or its source: 'apt-get source cjson' and make static CJSON_SOURCE=.../cJSON.c))
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(STATIC_LINK) $^ $(filter-out $^,$(STATIC_CJSON)) $(STATIC_CRYPTO) $(LIB_LIBS) -o $@

$(STATIC)/signature.o: loader/bundle/signature.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(if $(STATIC_CRYPTO),-DTV_LINKED_CRYPTO) -MMD -MP -c $< -o $@

$(STATIC)/cJSON.o: $(CJSON_SOURCE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT_$(CONFIG)) $(HARDENING) -fPIC -c $< -o $@

check-static: all $(LOADER_TESTS) ## the static commands, in a root that has nothing else
	+$(Q)MAKE="$(MAKE)" CJSON_SOURCE="$(CJSON_SOURCE)" sh tests/static.sh $(OUT) $(OUT)/static-work

# ---- Debian packages ----
# The packaging is at home in tools/debian; dpkg-buildpackage wants it as debian/ in a tree with the name of the version.
DEB := $(BUILD)/deb
DEB_TREE := $(DEB)/tilevm-$(VERSION)
DEB_NEEDS := dpkg-buildpackage:dpkg-dev dh:debhelper
DEB_MISSING = $(strip $(foreach n,$(DEB_NEEDS),$(shell command -v $(firstword $(subst :, ,$n)) >/dev/null || echo $(lastword $(subst :, ,$n)))))
.PHONY: deb deb-tree check-deb
deb-tree:
	$(if $(DEB_MISSING),$(error Debian packages need $(DEB_MISSING): sudo apt-get install -y $(DEB_MISSING)))
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB_TREE)
	$(Q)cp -Rp $(filter-out $(BUILD) build dist,$(wildcard *)) $(DEB_TREE) && cp -Rp tools/debian $(DEB_TREE)/debian

deb: deb-tree ## build/deb/*.deb: the commands, the library, files for development, the alternative for tileiras
	$(Q)cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="$(or $(DEB_BUILD_OPTIONS),nocheck parallel=$(shell getconf _NPROCESSORS_ONLN))" \
	    dpkg-buildpackage -us -uc -b -nc > ../log 2>&1 || { tail -n 40 ../log; exit 1; }
	$(Q)ls $(DEB)/*.deb

check-deb: all $(LOADER_TESTS) ## the Debian packages: built twice, lintian, installed into a root of their own
	+$(Q)MAKE="$(MAKE)" sh tests/deb.sh $(OUT) $(DEB_TREE) $(OUT)/deb

uninstall: ## remove what install put there
	rm -f $(BIN_DIR)/tilevm $(BIN_DIR)/tileiras $(LIB_DIR)/libtilevm.a $(LIB_DIR)/$(LIB_FILE) $(LIB_DIR)/$(SONAME) $(LIB_DIR)/libtilevm.so \
	    $(LIB_DIR)/libtilevm_cuda.so
	rm -f $(LIB_DIR)/pkgconfig/tilevm.pc $(MAN_DIR)/tilevm.1 $(MAN_DIR)/tileiras.1
	rm -f $(foreach p,tilevm tileiras,$(BASH_DIR)/$(p) $(ZSH_DIR)/_$(p) $(FISH_DIR)/$(p).fish)
	rm -rf $(INC_DIR)

clean: ## remove this configuration's build
	rm -rf $(OUT)

dist-clean: ## remove everything that was built
	rm -rf $(BUILD)

help: ## list the targets
	@grep -hE '^[a-z -]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

FORCE:
.PHONY: all run bench bench-compile wheel wheel-files wheel-aarch64 docs tests check unit check-unit check-fixtures check-corpus check-loader check-malformed check-api check-commands check-hardening check-reproducible check-python check-made-up check-layers check-format format check-docs check-property golden \
        check-fuzz-replay fuzz-smoke fuzz-coverage corpus fuzz install \
        uninstall clean dist-clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
