#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A shell and its tools: pipes of megabytes, traps, jobs, time limits, parallel sorts and archives. Prints what came of each.
cd "$1" || exit 1
export LC_ALL=C
seq 1 400000 >numbers
echo "dd: $(dd if=/dev/zero bs=4M count=16 2>/dev/null | dd of=whole bs=4M iflag=fullblock 2>&1 | head -2 | tr '\n' ' ')"
echo "dd to a pipe: $(dd if=/dev/zero bs=8M count=4 2>err | cat | wc -c) $(head -2 err | tr '\n' ' ')"
echo "sort: $(sort -R --random-source=numbers numbers | sort -n --parallel=2 -S 2M | sha256sum)"
mkdir tree && split -l 1000 numbers tree/part.
echo "tar: $(tar -c --sort=name --mtime=@0 --owner=0 --group=0 tree | xz -T2 -1 | xz -d | tar -t | sha256sum)"
echo "gzip: $(gzip -c numbers | gzip -d | cmp - numbers && echo same)"
echo "xargs: $(find tree -type f | sort | xargs -P4 -n5 cat | wc -l)"
echo "yes: $(yes | head -n 1000000 | wc -l) ${PIPESTATUS[0]}"
echo "awk: $(awk '{ s += $1 % 7 } END { print s }' numbers)"
echo "perl: $(perl -e '$SIG{ALRM} = sub { $n++ }; for (1..5) { alarm 0; use Time::HiRes qw(ualarm); ualarm 2000; my $x = 0; $x += $_ for 1..300000; select undef, undef, undef, 0.02 } print "$n\n"')"
timeout 0.2 sleep 10
echo "timeout: $?"
timeout -s URG -k 0.2 0.2 bash -c 'trap "echo urgent; exit 3" URG; while :; do :; done'
echo "urgent: $?"
trap 'got=$((got + 1))' USR1
for _ in 1 2 3 4 5; do kill -USR1 $$; done
echo "traps: $got"
sleep 60 &
job=$!
kill %1
wait $job
echo "job: $?"
coproc cat
echo "through a coprocess" >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
echo "$line"
eval "exec ${COPROC[1]}>&-"
printf 'all: a b c d\na b c d:\n\t@i=0; while [ $$i -lt 3000 ]; do i=$$((i+1)); done; echo $@ >$@\n' >Makefile
make -s -j3 && echo "make: $(cat a b c d | tr '\n' ' ')"
mkfifo fifo
cat numbers >fifo &
echo "fifo: $(wc -l <fifo)"
exit 21
