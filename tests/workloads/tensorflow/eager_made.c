/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's C interface for what Python executes eagerly, as far as a profiler meets it: an operation has a name and takes
 * a time. With -DBINDING what calls it, as the Python binding does, in a library of its own; with -DMAIN the program, which loads that
 * as Python loads extensions.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct operation {
	const char *name;
	int milliseconds;
	struct operation *inner; /* that it executes itself, as a function that calls Python does */
};

const char *TFE_OpGetName(const struct operation *operation, int *status);
void TFE_Execute(struct operation *operation, void **results, int *count, int *status);
int bound_execute(struct operation *operation);

#if defined(BINDING)

int bound_execute(struct operation *operation)
{
	void *results[1] = {NULL};
	int count = 1, status = -1;
	TFE_Execute(operation, results, &count, &status);
	return count == 7 && results[0] == operation ? status : -2;
}

#elif defined(MAIN)

#include <dlfcn.h>

static int (*execute)(struct operation *);

static __attribute__((noinline)) int multiply(void)
{
	struct operation operation = {"MatMul", 70, NULL};
	return execute(&operation);
}

static __attribute__((noinline)) int train(void)
{
	struct operation inner = {"EagerPyFunc", 10, NULL};
	struct operation operation = {"__inference_train_step_42", 20, &inner};
	return execute(&operation);
}

int main(int argument_count, char **arguments)
{
	int sum = 0;
	void *binding = argument_count > 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!binding)
		return 2;
	*(void **)&execute = dlsym(binding, "bound_execute");
	for (int i = 0; i < atoi(arguments[2]); i++)
		sum += multiply() + train();
	printf("%d\n", sum);
	return 0;
}

#else

static int64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

const char *TFE_OpGetName(const struct operation *operation, int *status)
{
	(void)status;
	return operation->name;
}

static __attribute__((noinline)) void work(int milliseconds)
{
	int64_t end = now_ns() + milliseconds * (int64_t)1000000;
	while (now_ns() < end)
		;
}

void TFE_Execute(struct operation *operation, void **results, int *count, int *status)
{
	/* by its address, as from another library: not by a short cut within this one */
	void (*volatile execute)(struct operation *, void **, int *, int *) = TFE_Execute;
	if (operation->inner)
		execute(operation->inner, results, count, status);
	work(operation->milliseconds);
	results[0] = operation;
	*count = 7;
	*status = (int)strlen(operation->name);
}
#endif
