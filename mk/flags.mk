# Flags of the compiler and the linker, by configuration.

comma := ,
X86 := $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null))
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wcast-qual \
    -Wvla -Wdate-time
ifneq ($(WERROR),0)
  WARN += -Werror
endif
OPT_release := -O2 -g -fno-semantic-interposition
# Builds that look for defects check the code generator's IR after every pass.
OPT_debug   := -O0 -g3 -DTV_VERIFY_EACH
# Lines in reports need no more than -g1, which compiles a sixth faster.
OPT_asan    := -O1 -g1 -DTV_VERIFY_EACH -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan    := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
OPT_coverage := -O1 -g -fprofile-instr-generate -fcoverage-mapping
OPT_fuzz    := -O1 -g1 -DTV_VERIFY_EACH -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
# gcc warns about the code that its own sanitizer puts around shifts.
WARN_asan   := -Wno-conversion -Wno-sign-conversion
# Limits what a hostile file can do with a defect. Sanitizers have checks of their own, which FORTIFY_SOURCE hides.
HARDENING_CFLAGS := -fstack-protector-strong -fstack-clash-protection $(if $(X86),-fcf-protection) \
                    $(if $(filter release,$(CONFIG)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDENING ?= $(if $(filter release debug,$(CONFIG)),$(HARDENING_CFLAGS))
HARDENING_LDFLAGS := $(if $(HARDENING),-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now)
# The name of the folder is not in the objects, so they are the same bytes in every folder.
SAME_BYTES = -ffile-prefix-map=$(CURDIR)=. $(if $(filter-out build,$(BUILD)),-ffile-prefix-map=$(BUILD)=build)
# No contraction: every f32 operation of the VM rounds on its own.
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE $(WARN) $(WARN_$(CONFIG)) $(OPT_$(CONFIG)) $(HARDENING) $(SAME_BYTES) \
    -ffp-contract=off -fPIC -pthread -I. -Iinclude $(PKG_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(filter -fsanitize=% -fprofile-instr-generate,$(OPT_$(CONFIG))) $(HARDENING_LDFLAGS) -pthread $(LDFLAGS)
LINK = $(CC) $(if $(HARDENING),-pie) $(LDFLAGS_ALL)
# Of the tests' programs there are a hundred: lld, where it is installed, links them in less than half the time.
LINK_TEST = $(LINK) $(FAST_LINKER)
FAST_LINKER := $(if $(EMULATED),,$(if $(shell command -v ld.lld 2>/dev/null),-fuse-ld=lld))
LIBS = $(PKG_LIBS) -lm -ldl
# The library and tileiras need these; only tilevm needs cJSON.
LIB_LIBS = $(filter-out -lcjson,$(LIBS))

# A program of tests spends its time in the library and in what programs share (tests/common, ptxsim, random):
# optimising its own code would take longer than it saves. FORTIFY_SOURCE needs optimisation.
QUICK = $(if $(filter tests/unit/%.c tests/runners/%.c,$<),-O0 -U_FORTIFY_SOURCE)
# But this one counts in loops of its own.
CFLAGS_tests_unit_quotients := -O1
# With sanitizers, gcc compiles these folders in three quarters of the time with -Og, and tests run no slower.
SANITIZED = $(if $(filter asan,$(CONFIG)),$(if $(filter $(SANITIZED_OG),$<),-Og))
SANITIZED_OG := $(addsuffix /%.c,bytecode container codegen loader tools)

# The loops of the virtual machine, once per instruction set (vm/kernels/kernels.inc). Nothing observes traps or errno
# there, and strips of memory hold whatever type the kernel says.
VM_KERNELS := $(if $(filter release,$(CONFIG)),-O3) -fno-math-errno -fno-trapping-math -fno-strict-aliasing
CFLAGS_vm_kernels_base   := $(VM_KERNELS)
CFLAGS_vm_kernels_avx2   := $(VM_KERNELS) $(if $(X86),-mavx2 -mfma -mf16c)
CFLAGS_vm_kernels_avx512 := $(VM_KERNELS) $(if $(X86),-mavx2 -mfma -mf16c \
    -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)

# The stand-in for dlsym must leave its caller's place on the stack to the real one, whatever the configuration.
CFLAGS_loader_preload_preload := -O2 -foptimize-sibling-calls
