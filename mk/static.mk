# Commands that need no shared libraries.

# libcrypto is linked where there is an archive of it. Debian has no archive of cJSON: CJSON_SOURCE is its one source
# file.
STATIC := $(OUT)/static
STATIC_NEEDS_CJSON = a static tilevm needs libcjson.a, which is not installed, or the source of cJSON: run \
    'make from-debian', which downloads it, or name it: make static CJSON_SOURCE=.../cJSON.c
CJSON_SOURCE ?= $(firstword $(wildcard $(BUILD)/from-debian/cjson/cjson-*/cJSON.c))
STATIC_CJSON := $(if $(CJSON_SOURCE),$(STATIC)/cJSON.o,$(call found_archive,cjson))
STATIC_CRYPTO := $(call found_archive,crypto)
STATIC_LINK = $(CC) -static-pie -Wl,--wrap=dlopen,--wrap=dlerror,--wrap=getpwuid,--wrap=getgrgid $(LDFLAGS_ALL)
NO_LIBRARIES := $(OUT)/obj/tools/static/no_libraries.o
## static: link the commands statically into build/release/static (CJSON_SOURCE=cJSON.c)
.PHONY: static
static: $(STATIC)/tileiras $(STATIC)/tilevm

$(STATIC)/tileiras: $(TILEIRAS_OBJ) $(NO_LIBRARIES) $(OUT)/libtools.a $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(STATIC_LINK) $^ $(LIB_LIBS) -o $@

$(STATIC)/tilevm: $(TOOL_OBJ) $(NO_LIBRARIES) $(STATIC)/crypto.o $(filter $(STATIC)/%,$(STATIC_CJSON)) \
    $(OUT)/libtilevm.a
	$(if $(STATIC_CJSON),,$(error $(STATIC_NEEDS_CJSON)))
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(STATIC_LINK) $^ $(filter-out $^,$(STATIC_CJSON)) $(STATIC_CRYPTO) $(LIB_LIBS) -o $@

$(STATIC)/crypto.o: loader/bundle/crypto.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(if $(STATIC_CRYPTO),-DTV_LINKED_CRYPTO) -MMD -MP -c $< -o $@

$(STATIC)/cJSON.o: $(CJSON_SOURCE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT_$(CONFIG)) $(HARDENING) $(SAME_BYTES) -ffile-prefix-map=$(<D)=cJSON -fPIC -c $< -o $@

## check-static: run the static commands in a root that has nothing else
.PHONY: check-static
check-static: all $(LOADER_TESTS)
	+$(Q)MAKE="$(MAKE)" CJSON_SOURCE="$(CJSON_SOURCE)" sh tests/shell/static.sh $(OUT) $(OUT)/static-work
