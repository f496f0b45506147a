/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads, a fork and an exec, for tests/cli/collect/test_monitor.py. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread_main(void *unused)
{
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	if (argc > 1) {
		printf("executed\n");
		return 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread_main, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pid_t child = fork();
	if (!child)
		_exit(0);
	int status;
	waitpid(child, &status, 0);
	printf("child %d\n", status);
	fflush(stdout);
	execl(argv[0], argv[0], "again", (char *)NULL);
	return 1;
}
