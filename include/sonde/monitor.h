/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: events and call paths of a running program, for other tools. Library: libsonde.so,
 * which is preloaded: a tool is not linked with it, and finds its functions in the program.
 *
 * A tool is a shared object. It is loaded into the program by
 *	SONDE_TOOL=/path/tool.so LD_PRELOAD=libsonde.so PROGRAM...
 * (with SONDE_OUTPUT, Sonde measures as well; without, nothing is written; registering for
 * SONDE_GPU sets OPENCL_LAYERS in the program), and then
 *	1. Sonde calls `int sonde_tool_start(void)` of the tool, before the program's main function;
 *	2. the tool calls sonde_monitor_init and registers callbacks;
 *	3. callbacks run on the thread of the event, and may ask for the call path;
 *	4. Sonde calls `void sonde_tool_stop(void)` of the tool, if it has one, when the program ends.
 * A tool that is preloaded beside libsonde.so may do step 2 from a constructor of its own instead.
 * examples/monitor/count_operators.c is a complete tool.
 *
 * A callback may do whatever a function called at that place may do. It must not throw, and events
 * that it causes itself are not reported. Strings are not terminated: use the lengths.
 */
#ifndef SONDE_MONITOR_H
#define SONDE_MONITOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct below changes its meaning, not when fields are added at the end. */
#define SONDE_MONITOR_VERSION 1u

enum sonde_domain {
	SONDE_FRAMEWORK, /* operators of a deep-learning framework, compilations */
	SONDE_GPU,	 /* calls of a device's interface and their operations on the device */
	SONDE_MEMORY,	 /* tensor memory */
	SONDE_OS,	 /* threads and processes */
	SONDE_DOMAIN_COUNT
};

enum sonde_event_kind {
	SONDE_OPERATOR_BEGIN = 1, /* name */
	SONDE_OPERATOR_END,	  /* name */
	/*
	 * torch.compile, from PyTorch 2.2 on; older releases have none. name: the compiled
	 * function. The call path contains the line that caused the compilation. If PyTorch
	 * restarts a compilation (at a graph break, for example), it ends and begins again; a
	 * failed one ends.
	 */
	SONDE_COMPILE_BEGIN,
	SONDE_COMPILE_END,

	SONDE_GPU_CALL_ENTER = 16, /* name: the function; id */
	SONDE_GPU_CALL_EXIT,	   /* name, id as at its enter */
	SONDE_GPU_OPERATION_ENDED, /* name: the kernel or operation; id of its call; start_ns, end_ns on the device, 0 if unknown; bytes moved. Reported some time after its end, on a thread that calls the device again */

	SONDE_MEMORY_ALLOCATED = 32, /* id: the address; bytes */
	SONDE_MEMORY_RELEASED,	     /* id: the address; bytes, 0 if unknown */

	SONDE_THREAD_BEGIN = 48, /* id: the kernel's number of the thread */
	SONDE_THREAD_END,	 /* id */
	SONDE_FORKED,		 /* in the child; id: the child's process */
	SONDE_EXEC,		 /* the program is about to be replaced, unless that fails */
};

/*
 * An input or output of an operator, or an argument of a device call; only after
 * sonde_monitor_want_values.
 */
struct sonde_value {
	const char *
	    name; /* of an argument: "queue", "bytes", "work-items", "work-group"; NULL: a tensor */
	uint32_t name_length;
	uint32_t index; /* tensors: of the argument or result that is or contains it */
	uint64_t value; /* the number, or the handle; tensors: the address of the tensor's object */
	uint64_t storage; /* tensors: the address of its storage; views share it */
	uint64_t bytes;	  /* tensors: size of the storage */
};

struct sonde_event {
	uint32_t struct_bytes; /* sizeof(struct sonde_event) of the library that calls */
	uint32_t domain;       /* enum sonde_domain */
	uint32_t kind;	       /* enum sonde_event_kind */
	uint32_t name_length;
	const char *name; /* valid during the callback */
	uint64_t time_ns; /* CLOCK_MONOTONIC, of the report */
	uint64_t id;
	uint64_t bytes;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC, converted from the device's clock */
	/*
	 * Valid during the callback. SONDE_OPERATOR_BEGIN: the tensors it reads, 64 at most;
	 * SONDE_OPERATOR_END: its results; SONDE_GPU_CALL_EXIT of a call that started an
	 * operation: its arguments.
	 */
	const struct sonde_value *values;
	uint32_t value_count;
	uint32_t reserved;
};

/* One level of a call path. */
struct sonde_frame {
	uint32_t kind; /* SONDE_FRAME_ of the list below */
	uint32_t line; /* of Python frames, 0 unknown */
	const char
	    *name; /* operator, region, call, kernel; function of a Python frame; native: NULL */
	const char
	    *file; /* of a Python frame its file, of a native frame its load module; or NULL */
	uint32_t name_length, file_length;
	uint64_t address; /* native: of the instruction, or the return address; */
	uint64_t offset;  /* the same in the module, as its symbol table counts */
};

/* The same numbers as those of struct sonde_db_frame; a later version may report others. */
enum sonde_frame_kind {
	SONDE_FRAME_PYTHON = 2,
	SONDE_FRAME_OPERATOR = 3,
	SONDE_FRAME_REGION = 4,
	SONDE_FRAME_NATIVE = 6,
	SONDE_FRAME_GPU_API = 10,
	SONDE_FRAME_KERNEL = 11,
	SONDE_FRAME_GPU_OP = 18,
};

/*
 * The layers of a call path; paths without native frames cost least. 0: the user's choice. The
 * forward part of a backward operator's path was stored when the forward operator ran, with the
 * user's choice: it has the requested layers that are part of that choice.
 */
enum sonde_source {
	SONDE_SOURCE_PYTHON = 1,
	SONDE_SOURCE_OPERATOR = 2,
	SONDE_SOURCE_NATIVE = 4,
	SONDE_SOURCE_REGION = 8,
};

typedef void sonde_callback(const struct sonde_event *event, void *user);

/*
 * Begins monitoring; pass SONDE_MONITOR_VERSION. 0, or a negative errno: -ENOTSUP for a version
 * that this library does not know, -ENODEV if monitoring is impossible. Not thread-safe; call it
 * first.
 */
int sonde_monitor_init(uint32_t version);

/*
 * Adds a callback for all events of a domain. Register before the program loads the framework:
 * every operator is reported from then on, not a sample of them. 0, -EINVAL for an unknown domain,
 * -ENOSPC beyond eight callbacks in one. Thread-safe.
 */
int sonde_monitor_register(enum sonde_domain domain, sonde_callback *callback, void *user);

/*
 * From now on events of SONDE_FRAMEWORK or SONDE_GPU have values. Register before the program loads
 * the framework, as above. 0, or -EINVAL for a domain without values. Thread-safe.
 */
int sonde_monitor_want_values(enum sonde_domain domain);

/*
 * Stores the calling thread's call path, outermost first, in frames[0..max), without frames of the
 * tool and of Sonde. Returns the length of the whole path, which may exceed `max`; -ENODEV if the
 * thread is not monitored, -ENOMEM without memory. Names and files stay valid until the process
 * ends. Thread-safe; not for signal handlers.
 */
long sonde_monitor_callpath(unsigned sources, struct sonde_frame *frames, size_t max);

/* Ends all callbacks; one that is running in another thread may still finish. Thread-safe. */
void sonde_monitor_finalize(void);

#ifdef __cplusplus
}
#endif

#endif
