/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the device share. With the lock held, if not said otherwise. */
#ifndef FAKE_INSIDE_H
#define FAKE_INSIDE_H

#include "device.h"
#include "plan.h"

struct fake_stream {
	uint32_t number;
	int device, flags, priority;
	bool is_default;
	uint64_t end_ns;	    /* of the last operation */
	uint32_t hosts;		    /* functions of the host that have not returned */
	struct fake_graph *capture; /* or NULL */
	uint64_t capture_id;
	bool began_capture; /* not merely joined it */
	bool is_spoiled;    /* what began it ends without a graph */
	uint32_t *last;	    /* nodes that the next one comes after */
	uint32_t last_count;
	struct fake_stream *next;
};

struct fake_event {
	uint64_t ns;
	struct fake_stream *stream; /* with functions of the host before it; or NULL */
	struct fake_graph *capture;
	uint32_t *last;
	uint32_t last_count;
	uint64_t capture_id;
};

struct fake_graph {
	uint32_t number;
	struct fake_node **nodes;
	uint32_t count;
	bool has_conditions;
	uint64_t *ends; /* of one that can be run: of each node, while it is */
};

FAKE_LOCAL void fake_lock(void);
FAKE_LOCAL void fake_unlock(void);
FAKE_LOCAL extern struct fake_stream *fake_streams;
FAKE_LOCAL extern struct fake_listener fake_listener;
/* Numbers of graphs, nodes and captures: each once in a process. */
FAKE_LOCAL uint32_t fake_next_number(void);
/* When the stream may begin something. */
FAKE_LOCAL uint64_t fake_ready_ns(const struct fake_stream *stream);
/* Runs it, not before `ready_ns`, with no regard to what the stream is doing; the stream is busy until then at least. */
FAKE_LOCAL uint64_t fake_run_at(struct fake_stream *stream, const struct fake_operation *operation,
				uint64_t ready_ns, uint32_t graph, uint64_t node);
/* Without the lock: where kernels run one at a time, who launches waits for the end. */
FAKE_LOCAL void fake_serial_wait(int device, uint64_t end_ns);
FAKE_LOCAL uint32_t *fake_copy_places(const uint32_t *places, uint32_t count);
/* Without the lock: functions of the host, each when its time has come. */
FAKE_LOCAL void fake_host_add(struct fake_stream *stream, const struct fake_operation *operation,
			      uint64_t start_ns);
FAKE_LOCAL void fake_sleep_until(uint64_t ns);
/* Waits with the lock held, which is released meanwhile, until a function of the host has returned. */
FAKE_LOCAL void fake_host_returned_wait(void);

#endif
