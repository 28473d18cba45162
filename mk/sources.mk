# Sources and objects: every .c file of a folder belongs to it.

# The preloaded library is not part of libtilevm.
LIB_DIRS  := bytecode bytecode/* container vm vm/* codegen codegen/* loader loader/bundle
LIB_SRC   := $(sort $(wildcard $(addsuffix /*.c,$(LIB_DIRS))))
TOOL_SRC  := $(sort $(wildcard tools/tilevm/*.c tools/tilevm/*/*.c))
UNIT_SRC  := $(wildcard tests/unit/*.c)
# For the tests of the loader: a fake driver, a fake code generator and a client.
LOADER_TESTS := $(addprefix $(OUT)/,loader_faults bundle_client fakecuda/libcuda.so.1 fakecuda/libtilevm_cuda.so \
    fakecuda/host fakecuda/app obj/tests/fakecuda/runtime.o $(addprefix fakecuda/,tilevm tileiras))
# Every file of tests/runners is a program; they share what is in tests/common.
TEST_MAIN := $(filter-out %/loader_faults.c %/bundle_client.c,$(wildcard tests/runners/*.c))
TEST_SRC  := $(wildcard tests/common/*.c tests/ptxsim/*.c tests/random/*.c)
LIB_OBJ   := $(LIB_SRC:%.c=$(OUT)/obj/%.o) $(OUT)/obj/gen/build_id.o
TOOL_OBJ  := $(TOOL_SRC:%.c=$(OUT)/obj/%.o) \
    $(addprefix $(OUT)/obj/gen/,rule_examples.o embed_text.o page_text.o commit.o)
TEST_OBJ  := $(TEST_SRC:%.c=$(OUT)/obj/%.o)
MATRIX_OBJ := $(patsubst %.c,$(OUT)/obj/%.o,$(wildcard tests/matrix/*.c))
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(OUT)/unit/%)
TEST_BIN  := $(patsubst tests/runners/%.c,$(OUT)/%,$(TEST_MAIN:_main.c=.c))
