# Rules for objects, the libraries and the commands.

##@ Build and run
## all: build the commands and the libraries
.PHONY: all
all: $(OUT)/tilevm $(OUT)/tileiras $(OUT)/libtilevm.so $(OUT)/libtilevm_cuda.so $(OUT)/mkbc
## tests: build the test programs as well
.PHONY: tests
tests: all $(UNIT_BIN) $(TEST_BIN) $(LOADER_TESTS) $(OUT)/matrix

# A stamp changes when its text does, so that other flags, another compiler or a removed file rebuild what they touch.
define stamp
@mkdir -p $(@D)
@echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
endef
# Without the flags that name folders, which change no byte of the result.
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
	$(Q)$(CC) $(CFLAGS_ALL) $(QUICK) $(SANITIZED) $(CFLAGS_$(subst /,_,$(basename $<))) -MMD -MP -c $< -o $@

# The rule fixtures as C, for `tilevm explain`.
$(OUT)/gen/rule_examples.c: tools/embed_examples.sh $(wildcard tests/rules tests/rules/*.test)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  GEN   $@")
	$(Q)sh tools/embed_examples.sh tests/rules > $@.tmp && mv $@.tmp $@
# What `tilevm embed` writes around the kernels, and the page of `tilevm report`.
EMBED_IN := tools/tilevm/cmd/embed.c.in
PAGE := tools/tilevm/page
PAGE_SCRIPTS := $(sort $(wildcard $(PAGE)/*.js))
$(OUT)/gen/embed_text.c: tools/embed_text.sh $(EMBED_IN)
$(OUT)/gen/embed_text.c: EMBEDDED := tools/tilevm/cmd/embed_text.h embed_types $(EMBED_IN):head -- embed_code \
    $(EMBED_IN):tail
$(OUT)/gen/page_text.c: tools/embed_text.sh $(PAGE)/page.html $(PAGE)/page.css $(PAGE_SCRIPTS) $(PAGE)
$(OUT)/gen/page_text.c: EMBEDDED := $(PAGE)/page.h page_html $(PAGE)/page.html -- page_style $(PAGE)/page.css \
    -- page_script $(PAGE_SCRIPTS)
$(OUT)/gen/embed_text.c $(OUT)/gen/page_text.c:
	@mkdir -p $(@D)
	$(if $(Q),@echo "  GEN   $@")
	$(Q)sh tools/embed_text.sh $(EMBEDDED) > $@.tmp && mv $@.tmp $@
MADE_TEXTS := $(patsubst %,$(OUT)/obj/gen/%.o,rule_examples embed_text page_text)
$(MADE_TEXTS): $(OUT)/obj/gen/%.o: $(OUT)/gen/%.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -Wno-overlength-strings -MMD -MP -c $< -o $@

# tv_version, and tv_build_id: a checksum over the sources of the library.
LIB_TEXT := $(sort $(wildcard $(addsuffix /*.[chdi]*,include/tilevm $(LIB_DIRS))))
$(OUT)/gen/build_id.c: tools/build_id.sh $(LIB_TEXT) $(OUT)/libtilevm.list
	@mkdir -p $(@D)
	$(Q)sh tools/build_id.sh $(LIB_TEXT) > $@
$(OUT)/obj/gen/build_id.o: $(OUT)/gen/build_id.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

# The commit, for `tilevm --version` only: a text that changes with every commit must not rebuild the library.
$(OUT)/gen/commit.c: FORCE
	$(call stamp,const char cli_commit[] = "$(or $(COMMIT),$(shell sh tools/commit.sh))";)
$(OUT)/obj/gen/commit.o: $(OUT)/gen/commit.c $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -include tools/tilevm/cli/cli.h -c $< -o $@

$(OUT)/libtilevm.a: $(LIB_OBJ) $(OUT)/libtilevm.list
	$(if $(Q),@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) rcsD $@ $(LIB_OBJ)

# The shared library exports tv_ names only.
SONAME := libtilevm.so.0
LINK_LIBRARY = $(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=tools/libtilevm.map $(LDFLAGS_ALL) $(LIB_OBJ)
$(OUT)/libtilevm.so: $(LIB_OBJ) $(OUT)/libtilevm.list tools/libtilevm.map
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK_LIBRARY) $(LIB_LIBS) -o $@

# The library for LD_PRELOAD exports the driver's names and nothing else.
PRELOAD_OBJ := $(OUT)/obj/loader/preload/preload.o
LINK_PRELOAD = $(CC) -shared -Wl,-soname,libtilevm_cuda.so -Wl,--version-script=loader/preload/preload.map \
    $(LDFLAGS_ALL) $(PRELOAD_OBJ) $(OUT)/libtilevm.a
$(OUT)/libtilevm_cuda.so: $(PRELOAD_OBJ) $(OUT)/libtilevm.a loader/preload/preload.map
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK_PRELOAD) $(LIB_LIBS) -o $@

# The command links the decompressors from archives where there are some: each shared library
# costs 0.03 ms at its start. ARCHIVE_FOLDER: where they are, if the compiler does not look there.
found_archive = $(filter /%,$(shell $(CC) -print-file-name=lib$1.a 2>/dev/null))
archive_of = $(or $(wildcard $(ARCHIVE_FOLDER)/lib$1.a),$(call found_archive,$1),-l$1)
ARCHIVES := $(foreach l,z zstd lz4,$(call archive_of,$l))
archived = $(foreach l,$1,$(if $(filter -lz -lzstd -llz4,$l),$(or $(filter %/lib$(l:-l%=%).a,$(ARCHIVES)),$l),$l))
$(OUT)/tilevm: $(TOOL_OBJ) $(OUT)/libtilevm.a $(OUT)/tilevm.list
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK) $(TOOL_OBJ) $(OUT)/libtilevm.a $(call archived,$(LIBS)) -o $@

# The drop-in reads files and runs ptxas with parts of the command.
TILEIRAS_OBJ := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard tools/tileiras/*.c))
$(OUT)/tileiras: $(TILEIRAS_OBJ) $(OUT)/libtools.a $(OUT)/libtilevm.a
	$(if $(Q),@echo "  LD    $@")
	$(Q)$(LINK) $^ $(call archived,$(LIB_LIBS)) -o $@

## run: build, then run kernels of the corpus on the CPU: vector addition, softmax, layer norm, matrix product
.PHONY: run
run: all $(BUILD)/corpus/unpacked
	$(Q)sh tools/run_examples.sh $(OUT)/tilevm $(BUILD)/corpus
