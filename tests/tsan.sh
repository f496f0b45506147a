#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The collector's data under ThreadSanitizer: threads that insert while snapshots are taken.
set -eu
cd "$(dirname "$0")/.."
[ -f build-thread/build.ninja ] || meson setup build-thread -Db_sanitize=thread -Db_lundef=false >/dev/null
ninja -C build-thread tests/unit/test_collector >/dev/null
TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" build-thread/tests/unit/test_collector
