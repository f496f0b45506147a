/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that stand in entries of jaxlib's virtual tables. Each passes its arguments on
 * untouched and does the real work whatever happens to ours; results that are no register's are
 * returned by address, which is the first argument.
 */
#include "xla.h"

#define CALLER	 ((uintptr_t)__builtin_return_address(0))
#define NOINLINE __attribute__((noinline, noclone))

/* StatusOr<ExecuteResult> ifrt::PjRtLoadedExecutable::Execute(Span<ArrayRef>, const ExecuteOptions
 * &, optional<DeviceListRef>): a span is two registers, the optional an address. */
static NOINLINE void *launch(void *result, void *self, void *arrays, size_t count, void *options,
			     void *devices)
{
	typedef void *execute(void *, void *, void *, size_t, void *, void *);
	typedef struct sn_xla_text name_of(void *);
	struct span {
		void *from;
		size_t count;
	};
	typedef struct span devices_of(void *);
	devices_of *count_devices = (devices_of *)sn_xla_function(SN_XLA_DEVICES);
	struct sn_xla_text name = ((name_of *)sn_xla_function(SN_XLA_NAME))(self);
	struct sn_xla_launch launched = {
	    .name = name,
	    .label = sn_xla_program_keep(self, name),
	    .devices = count_devices ? count_devices(self).count : 1,
	    .options = *(const uint64_t *)options,
	};
	struct sn_xla_call call = sn_xla_call_begin(&launched, SN_CALLER_STACK, CALLER);
	result = ((execute *)sn_xla_function(SN_XLA_LAUNCH))(result, self, arrays, count, options,
							     devices);
	sn_xla_call_end(&call);
	return result;
}

/* AsyncValueRef<Chain> cpu::...Thunk::Execute(const ExecuteParams &) */
static NOINLINE void *execute_thunk(void *result, void *thunk, void *parameters)
{
	typedef void *execute(void *, void *, void *);
	execute *function = (execute *)sn_xla_thunk_function(*(uintptr_t *)thunk);
	uint32_t token = sn_xla_thunk_begin(thunk, parameters, SN_CALLER_STACK);
	result = function(result, thunk, parameters);
	sn_xla_pop(token);
	return result;
}

/* void Eigen::ThreadPoolTempl::Schedule(std::function<void()>): the function lies at an address and
 * is the callee's to empty. */
static NOINLINE void schedule(void *pool, struct sn_xla_task *task)
{
	typedef void real(void *, struct sn_xla_task *);
	sn_xla_task_follow(task);
	((real *)sn_xla_function(SN_XLA_SCHEDULE))(pool, task);
}

static NOINLINE void schedule_hint(void *pool, struct sn_xla_task *task, int start, int limit)
{
	typedef void real(void *, struct sn_xla_task *, int, int);
	sn_xla_task_follow(task);
	((real *)sn_xla_function(SN_XLA_SCHEDULE_HINT))(pool, task, start, limit);
}

void *const sn_xla_hooks[SN_XLA_FUNCTION_COUNT] = {
    [SN_XLA_LAUNCH] = (void *)launch,
    [SN_XLA_THUNK] = (void *)execute_thunk,
    [SN_XLA_SCHEDULE] = (void *)schedule,
    [SN_XLA_SCHEDULE_HINT] = (void *)schedule_hint,
};
