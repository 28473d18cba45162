# tilevm. `make run` and `make check` are the two commands; `make help` lists the rest.
#
#   CONFIG=release|debug|asan|fuzz   SAN=1 is CONFIG=asan   V=1 shows commands   CC=clang   PREFIX=/usr/local   DESTDIR=

CONFIG  ?= $(if $(SAN),asan,release)
BUILD   ?= build
OUT     := $(BUILD)/$(CONFIG)
PREFIX  ?= /usr/local
CC      := $(if $(filter default,$(origin CC)),cc,$(CC))
PKGS    := zlib libcjson

.DEFAULT_GOAL := all

# ---- what the build needs: installed when root, else named ----
DEBIAN_PACKAGES := gcc make pkg-config zlib1g-dev libcjson-dev
ifeq ($(filter help clean,$(MAKECMDGOALS)),)
  HAVE_PKGS := $(shell command -v $(CC) >/dev/null && pkg-config --exists $(PKGS) 2>/dev/null && echo yes)
  ifneq ($(HAVE_PKGS),yes)
    ifeq ($(shell id -u),0)
      $(info installing $(DEBIAN_PACKAGES))
      INSTALLED := $(shell apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q $(DEBIAN_PACKAGES) >&2 && echo yes)
      ifneq ($(INSTALLED),yes)
        $(error could not install the build packages; run: apt-get install -y $(DEBIAN_PACKAGES))
      endif
    else
      $(error missing build packages; run: sudo apt-get install -y $(DEBIAN_PACKAGES))
    endif
  endif
  PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
  PKG_LIBS   := $(shell pkg-config --libs $(PKGS))
endif

# ---- flags ----
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wcast-qual -Wvla
ifneq ($(WERROR),0)
  WARN += -Werror
endif
OPT_release := -O2 -g
OPT_debug   := -O0 -g3
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# No contraction: every f32 operation of the VM rounds on its own.
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(WARN) $(OPT_$(CONFIG)) -ffp-contract=off -fPIC -pthread -I. -Iinclude $(PKG_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(filter -fsanitize=address%,$(OPT_$(CONFIG))) -pthread $(LDFLAGS)
LIBS = $(PKG_LIBS) -lm -ldl
Q := $(if $(V),,@)

# ---- sources: every .c of a folder belongs to it ----
LIB_SRC  := $(wildcard bytecode/base/*.c bytecode/*.c vm/*.c codegen/*.c loader/*.c)
TOOL_SRC := $(wildcard tools/tilevm/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(OUT)/obj/%.o)
TOOL_OBJ := $(TOOL_SRC:%.c=$(OUT)/obj/%.o)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(OUT)/unit/%)

all: $(OUT)/tilevm $(OUT)/libtilevm.so ## build the command and the library

$(OUT)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS_ALL) $(CFLAGS_$(subst /,_,$(basename $<))) -MMD -MP -c $< -o $@

$(OUT)/libtilevm.a: $(LIB_OBJ)
	$(if $(Q),@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(OUT)/libtilevm.so: $(LIB_OBJ)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(CC) -shared -Wl,-soname,libtilevm.so.0 $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(OUT)/tilevm: $(TOOL_OBJ) $(OUT)/libtilevm.a
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

unit: $(UNIT_BIN) ## run the unit tests
	$(Q)for t in $(UNIT_BIN); do $$t || exit 1; done

# ---- fuzzing: libFuzzer needs clang; tests/fuzz/README.md ----
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_SECONDS ?= 20
FUZZ_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I. -Iinclude
FUZZ_NEEDS_CLANG = $(if $(findstring clang,$(CC)),,$(error fuzzing needs clang: make CONFIG=fuzz CC=clang fuzz))

fuzz: $(FUZZ_SRC:tests/fuzz/%.c=$(OUT)/%) ## build the fuzz targets (CONFIG=fuzz CC=clang)

$(OUT)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(OUT)/libtilevm.a
	$(FUZZ_NEEDS_CLANG)
	$(Q)$(CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer $< $(OUT)/libtilevm.a $(LIBS) -o $@

$(OUT)/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(OUT)/libtilevm.a
	$(Q)$(CC) $(CFLAGS_ALL) -DFUZZ_REPLAY $< $(LDFLAGS_ALL) $(OUT)/libtilevm.a $(LIBS) -o $@

clean: ## remove everything that was built
	rm -rf $(BUILD)

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

.PHONY: all unit fuzz clean help
.SECONDARY:
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
