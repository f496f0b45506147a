/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's dataflow graphs: models, nodes, edges and what nodes took, added up as they run, so
 * that memory and the file depend on the graph and never on how long it runs.
 *
 * One table for the process. Looking a node or an edge up and adding to its statistics takes no
 * lock; adding a node or an edge that is new takes one, which nobody holds for longer than that.
 * Numbers are given out from 0 and never change. docs/design/graph.md says how nodes become known.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_GRAPH_H
#define SN_COLLECT_GRAPH_H

#include "format/measurement/measurement.h"
#include "sonde/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_GRAPH_NONE UINT32_MAX

/* The list of iterations of a model: the last so many. */
#define SN_GRAPH_ITERATIONS 4096u

/* A model, new where there is none of that name and source; SN_GRAPH_NONE without memory. The
 * texts of `source` and `edges_by` live for ever. AS-safe: no. */
uint32_t sn_graph_model(const char *name, size_t length, const char *source, const char *edges_by);
/* Replaces the text, which lives for ever. */
void sn_graph_set_edges_by(uint32_t model, const char *edges_by);
void sn_graph_model_flag(uint32_t model, uint32_t flags);
/* A flag of nodes: the name is an ELF address, hexadecimal, of the return from the call that makes
 * them, and the file the module. Analysis names them. */
#define SN_GRAPH_ADDRESS   0x40000000u
/* A flag, never in a database: what was taken for a model was none. */
#define SN_GRAPH_DISCARDED 0x80000000u

/* All texts are copied; NULL for none. */
struct sn_graph_new {
	uint32_t model;
	uint64_t key; /* what tells nodes of the model apart */
	const char *name, *type, *module, *device, *file;
	uint32_t line, flags;
	uint32_t parent; /* SN_GRAPH_NONE */
};
/* The node of that key, or SN_GRAPH_NONE. */
uint32_t sn_graph_find(uint32_t model, uint64_t key);
/* The same, new where it is not there. AS-safe: no. */
uint32_t sn_graph_node(const struct sn_graph_new *node);
/* "MODEL/NODE", by which the node's frames are called; lives for ever. */
const char *sn_graph_label(uint32_t node, size_t *length);
uint32_t sn_graph_model_of(uint32_t node);
/* The node's module into `text`, or NULL where it has none. */
const char *sn_graph_module(uint32_t node, char *text, size_t size);

/* An edge, new where it is not there; counts it `count` times. AS-safe: no. */
void sn_graph_edge(uint32_t from, uint32_t to, uint32_t index, enum sonde_edge_kind kind,
		   uint64_t bytes, uint64_t count);

/* A node ran. Its latency is from the end of the last of its inputs that ended before it began and
 * after it began the last time. */
void sn_graph_executed(uint32_t node, uint64_t start_ns, uint64_t end_ns);

/* An iteration of a model; `by` ("marked", ...) lives for ever. MT: one at a time for each model.
 */
void sn_graph_iteration(uint32_t model, uint64_t start_ns, uint64_t end_ns, const char *by);
/* An iteration of a loop that the program marks for no model in particular begins, and ends: one of
 * every model of which a node ran in it, unless that model's iterations are told otherwise, or this
 * one contains others. MT: one at a time. */
void sn_graph_iteration_begins(void);
void sn_graph_iteration_ends(uint64_t start_ns, uint64_t end_ns);
/* How many of these have begun so far, and whether one is open. */
uint64_t sn_graph_iterations_begun(void);
bool sn_graph_in_iteration(void);
/* Iterations of this model are told by sn_graph_iteration alone. */
void sn_graph_own_iterations(uint32_t model);

/* For snapshots: an upper bound of what is written, 0 where there is no graph; and the section's
 * bytes, piece by piece. */
uint64_t sn_graph_bound(void);
void sn_graph_write(void (*put)(void *out, const void *bytes, size_t length), void *out);

/* In the child of a fork: what ran so far was the parent's. MT: the only thread. */
void sn_graph_after_fork(void);

/* Node begins and ends as the public interface announces them, in graph_hooks.c. */
struct sonde_graph_hooks;
extern const struct sonde_graph_hooks sn_graph_hooks;

#endif
