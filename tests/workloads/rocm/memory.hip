/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates memory of a device in each way, more than there is (FAKE_MEMORY_MIB=100), and gives back what it can, also in another thread. */
#include "hip_runtime.h"

#include <cstdio>
#include <pthread.h>

enum { MIB = 1 << 20, MOST = 16 };

static void *free_in_thread(void *block)
{
	hipFree(block); // in a thread
	return NULL;
}

/* Until there is no more; how many there were. */
static int take_all(char **blocks)
{
	static char none;
	int count = 0;
	blocks[0] = &none;
	while (count < MOST && !hipMalloc((void **)&blocks[count], 16 * MIB)) // taken
		blocks[++count] = &none;
	return count;
}

int main()
{
	char *blocks[MOST + 1], *managed, *ordered, *rows, *host;
	hipPitchedPtr planes;
	hipExtent extent = {1000, 20, 3};
	hipStream_t stream;
	size_t pitch;
	hipStreamCreate(&stream);
	int count = take_all(blocks);
	printf("%d blocks, %s\n", count, hipGetLastError() == hipErrorOutOfMemory ? "out of memory" : "more");
	for (int i = 0; i < count - 1; i++)
		hipFree(blocks[i]); // given back
	pthread_t thread;
	pthread_create(&thread, NULL, free_in_thread, blocks[count - 1]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 3; i++) {
		hipMallocManaged((void **)&managed, 2 * MIB, 1); // managed
		hipFree(managed); // managed, back
	}
	hipMallocAsync((void **)&ordered, 3 * MIB, stream); // in order
	hipFreeAsync(ordered, stream); // back in order
	hipMallocPitch((void **)&rows, &pitch, 1000, 50); // rows
	hipMalloc3D(&planes, extent); // planes
	hipHostMalloc((void **)&host, MIB, 0);
	hipHostFree(host);
	hipFree(NULL);
	printf("%d\n", hipFree(blocks[0]));
	return 0;
}
