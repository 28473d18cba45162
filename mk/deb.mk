# Debian packages.

# The packaging lives in tools/debian; dpkg-buildpackage wants it as debian/ in a tree named after the version.
DEB := $(BUILD)/deb
DEB_TREE := $(DEB)/tilevm-$(VERSION)
DEB_NEEDS := dpkg-buildpackage:dpkg-dev dh:debhelper
deb_missing_one = $(shell command -v $(firstword $(subst :, ,$1)) >/dev/null || echo $(lastword $(subst :, ,$1)))
DEB_MISSING = $(strip $(foreach n,$(DEB_NEEDS),$(call deb_missing_one,$n)))
.PHONY: deb-tree
deb-tree:
	$(if $(DEB_MISSING),$(error Debian packages need $(DEB_MISSING): sudo apt-get install -y $(DEB_MISSING)))
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB_TREE)
	$(Q)cp -Rp $(filter-out $(BUILD) build dist,$(wildcard *)) $(DEB_TREE) && cp -Rp tools/debian $(DEB_TREE)/debian
	$(Q)echo "commit: $(shell sh tools/commit.sh)" > $(DEB_TREE)/.git_archival.txt
	$(Q)LICENSE_NAME="$(LICENSE_NAME)" sh tools/debian_copyright.sh tools/debian/copyright > $(DEB_TREE)/debian/copyright

## deb: build build/deb/*.deb: the commands, the library, development files, the alternative for tileiras
.PHONY: deb
deb: deb-tree
	$(Q)cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL \
	    DEB_BUILD_OPTIONS="$(or $(DEB_BUILD_OPTIONS),nocheck parallel=$(PROCESSORS))" \
	    dpkg-buildpackage -us -uc -b -nc > ../log 2>&1 || { tail -n 40 ../log; exit 1; }
	$(Q)ls $(DEB)/*.deb

## check-deb: build the Debian packages twice, run lintian, and install them into a root of their own
.PHONY: check-deb
check-deb: all $(LOADER_TESTS)
	+$(Q)MAKE="$(MAKE)" sh tests/shell/deb.sh $(OUT) $(DEB_TREE) $(OUT)/deb
