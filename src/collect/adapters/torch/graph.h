/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataflow graph of a PyTorch program, on request (SONDE_GRAPH=1), in parts:
 *
 *	graph.c		nodes: top-level operators and autograd nodes as they run
 *	graph_tensor.c edges: which tensors an operator reads and writes
 *	graph_module.c	which nn.Module an operator runs in, and the line that called it
 *	graph_iteration.c	iterations, if the program does not mark them
 *
 * docs/design/graph.md describes the method.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes, each thread with its own
 * `self`.
 */
#pragma once

#include "collect/record/graph.h"
#include "torch.h"

/* --- graph.c --- */

/* Registers the callback. 0, or negative errno. MT: once. */
int sn_torch_graph_start(void);
bool sn_torch_graph_on(void);
/* What the graph needs of an operator that the calling thread, at `stack`, is about to begin. */
enum sn_torch_wish sn_torch_graph_wish(const struct sn_torch_thread *self, uintptr_t stack);
/* What is not available, for the status line; NULL: nothing. */
const char *sn_torch_graph_lack(void);
/* Around the evaluation of an autograd node; between sn_enter and sn_leave. */
void sn_torch_graph_backward(struct sn_torch_thread *self, const struct sn_torch_node *node,
			     uintptr_t stack);
void sn_torch_graph_backward_end(struct sn_torch_thread *self, uintptr_t stack);
/* The running operator's autograd node got the number `sequence` in the calling thread. */
void sn_torch_graph_forward(struct sn_torch_thread *self, uint64_t sequence);

/* --- graph_tensor.c --- */

enum { SN_TORCH_TENSORS = 64 };

struct sn_torch_tensor {
	uintptr_t impl, storage;
	uint64_t bytes;
	uint32_t index; /* of the argument */
};

/* Finds the functions it needs. False if tensors cannot be read. MT: once. */
bool sn_torch_tensor_init(void);
/* Stores the tensors among the inputs, or outputs, of an at::RecordFunction; returns their number.
 * AS-safe: yes.
 */
uint32_t sn_torch_inputs(const void *function, const char *name,
			 struct sn_torch_tensor tensors[SN_TORCH_TENSORS]);
uint32_t sn_torch_outputs(const void *function, struct sn_torch_tensor tensors[SN_TORCH_TENSORS]);
/* The last node that wrote a tensor in this group of iterations, or SN_GRAPH_NONE. MT: yes. */
uint32_t sn_torch_writer(const struct sn_torch_tensor *tensor, uint32_t group);
/* A view is a tensor in the storage of another; creating it does not write that storage. */
void sn_torch_written(const struct sn_torch_tensor *tensor, uint32_t node, uint32_t group,
		      bool is_view);
/* False after the layout of tensors was found to differ from that of all known releases. */
bool sn_torch_tensors_readable(void);

/* --- graph_module.c --- */

/* MT: once. */
void sn_torch_module_init(void);
/* The calling thread, which holds the interpreter's lock, calls an nn.Module. Outside sn_enter. */
void sn_torch_module_called(void);

struct sn_torch_where {
	const char *module; /* "Net.layer1.conv"; NULL outside of modules */
	uint64_t module_hash, line_hash;
	const char
	    *file; /* of the innermost Python frame that is not PyTorch's own; NULL unknown */
	uint32_t file_length, line;
};

enum { SN_TORCH_CODES = 1024 };
/* graph_module.c's cached data of a Python code object. */
struct sn_torch_code {
	uint32_t code_and_one; /* 0: free */
	bool is_module_call, is_torch_file;
	uint64_t file_hash;
};
enum { SN_TORCH_PLACES = 1024 };
/* Its cached data of a path of Python frames, by fingerprint. */
struct sn_torch_place {
	uint64_t fingerprint; /* 0: free */
	uint64_t line_hash;
	const char *file;
	uint32_t file_length, line;
	uint32_t module_steps; /* from the innermost frame out to the module's; UINT32_MAX: none */
};
/* The calling thread's present module and line. Between sn_enter and sn_leave. */
void sn_torch_where(struct sn_torch_thread *self, struct sn_torch_where *where);

/* --- graph_iteration.c --- */

/* An operator with this hash begins; true if iterations are known, and stores the present one's
 * number. */
bool sn_torch_iteration(struct sn_torch_thread *self, uint64_t hash, uint64_t now_ns,
			uint64_t *iteration);
/* The present iteration, for callers that begin no operator. */
bool sn_torch_iteration_now(uint64_t *iteration);
uint32_t sn_torch_graph_model(void);
/* MT: the only thread. */
void sn_torch_iteration_after_fork(void);
