/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that wake each other within regions that lie in functions, for
 * tests/cli/export/test_export_trace.py. */
#include <sonde/sonde.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS	   10
#define TURN_BYTES ((size_t)1 << 20)

static int there[2], back[2];

static void *answer(void *unused)
{
	char byte;
	while (read(there[0], &byte, 1) == 1) {
		SONDE_REGION("answer");
		usleep(1000);
		if (write(back[1], &byte, 1) != 1)
			break;
	}
	return unused;
}

__attribute__((noinline)) static int ask(char *memory, int turn)
{
	char byte = 'x';
	SONDE_REGION("ask");
	sonde_region_begin("touch");
	memset(memory + (size_t)turn * TURN_BYTES, turn, TURN_BYTES);
	sonde_region_end();
	return write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1;
}

int main(void)
{
	pthread_t thread;
	char *memory = malloc(TURNS * TURN_BYTES);
	int is_whole = 1;
	if (!memory || pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (int i = 0; i < TURNS && is_whole; i++)
		is_whole = ask(memory, i);
	close(there[1]);
	pthread_join(thread, NULL);
	return !is_whole;
}
