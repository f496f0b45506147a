// SPDX-License-Identifier: Apache-2.0
// Runs code that it makes, at 0x20000000, and writes a perf map of it: "20000000 1000 made".
// made_code [grow BYTES | give UID | wait]: the map then grows to BYTES (a hole), or is given away.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// mov ecx, 2000000000; dec ecx; jnz; ret
static const unsigned char code[] = {0xb9, 0, 0x94, 0x35, 0x77, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

int main(int count, char **arguments)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "20000000 1000 made\n");
	fclose(map);
	if (count > 2 && !strcmp(arguments[1], "grow") && truncate(path, atoll(arguments[2])))
		return 1;
	if (count > 2 && !strcmp(arguments[1], "give") &&
	    chown(path, (uid_t)atoi(arguments[2]), (gid_t)-1))
		return 1;
	void *page = mmap((void *)0x20000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof(code));
	((void (*)(void))page)();
	puts(path);
}
