# Another processor, where its compiler and an emulator are installed; libraries that are missing for it come from
# Debian's archive.
AARCH64 := sh tests/shell/aarch64.sh $(BUILD)/aarch64 $(BUILD)/from-debian/arm64/root
AARCH64_UNITS := $(wildcard $(addprefix tests/unit/,float_env.c call.c bundle.c container.c fleet.c format.c reach.c))
AARCH64_FIXTURES := $(wildcard tests/bundle/*.test tests/fleet/*.test tests/run/*.test)
##@ Test on aarch64 (emulated)
## check-aarch64: run the whole test suite on aarch64, with a cross compiler and qemu (an hour)
.PHONY: check-aarch64
check-aarch64:
	+$(Q)MAKE="$(MAKE)" $(AARCH64) PROPERTY_SEEDS=200 check-unit check-fixtures check-compat check-commands \
	    check-programs check-loader check-property check-malformed check-corpus check-cpp check-matrix check-fuzz-replay

# ROUND: the round of `make check`, each of which takes another part.
ROUND ?= 0
## check-aarch64-sample: run a fixed sample of it, and the part whose turn it is in this ROUND
.PHONY: check-aarch64-sample
check-aarch64-sample:
	+$(Q)MAKE="$(MAKE)" $(AARCH64) UNIT_SRC="$(AARCH64_UNITS)" FIXTURE_FILES="$(AARCH64_FIXTURES)" \
	    check-unit check-fixtures
	$(Q)echo "on aarch64, in round $(ROUND): $$(sh tests/shell/aarch64_round.sh $(ROUND))"
	+$(Q)MAKE="$(MAKE)" $(AARCH64) $$(sh tests/shell/aarch64_round.sh $(ROUND))

# Needs a network.
## from-debian: download what the aarch64 and static builds need to build/from-debian
.PHONY: from-debian
from-debian:
	$(Q)sh tools/from_debian.sh libraries arm64 $(BUILD)/from-debian/arm64 zlib1g zlib1g-dev libcjson1 libcjson-dev \
	    libzstd1 libzstd-dev liblz4-1 liblz4-dev libssl3
	$(Q)sh tools/from_debian.sh source $(BUILD)/from-debian/cjson cjson
