# Releases.

##@ Release
## release: build the files of release VERSION from the current commit, in dist/tilevm-VERSION
##   RELEASE_PARTS="source wheel static deb": the parts to build; CJSON_SOURCE=cJSON.c
.PHONY: release
release:
	+$(Q)MAKE="$(MAKE)" PYTHON="$(PYTHON)" LICENSE_NAME="$(LICENSE_NAME)" RELEASE_PARTS="$(RELEASE_PARTS)" \
	    CJSON_SOURCE="$(abspath $(CJSON_SOURCE))" sh tools/release.sh "$(VERSION)"

## check-release: make a reduced release twice, in two folders, and compare; refuse what cannot be released
.PHONY: check-release
check-release:
	$(Q)MAKE="$(MAKE)" PYTHON="$(PYTHON)" sh tests/shell/release.sh $(OUT)/release-work
