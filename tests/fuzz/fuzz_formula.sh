#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_formula.sh [SECONDS]: formulas, which must mean the same when they have been stored; see fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
i=0
for text in 'cpu-time/gpu_time' 'if(count(cpu-time)>3,min(cpu-time,1ms),-2^3)' '"gpu-time"+total(max(across(cpu-time)))' \
	'imbalance(cpu-time)*cv(gpu-time)%' 'ifempty(sqrt(1/0),log(8,2))+cpu_time_cv' 'percent(profiles(cpu-time)/profiles())'; do
	i=$((i + 1))
	printf %s "$text" >"corpus/$i"
done
printf '"%s"\n' cpu-time gpu-time cpu_time 'count(' 'mean(' 'dev(' 'total(' 'across(' 'exclusive(' 'if(' 'ifempty(' \
	'percent(' 'cv(' 'imbalance(' 'profiles(' 'devices()' 'duration()' 'min(' 'max(' 'log(' KiB ms '%' '<>' '>=' >dictionary
fuzz 600 -dict=dictionary
