/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that meet limits, for tests/cli/collect/test_limits.py:
 *
 *	regions MS N	N threads with regions "turn" for MS ms after the line "ready"; prints how many
 *	idle MS		10 regions "turn", then the line "ready", then nothing for MS ms
 *	threads N	N threads at once that work and use the C library's memory; prints what the
 *			process has mapped, in KiB, while they live
 *	fill MIB	sets RLIMIT_AS to MIB more than is mapped, starts 64 threads that work, and takes
 *			memory, MiB by MiB, until there is none: prints how much
 *	data MIB	the same with RLIMIT_DATA
 *	size		regions, while the limit of a file's size is lowered to what the files have
 */
#include <sonde/sonde.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static volatile int ends;

static void work(long ms)
{
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static long regions(void)
{
	long count = 0;
	for (; !ends; count++) {
		sonde_region_begin("turn");
		sonde_region_end();
		if (count % 100 == 99)
			usleep(1000);
	}
	return count;
}

static void *record(void *unused)
{
	(void)unused;
	return (void *)regions();
}

static long regions_of_threads(long ms, int count, void (*meanwhile)(void))
{
	pthread_t threads[64];
	long sum = 0;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, record, NULL))
			exit(1);
	puts("ready");
	fflush(stdout);
	for (long passed = 0; passed < ms; passed += 10) {
		usleep(10000);
		meanwhile();
	}
	ends = 1;
	for (int i = 0; i < count; i++) {
		void *own;
		pthread_join(threads[i], &own);
		sum += (long)own;
	}
	return sum;
}

static void nothing(void)
{
}

/* What the trace needs soon after. */
static void lower_file_size(void)
{
	struct rlimit limit = {200000, 200000};
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void *live(void *memory)
{
	work(10);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return memory;
}

static void start_threads(pthread_t *threads, int count)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, live, NULL)) {
			puts("no thread");
			exit(1);
		}
	pthread_barrier_wait(&barrier);
}

static void end_threads(pthread_t *threads, int count)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* `name` of /proc/self/status, in KiB. */
static long status_of(const char *name)
{
	char line[256];
	long value = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = atol(line + strlen(name) + 1);
	if (file)
		fclose(file);
	return value;
}

static void run_threads(int count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	start_threads(threads, count);
	printf("%ld\n", status_of("VmSize"));
	end_threads(threads, count);
	free(threads);
}

static void run_fill(long mib, int resource, const char *used)
{
	pthread_t threads[64];
	long got = 0;
	struct rlimit limit;
	getrlimit(resource, &limit);
	limit.rlim_cur = ((rlim_t)status_of(used) + (rlim_t)mib * 1024) * 1024;
	setrlimit(resource, &limit);
	start_threads(threads, 64);
	while (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED)
		got++;
	printf("%ld\n", got);
	end_threads(threads, 64);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 1;
	if (!strcmp(what, "regions")) {
		printf("%ld\n", regions_of_threads(first, (int)second, nothing));
	} else if (!strcmp(what, "size")) {
		printf("%ld\n", regions_of_threads(500, 2, lower_file_size));
	} else if (!strcmp(what, "idle")) {
		for (int i = 0; i < 10; i++) {
			SONDE_REGION("turn");
		}
		puts("ready");
		fflush(stdout);
		usleep((useconds_t)first * 1000);
	} else if (!strcmp(what, "threads")) {
		run_threads((int)first);
	} else if (!strcmp(what, "fill")) {
		run_fill(first, RLIMIT_AS, "VmSize");
	} else if (!strcmp(what, "data")) {
		run_fill(first, RLIMIT_DATA, "VmData");
	}
	return 0;
}
