#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the tree keeps its own rules: SPDX lines, layers, formatting, sizes.
set -u
cd "$(dirname "$0")/.."
status=0
fail() { echo "lint: $*"; status=1; }

while read -r file; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || fail "$file: no SPDX line"
done < <(git ls-files '*.c' '*.h' '*.py' '*.sh' '*.ts' '*.mjs' '*.def' '*.map' 'meson.build' '*/meson.build' Makefile '.ci/*' |
	grep -v '^viewer/dist/')
while read -r lines file; do
	[ "$file" = total ] || [ "$lines" -le 1000 ] || fail "$file: $lines lines; 1000 is the limit"
done < <(git ls-files '*.c' '*.h' '*.py' '*.ts' | xargs wc -l)
python3 tools/layers.py || status=1
while read -r count folder; do
	[ "$count" -le 40 ] || fail "$folder holds $count files; 40 are the limit"
done < <(git ls-files src tests | xargs -n1 dirname | sort | uniq -c)
python3 tools/names.py || status=1
python3 tools/contracts.py || status=1
marked=$(git grep -lE '^(<{7}|>{7}) ' -- . ':!viewer/dist') && fail "left of a merge: $marked"
joined=$(git grep -lE '^ \*[[:alpha:]][[:alpha:]]+( [[:alpha:]]+){2}' -- '*.c' '*.h' '*.cpp') && fail "a comment that a formatter has run together: $joined"
# pages that comments send the reader to
while read -r page; do
	[ -e "$page" ] || fail "$page: there is no such page, and $(git grep -lF "$page" | head -1) names it"
done < <(git grep -ohE 'docs/[a-z]+/[a-z0-9-]+\.(md|[0-9])' | sort -u)
if command -v clang-format >/dev/null; then
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror 2>/tmp/sonde-format.$$ >/dev/null ||
		fail "not formatted (make format): $(grep -o '^[^: ]*\.[ch]:[0-9]' /tmp/sonde-format.$$ | sed 's/:.*//' | sort -u | tr '\n' ' ')"
	rm -f /tmp/sonde-format.$$
fi
exit $status
