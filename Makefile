# SPDX-License-Identifier: Apache-2.0
# A short front for people; the build itself is Meson's. Two commands are all a newcomer needs:
#   make demo    installs what is missing, builds, profiles the two examples, writes demo/*.html
#   make test    installs what is missing, builds, runs the tests (make test-all: also those that need gigabytes of PyPI)
# Whoever changes something runs 'make check' meanwhile: a few minutes.
PREFIX ?= /usr/local
BUILD  ?= build

.PHONY: all deps demo test test-all check nightly bench install lint format clean

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix=$(PREFIX)

deps:
	tools/deps.sh build test

demo:
	tools/deps.sh build demo
	test -e $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX) -Dtests=disabled
	$(MAKE) all
	tools/demo.sh $(BUILD)

test:
	tools/deps.sh build test
	$(MAKE) $(BUILD)/build.ninja
	meson configure $(BUILD) -Dtests=enabled
	$(MAKE) all
	tests/run.sh $(BUILD)

# With what takes gigabytes, as CI does: the current PyTorch with CUDA, all releases of CUPTI, plugins for XLA, NVIDIA's tools.
test-all:
	SONDE_TEST_PYPI=all $(MAKE) test

# Unit tests, lint and the core of the tests of the command line: seconds each.
check:
	tools/deps.sh build test
	$(MAKE) $(BUILD)/build.ninja
	meson configure $(BUILD) -Dtests=enabled
	$(MAKE) all
	tests/run.sh $(BUILD) unit lint core

# What takes a night: hostile programs under all options and real software's own tests, plain and measured; long fuzzing.
nightly: test
	tests/behave/run.py --each --rounds 100
	tests/behave/real.py
	tests/fuzz/run.sh 600

bench: all
	bench/run.sh $(BUILD)

# An already configured build is told of another prefix, as users of make expect.
install:
	tools/deps.sh build
	$(MAKE) all
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	meson install -C $(BUILD)

lint:
	tools/lint.sh

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-*
