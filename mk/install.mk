# Installation below $(DESTDIR)$(PREFIX).

INSTALL ?= install
BIN_DIR := $(DESTDIR)$(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
LIB_DIR := $(DESTDIR)$(LIBDIR)
INC_DIR := $(DESTDIR)$(PREFIX)/include/tilevm
MAN_DIR := $(DESTDIR)$(PREFIX)/share/man/man1
BASH_DIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_DIR := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_DIR := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
LIB_FILE := libtilevm.so.$(VERSION)

##@ Install
## install: install below $(DESTDIR)$(PREFIX)
.PHONY: install
install: all
	$(Q)$(INSTALL) -d $(BIN_DIR) $(LIB_DIR)/pkgconfig $(INC_DIR) $(MAN_DIR)
	$(Q)$(INSTALL) -m 755 $(OUT)/tilevm $(BIN_DIR)/tilevm
	$(Q)$(INSTALL) -m 755 $(OUT)/tileiras $(BIN_DIR)/tileiras
	$(Q)$(INSTALL) -m 644 $(OUT)/libtilevm.a $(LIB_DIR)/libtilevm.a
	$(Q)$(INSTALL) -m 755 $(OUT)/libtilevm.so $(LIB_DIR)/$(LIB_FILE)
	$(Q)$(INSTALL) -m 755 $(OUT)/libtilevm_cuda.so $(LIB_DIR)/libtilevm_cuda.so
	$(Q)ln -sf $(LIB_FILE) $(LIB_DIR)/$(SONAME) && ln -sf $(SONAME) $(LIB_DIR)/libtilevm.so
	$(Q)$(INSTALL) -m 644 $(wildcard include/tilevm/*.h) $(INC_DIR)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
	    -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIB_LIBS)|' tools/tilevm.pc.in > $(LIB_DIR)/pkgconfig/tilevm.pc
	$(Q)$(INSTALL) -m 644 $(wildcard docs/man/*.1) $(MAN_DIR)
	$(Q)if $(OUT)/tilevm completions bash >/dev/null 2>&1; then \
	    $(INSTALL) -d $(BASH_DIR) $(ZSH_DIR) $(FISH_DIR) \
	    && for program in tilevm tileiras; do \
	        $(OUT)/tilevm completions bash $$program > $(BASH_DIR)/$$program \
	        && $(OUT)/tilevm completions zsh $$program > $(ZSH_DIR)/_$$program \
	        && $(OUT)/tilevm completions fish $$program > $(FISH_DIR)/$$program.fish || exit 1; done; fi

## uninstall: remove the files that install has installed
.PHONY: uninstall
uninstall:
	rm -f $(BIN_DIR)/tilevm $(BIN_DIR)/tileiras $(LIB_DIR)/libtilevm.a $(LIB_DIR)/$(LIB_FILE) $(LIB_DIR)/$(SONAME) \
	    $(LIB_DIR)/libtilevm.so $(LIB_DIR)/libtilevm_cuda.so
	rm -f $(LIB_DIR)/pkgconfig/tilevm.pc $(MAN_DIR)/tilevm.1 $(MAN_DIR)/tileiras.1
	rm -f $(foreach p,tilevm tileiras,$(BASH_DIR)/$(p) $(ZSH_DIR)/_$(p) $(FISH_DIR)/$(p).fish)
	rm -rf $(INC_DIR)
