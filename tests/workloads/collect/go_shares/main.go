// SPDX-License-Identifier: Apache-2.0

// Known answer: of the work, alpha does 1/6, beta 3/6 and the C function c_work, called by gamma, 2/6; all of it in
// goroutines on several threads. Prints "done".
package main

/*
#include <stdio.h>
static void say_done(void)
{
	puts("done");
	fflush(stdout);
}
static unsigned long c_work(unsigned long seed, unsigned long steps)
{
	for (unsigned long step = 0; step < steps; step++) {
		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}
*/
import "C"
import "runtime"

const unit = 100000

//go:noinline
func alpha(seed uint64) uint64 {
	for i := 0; i < unit; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

//go:noinline
func beta(seed uint64) uint64 {
	for i := 0; i < 3*unit; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

//go:noinline
func gamma(seed uint64) uint64 {
	return uint64(C.c_work(C.ulong(seed), 2*unit))
}

//go:noinline
func work(rounds int) (seed uint64) {
	for i := 0; i < rounds; i++ {
		seed += gamma(beta(alpha(seed)))
	}
	return seed
}

func main() {
	// Goroutines that hand a processor to each other all the time are seen wrongly by timers of CPU time: these run
	// out at the scheduler's ticks.
	runtime.GOMAXPROCS(4)
	done := make(chan uint64)
	for i := 0; i < 4; i++ {
		go func() { done <- work(800) }()
	}
	for i := 0; i < 4; i++ {
		<-done
	}
	C.say_done()
}
