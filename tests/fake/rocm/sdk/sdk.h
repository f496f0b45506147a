/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A librocprofiler-sdk.so whose devices are not there: contexts and tools (sdk.c), calls of HIP (calls.c), records and their
 * delivery (records.c), hardware counters (counters.c), samples of instructions and the code that they lie in (pc_sampling.c). Records are
 * laid out byte by byte as release 1.0 has them.
 *
 * FAKE_FAIL names what goes wrong: "version" (it is 2.0.0), "old" (0.6.0), "short" and "long" (records of other sizes), "refuse"
 * (no service can be configured), "flush" (flushing never returns), "untimed" (records have no times), "drop" (each
 * tenth record is dropped), "split" (a set is two kernels), "stop" (stopping a context never returns), "no-streams" (HIP's streams are
 * not told).
 *
 * Of samples: "sdk-pc-unsupported" (no device offers them), "sdk-pc-old-driver", "sdk-pc-permission", "sdk-pc-taken" (another
 * tool samples), "sdk-pc-odd" (with another status), "sdk-pc-busy" (another process
 * samples by host traps), "sdk-pc-host-trap" (a device without stochastic samples), "sdk-pc-second" (of two devices the first alone),
 * "sdk-pc-hangs" (asking never returns), "sdk-pc-flush" (flushing them never returns), "sdk-pc-drop" (of each fifth planned line they
 * are dropped), "sdk-pc-invalid" (each tenth is), "sdk-pc-early" (they come before their kernel's record), "sdk-pc-uncorrelated" (they
 * tell no call), "sdk-pc-unknown" (they tell no code object), "sdk-pc-file" (code is loaded from a file),
 * "sdk-pc-context" (kernels' dispatches cannot be heard).
 *
 * Of hardware counters (counters.c): "counter-denied" (no configuration can
 * be made), "counter-refuse" (the service cannot be configured), "counter-agents" (listed numbers have the agent's in them),
 * "counter-second" (the second device lacks the last counter), "counter-lost", "counter-stray" and "counter-part" (each tenth kernel's
 * values never come, are of no known call, or lack those of the last counter), "counter-late" (values come when their context has
 * been stopped, and flushing takes a while), "counter-stop" (stopping never returns, and no values come before).
 */
#ifndef FAKE_SDK_H
#define FAKE_SDK_H

#include "../../device/device.h"

#define FAKE_FUNCTIONS 463
#define FAKE_CONTEXTS  8

struct fake_call_record {
	uint64_t context, thread, correlation, external, ancestor;
	uint32_t kind;
	int32_t operation;
	uint32_t phase;
	void *payload;
};

typedef void (*fake_on_call)(struct fake_call_record record, uint64_t *word, void *data);
typedef void (*fake_on_records)(uint64_t context, uint64_t buffer, void **headers, size_t count,
				void *data, uint64_t dropped);

/* A kernel that is counted, as release 1.0 has it. */
struct fake_dispatch {
	uint64_t size, correlation, external, start, end;
	uint64_t info_size, agent, queue, kernel, dispatch, rest[11];
};

struct counted;
typedef void (*fake_on_dispatch)(struct fake_dispatch dispatch, uint64_t *config, uint64_t *word,
				 void *data);
typedef void (*fake_on_counted)(struct fake_dispatch dispatch, struct counted *records,
				size_t count, uint64_t word, void *data);

struct fake_context {
	bool is_active;
	fake_on_dispatch on_counting;
	fake_on_counted on_counted;
	void *counting_data, *counted_data;
	fake_on_call on_call, on_code, on_dispatch, on_stream;
	void *call_data, *code_data, *dispatch_data, *stream_data;
	bool wanted[FAKE_FUNCTIONS];
	uint64_t kernel_buffer, copy_buffer, sample_buffer; /* 0: none */
	int methods[8]; /* by which devices are sampled, 0: they are not */
};

FAKE_LOCAL extern struct fake_context fake_contexts[FAKE_CONTEXTS];
FAKE_LOCAL extern uint32_t fake_context_count;
FAKE_LOCAL bool fake_has_begun(void);
FAKE_LOCAL bool fake_has_ended(void);
/* The SDK's clock: it counts from another moment than the device's. */
#define FAKE_CLOCK_AHEAD_NS 3600000000000u

/* ---- calls.c ---- */

FAKE_LOCAL void fake_wrap_table(void *table);
FAKE_LOCAL const char *fake_function_name(int32_t operation); /* NULL: there is none */
/* The calling thread's innermost call, 0 outside of calls. */
FAKE_LOCAL uint64_t fake_sdk_correlation(void);

/* ---- records.c ---- */

#define FAKE_LONGEST 256
#define FAKE_AGENT   100 /* the first device's number */

/* A record comes then; with the device's lock. */
FAKE_LOCAL void fake_record_add(uint64_t buffer, uint64_t due_ns, uint32_t category, uint32_t kind,
				const void *data, size_t bytes);
/* So many of the buffer are dropped, which is counted from the start, as AMD's does. */
FAKE_LOCAL void fake_record_drop(uint64_t buffer, uint64_t count);

FAKE_LOCAL void fake_records_begin(void);
/* Everything that was launched is done and delivered to buffers. */
FAKE_LOCAL void fake_records_wait(void);
/* Names of kernels are no more. */
FAKE_LOCAL void fake_records_end(void);

/* ---- counters.c ---- */

/* With the device's lock: a kernel is launched. */
FAKE_LOCAL void fake_counters_run(const struct fake_run *run, const char *name, uint64_t kernel);
/* All that was counted is delivered. */
FAKE_LOCAL void fake_counters_drain(void);

/* ---- pc_sampling.c ---- */

FAKE_LOCAL void fake_sdk_module(int device, const void *image, size_t bytes, uint32_t number,
				bool is_unloaded);
FAKE_LOCAL void fake_sdk_sample(const struct fake_context *context, const struct fake_run *run,
				uint64_t dispatch);

#endif
