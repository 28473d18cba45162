# Rules for the test programs.

$(OUT)/libtests.a: $(TEST_OBJ) $(OUT)/libtests.list
	$(Q)rm -f $@ && $(AR) rcsD $@ $(TEST_OBJ)

# The parts of the command that have unit tests of their own.
TOOL_PARTS := $(filter-out %/tilevm/main.o %/gen/commit.o,$(TOOL_OBJ))
$(OUT)/libtools.a: $(TOOL_PARTS) $(OUT)/tilevm.list
	$(Q)rm -f $@ && $(AR) rcsD $@ $(TOOL_PARTS)

$(OUT)/unit/%: $(OUT)/obj/tests/unit/%.o $(OUT)/libtests.a $(OUT)/libtools.a $(OUT)/libtilevm.a
	@mkdir -p $(@D)
	$(Q)$(LINK_TEST) $^ $(LIBS) -o $@

$(OUT)/mkbc: $(OUT)/obj/tests/runners/mkbc_main.o $(OUT)/libtests.a
	$(Q)$(LINK) $^ -o $@

$(OUT)/ptxsim: $(OUT)/obj/tests/runners/ptxsim_main.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(OUT)/program: $(OUT)/obj/tests/runners/program_main.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

$(filter-out $(OUT)/mkbc $(OUT)/ptxsim $(OUT)/program,$(TEST_BIN)): $(OUT)/%: $(OUT)/obj/tests/runners/%.o \
    $(OUT)/libtests.a $(OUT)/libtools.a $(OUT)/libtilevm.a
	$(Q)$(LINK_TEST) $^ $(LIBS) -o $@

$(OUT)/matrix: $(MATRIX_OBJ) $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) $^ $(LIBS) -o $@

FAKE_COMPILE := $(OUT)/obj/tests/fakecuda/compile.o
$(OUT)/loader_faults: $(OUT)/obj/tests/runners/loader_faults.o $(FAKE_COMPILE) $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(LINK) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc $^ $(LIBS) -o $@

$(OUT)/bundle_client: $(OUT)/obj/tests/runners/bundle_client.o $(OUT)/libtests.a $(OUT)/libtilevm.a
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(OUT)/fakecuda/libcuda.so.1: $(OUT)/obj/tests/fakecuda/fakecuda.o $(OUT)/libtests.a $(OUT)/libtilevm.a \
    tests/fakecuda/fakecuda.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,--version-script=tests/fakecuda/fakecuda.map \
	    $(LDFLAGS_ALL) $(filter %.o %.a,$^) $(LIBS) -o $@

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
# Nothing can wrap a sanitizer's own allocator before it has started: there, only the command's own allocations fail.
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

# TEST_PART=I/N: of cases that are alike, tests take every Nth, from number I on (tests/README.md#rounds).
TEST_PART ?= 0/1
take_part = awk '{ split("$(TEST_PART)", p, "/"); if ((NR - 1) % p[2] == p[1]) print }'
in_part = $(if $(filter 0/1,$(TEST_PART)),$1,$(shell echo '$1' | tr ' ' '\n' | $(take_part)))
