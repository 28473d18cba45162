# Checks of sources and documents, and what regenerates parts of them.

##@ Check the sources and documents
# Where the document of that name is.
document = $(wildcard docs/$1 docs/*/$1)
## docs: regenerate rules.md, remarks.md, the pages of the passes, the picture of the folders, SECURITY.md
.PHONY: docs
docs: $(OUT)/tilevm
	$(Q)$(OUT)/tilevm explain --all --format markdown -o $(call document,rules.md)
	$(Q)sh tools/pass_pages.sh docs/internals/passes
	$(Q)sh tools/show_passes.sh $(call document,remarks.md) > $(OUT)/remarks.md && \
	    cp $(OUT)/remarks.md $(call document,remarks.md)
	$(Q)if command -v $(PYTHON) >/dev/null; then \
	    $(PYTHON) tools/pictures/folders.py tools/folders.txt > $(OUT)/folders.svg && \
	    cp $(OUT)/folders.svg docs/pictures; else echo "docs/pictures/folders.svg: skipped, there is no $(PYTHON)"; fi
	$(Q)sh tools/security_contact.sh SECURITY.md "$(SECURITY_CONTACT)" > $(OUT)/SECURITY.md && \
	    cp $(OUT)/SECURITY.md SECURITY.md

## check-docs: check that the documents agree with the commands, the tables and each other
.PHONY: check-docs
check-docs: all
	$(Q)status=0; \
	    SECURITY_CONTACT="$(SECURITY_CONTACT)" sh tools/check_docs.sh $(OUT)/tilevm $(OUT)/tileiras || status=1; \
	    sh tests/selftest/docs.sh $(OUT)/selftest/docs || status=1; \
	    sh tools/docs/check.sh $(OUT) || status=1; exit $$status

## check-api-docs: build pages of the public headers with Doxygen into build/release/api-docs, without a warning
.PHONY: check-api-docs
check-api-docs:
	$(Q)sh tools/docs/api.sh $(OUT)/api-docs
	$(Q)sh tests/selftest/api_docs.sh $(OUT)/selftest/api-docs

## check-format: check that lines have at most 120 columns, and the format of clang-format 14
.PHONY: check-format
check-format:
	$(Q)sh tools/check_format.sh

## format: format the sources with clang-format 14
.PHONY: format
format:
	$(Q)sh tools/check_format.sh --fix

## check-sizes: check for files above 600 lines and functions above 60 lines or 25 branches
.PHONY: check-sizes
check-sizes:
	$(Q)sh tools/check_sizes.sh tools/sizes.txt bytecode container vm codegen loader tools include
	$(Q)sh tests/selftest/sizes.sh $(OUT)/selftest/sizes

## check-argument-order: check that no compiler of C decides the order of the code that is emitted
.PHONY: check-argument-order
check-argument-order:
	$(Q)sh tools/check_argument_order.sh codegen
	$(Q)sh tests/selftest/argument_order.sh $(OUT)/selftest/argument-order

LAYERED := bytecode container vm codegen loader tools
## check-layers: check which folder may use which, and that files do not depend on each other in circles
.PHONY: check-layers
check-layers: all
	$(Q)sh tools/deps.sh --strict tools/circles.txt $(OUT)/obj $(LAYERED) > $(OUT)/deps.txt || \
	    { grep -E '^(cycle|listed)' $(OUT)/deps.txt; exit 1; }
	$(Q)sh tools/folders.sh --uses $(OUT)/deps.txt tools/folders.txt include $(LAYERED)
	$(Q)CC="$(CC)" sh tools/check_layers.sh
	$(Q)sh tests/selftest/folders.sh $(OUT)/selftest/folders
	$(Q)CC="$(CC)" sh tests/selftest/deps.sh $(OUT)/selftest/deps

DEPS_OF ?= $(LAYERED)
## deps: list which file needs which, and the circles (DEPS_OF: folders)
.PHONY: deps
deps: all
	$(Q)sh tools/deps.sh $(OUT)/obj $(DEPS_OF)
