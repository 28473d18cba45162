# tilevm. `make run` and `make check` are the two commands; `make help` lists the rest.
#
#   CONFIG=release|debug|asan|tsan|fuzz|coverage   SAN=1 is CONFIG=asan   V=1 shows commands   CC=clang   WERROR=0
#   PREFIX=/usr/local   LIBDIR=PREFIX/lib   DESTDIR=     for install      HARDENING= without it
#
# mk/ has the rest by subject. A comment line `## TARGET: text` above a target is its line in `make help`; `##@ text`
# begins a group there.

CONFIG  ?= $(if $(SAN),asan,release)
BUILD   ?= build
OUT     := $(BUILD)/$(CONFIG)
PREFIX  ?= /usr/local
CC      := $(if $(filter default,$(origin CC)),cc,$(CC))
PKGS    := zlib libcjson
# The decompressors of device code in programs. Without them, images packed with them are listed but cannot be read.
OPTIONAL_PKGS := libzstd liblz4
PYTHON  ?= python3
PROCESSORS = $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
VERSION := $(shell sed -n 's/^.define TV_VERSION "\(.*\)"/\1/p' include/tilevm/tilevm.h)
Q       := $(if $(V),,@)

.DEFAULT_GOAL := all

include mk/owner.mk
include mk/packages.mk
include mk/flags.mk
include mk/sources.mk
include mk/build.mk
include mk/test-programs.mk
include mk/check.mk
include mk/ptx.mk
include mk/source-checks.mk
include mk/fuzz.mk
include mk/aarch64.mk
include mk/gpu.mk
include mk/bench.mk
include mk/install.mk
include mk/python.mk
include mk/static.mk
include mk/web.mk
include mk/deb.mk
include mk/release.mk
include mk/clean.mk

##@ Help
## help: list the targets
.PHONY: help
help:
	@sh tools/make_help.sh $(MAKEFILE_LIST)

.PHONY: FORCE
FORCE:
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
