# The page that opens, verifies, prints, runs and compiles kernels in a browser. docs/guides/web.md

EMCC ?= emcc
WEB  := $(BUILD)/web
# The library without what needs files, processes and a driver; what makes up arguments; the diagnostics.
WEB_LIB := $(sort $(wildcard $(addsuffix /*.c,bytecode bytecode/* vm vm/* codegen codegen/*)))
WEB_ARGS := $(filter-out %/json.c %/save.c,$(sort $(wildcard tools/tilevm/args/*.c)))
# The report: all but what reads kernels from files.
WEB_REPORT := $(filter-out %/side.c,$(sort $(wildcard tools/tilevm/page/*.c))) $(addprefix tools/tilevm/, \
    report/report.c report/suppress.c report/json.c run/kernel.c run/tile.c run/made_up.c run/memory.c \
    compile/remarks.c compile/remarks_json.c)
WEB_SRC := $(WEB_LIB) $(WEB_ARGS) $(WEB_REPORT) $(wildcard tools/web/*.c) $(addprefix tools/tilevm/,cli/diag.c \
    cli/files.c cli/json.c cli/json_forms.c cli/message.c cli/options.c cli/show.c io/io.c io/npy.c)
# cJSON is compiled from its one source file, as for the static commands (mk/static.mk), since Debian has it for the
# host only.
WEB_OBJ := $(WEB_SRC:%.c=$(WEB)/obj/%.o) $(WEB)/obj/gen/build_id.o $(WEB)/obj/gen/page_text.o $(WEB)/obj/cJSON.o
WEB_CFLAGS := -std=c11 -D_GNU_SOURCE -ffp-contract=off -I. -Iinclude -I$(WEB)/include -Wall -Wextra
# The loops of the machine are compiled for speed, the rest for size.
WEB_OPT = $(if $(filter vm/%,$<),-O3 -fno-math-errno -fno-trapping-math -fno-strict-aliasing,-Os)

$(WEB)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  EMCC  $<")
	$(Q)$(EMCC) $(WEB_CFLAGS) $(WEB_OPT) -MMD -MP -c $< -o $@
$(WEB)/obj/tools/tilevm/cli/json.o: | $(WEB)/include/cjson/cJSON.h
$(WEB)/include/cjson/cJSON.h: $(dir $(CJSON_SOURCE))cJSON.h
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(WEB)/obj/cJSON.o: $(CJSON_SOURCE)
	@mkdir -p $(@D)
	$(Q)$(EMCC) -Os -c $< -o $@
$(WEB)/obj/gen/%.o: $(OUT)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(EMCC) $(WEB_CFLAGS) -Wno-overlength-strings -Os -c $< -o $@


# emcc's own scripts need acorn, which Debian keeps where only its own node looks by itself.
WEB_LINK := -Os -sMODULARIZE -sEXPORT_NAME=tilevmMachine -sENVIRONMENT=web -sFILESYSTEM=0 -sALLOW_MEMORY_GROWTH \
    -sMAXIMUM_MEMORY=2GB -sEXPORTED_FUNCTIONS=_malloc,_free -sEXPORTED_RUNTIME_METHODS=UTF8ToString
WEB_PAGE := $(addprefix tools/web/,page.html page.css page.js example.tir pack.py)

$(WEB)/machine.js: $(WEB_OBJ) mk/web.mk
	$(if $(Q),@echo "  EMLD  $@")
	$(Q)NODE_PATH=$${NODE_PATH:-/usr/share/nodejs} $(EMCC) $(WEB_LINK) $(WEB_OBJ) -o $@
$(WEB)/tilevm.html: $(WEB)/machine.js $(WEB_PAGE) $(OUT)/tilevm
	$(Q)$(OUT)/tilevm asm tools/web/example.tir -o $(WEB)/example.tbc
	$(Q)$(OUT)/tilevm report $(WEB)/example.tbc -o $(WEB)/example.html
	$(Q)$(PYTHON) tools/web/pack.py tools/web $< $(<:.js=.wasm) $(WEB)/example.html $@

## web: build the page that runs kernels in a browser, build/web/tilevm.html (EMCC: emscripten's compiler)
##   CJSON_SOURCE=cJSON.c: the source of cJSON, which `make from-debian` downloads
.PHONY: web
web:
	$(Q)if ! command -v $(EMCC) > /dev/null; then echo "web: skipped, there is no $(EMCC)"; \
	    elif [ -z "$(CJSON_SOURCE)" ]; then echo "web: skipped, there is no source of cJSON (make from-debian)"; \
	    else $(MAKE) --no-print-directory $(WEB)/tilevm.html; fi

BROWSER ?= chromium
## check-web: test that page in a headless browser (BROWSER: chromium)
.PHONY: check-web
check-web: web
	$(Q)if [ ! -e $(WEB)/tilevm.html ]; then :; elif command -v $(BROWSER) > /dev/null; then \
	    $(PYTHON) tests/web/browser.py $(BROWSER) $(WEB)/tilevm.html $(WEB)/shots; \
	    else echo "web: skipped, there is no $(BROWSER)"; fi

-include $(shell find $(WEB)/obj -name '*.d' 2>/dev/null)
