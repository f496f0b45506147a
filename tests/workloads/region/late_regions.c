/* SPDX-License-Identifier: Apache-2.0 */
/* One region, then SECONDS asleep, then N regions as fast as they go: late_regions SECONDS N. */
#include <sonde/sonde.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	sonde_region_begin("first");
	sonde_region_end();
	sleep((unsigned)atoi(argv[1]));
	for (long i = 0; i < atol(argv[2]); i++) {
		sonde_region_begin("late");
		sonde_region_end();
	}
	return 0;
}
