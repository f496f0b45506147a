/* SPDX-License-Identifier: Apache-2.0 */
/* A function with loops in each other, a switch, branches that are never taken, and exits: its control-flow graph is to be drawn. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))
static uint32_t data[4096];
static volatile uint64_t result;

APART uint64_t work(unsigned turns)
{
	uint64_t sum = 0, state = 88172645463325252u;
	for (unsigned turn = 0; turn < turns; turn++) {
		for (unsigned i = 0; i < 4096; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			switch (state & 7) {
			case 0:
				sum += data[state >> 52];
				break;
			case 1:
				sum ^= state;
				break;
			case 2:
				if (sum & 1)
					data[i] += 3;
				else
					sum /= (state >> 60) + 1;
				break;
			case 3:
				data[state >> 52] = (uint32_t)sum;
				break;
			default:
				for (unsigned k = 0; k < (state >> 61); k++)
					sum = sum * 31 + data[(i + k) & 4095];
			}
			if (sum == 42)
				return 1;
		}
		if (turn % 100 == 99 && sum % 1000003 == 5) {
			printf("never\n");
			exit(3);
		}
	}
	return sum;
}

int main(void)
{
	result = work(6000);
	return 0;
}
