# The packages that the build needs: root installs missing ones, others get their names.

GOALS := $(or $(MAKECMDGOALS),all)
# clang's package only recommends the one with the runtimes of sanitizers and fuzzers, so that one is installed, too.
DEBIAN_PACKAGES := $(if $(findstring clang,$(CC)),clang,gcc) libc6-dev pkg-config zlib1g-dev libcjson-dev \
    libzstd-dev liblz4-dev
NEEDED_PROGRAMS := $(firstword $(CC)) pkg-config
ifneq ($(filter check% corpus% golden run bench fuzz-%,$(GOALS)),)
  DEBIAN_PACKAGES += xz-utils
  NEEDED_PROGRAMS += xz
endif
ifneq ($(filter-out help clean dist-clean uninstall,$(GOALS)),)
  # The names of missing programs and libraries.
  MISSING = $(shell for p in $(NEEDED_PROGRAMS); do command -v $$p >/dev/null || echo $$p; done; \
              for p in $(PKGS); do pkg-config --exists $$p 2>/dev/null || echo $$p; done)
  ifneq ($(MISSING),)
    INSTALL_PACKAGES := apt-get install -y $(if $(findstring clang,$(CC)),,--no-install-recommends) $(DEBIAN_PACKAGES)
    ifneq ($(and $(filter 0,$(shell id -u)),$(shell command -v apt-get)),)
      $(info installing $(DEBIAN_PACKAGES))
      INSTALLED := $(shell (apt-get update -q && DEBIAN_FRONTEND=noninteractive $(INSTALL_PACKAGES)) >&2)
    endif
    ifneq ($(MISSING),)
      $(error missing: $(MISSING). Install it on Debian with: sudo $(INSTALL_PACKAGES))
    endif
  endif
  FOUND_PKGS := $(foreach p,$(OPTIONAL_PKGS),$(shell pkg-config --exists $p 2>/dev/null && echo $p))
  $(foreach p,$(filter-out $(FOUND_PKGS),$(OPTIONAL_PKGS)), \
    $(info note: built without $p: images packed with it cannot be read))
  PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) $(FOUND_PKGS)) $(FOUND_PKGS:lib%=-DTV_HAVE_%)
  PKG_LIBS   := $(shell pkg-config --libs $(PKGS) $(FOUND_PKGS))
endif
