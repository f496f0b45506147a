#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests of the pages: types, logic, whether the committed bundle is what its sources give,
# and the pages themselves in headless Chromium.
#
#	tests/browser/run.sh [BUILD_DIRECTORY]
#
# Exit status 77, with a line that says why, where node, npm's modules or Chromium are not there.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-${SONDE_BUILD:-$root/build}}
skip() {
	echo "SKIP: browser tests: $1"
	exit 77
}

command -v node >/dev/null || skip "node is not installed"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
if [ ! -d "$root/viewer/node_modules" ]; then
	command -v npm >/dev/null || skip "npm is not installed"
	(cd "$root/viewer" && npm ci --silent) || skip "npm ci failed in viewer/"
fi

cd "$root/viewer"
npm run --silent check
node build.mjs --check
npm test --silent

SONDE_CHROMIUM=${SONDE_CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$SONDE_CHROMIUM" ] || skip "Chromium is not installed (the tests above passed)"
[ -x "$build/src/cmd/sonde" ] || skip "$build has no sonde: build first"
export SONDE_CHROMIUM SONDE_BUILD="$build"
cd "$root"
exec node --test tests/browser/causal.test.mjs tests/browser/html.test.mjs tests/browser/timeline.test.mjs tests/browser/views.test.mjs
