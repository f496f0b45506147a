#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Git on a repository made on the spot: import, gc, repack, fsck, clone, bundle, rebase, grep.
cd "$1" || exit 1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=$1 GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git init -q -b main repository && cd repository || exit 1
git config gc.autoDetach false
awk 'BEGIN { for (c = 1; c <= 400; c++) {
	printf "commit refs/heads/main\nmark :%d\ncommitter a <a@b> %d +0000\ndata 2\nc\n", c, 1700000000 + c
	for (f = 0; f < 5; f++) { text = ""; for (l = 0; l < 60; l++) text = text (c * f + l) " line " l "\n"
		printf "M 100644 inline d%d/f%d\ndata %d\n%s\n", c % 20, (c + f) % 17, length(text), text } } }' | git fast-import --quiet || exit 2
git reset -q --hard
echo "import: $(git rev-list --count --objects main) $(git rev-parse main^{tree})"
git repack -adfq --threads=2 --window=30 && echo "repack: $?"
git gc -q --aggressive --prune=now; echo "gc: $?"
git fsck --full --strict 2>&1 | sort; echo "fsck: ${PIPESTATUS[0]}"
git clone -q --no-local . ../clone && git -C ../clone fsck 2>&1; echo "clone: $? $(git -C ../clone rev-parse HEAD)"
git bundle create -q ../bundle main && git bundle verify -q ../bundle; echo "bundle: $?"
git checkout -q -b side main~20 && echo new >new && git add new && git commit -qm side && git rebase -q main; echo "rebase: $? $(git rev-parse HEAD)"
git grep -c 'line 7' main | sha256sum
git log --stat -p --no-color main | sha256sum
git archive main | tar -t | sha256sum
git push -q ../clone side; echo "push: $?"
git status --porcelain
