/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's dataflow graphs: models, nodes, edges, and the times of nodes, accumulated while
 * they run, so that the size of memory and file depends on the graph and not on the run time.
 *
 * One table for the process. Looking up a node or an edge and adding to its statistics takes no
 * lock; adding a new node or edge takes one, only for that time. Numbers are assigned from 0 and
 * never change. docs/design/graph.md says how nodes are identified.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include "format/measurement/measurement.h"
#include "sonde/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_GRAPH_NONE UINT32_MAX

/* Size of the ring of a model's last iterations. */
#define SN_GRAPH_ITERATIONS 4096u

/* The model of that name and source, created if missing; SN_GRAPH_NONE without memory. The texts of
 * `source` and `edges_by` must stay valid. AS-safe: no. */
uint32_t sn_graph_model(const char *name, size_t length, const char *source, const char *edges_by);
/* Replaces the text, which must stay valid. */
void sn_graph_set_edges_by(uint32_t model, const char *edges_by);
void sn_graph_model_flag(uint32_t model, uint32_t flags);
/* A flag of nodes: the name is the hexadecimal ELF return address of the call that creates them,
 * and the file is the module. Analysis names them. */
#define SN_GRAPH_ADDRESS   0x40000000u
/* A flag, never in a database: this is not a model after all. */
#define SN_GRAPH_DISCARDED 0x80000000u

/* All texts are copied; NULL for none. */
struct sn_graph_new {
	uint32_t model;
	uint64_t key; /* identifies the node in its model */
	const char *name, *type, *module, *device, *file;
	uint32_t line, flags;
	uint32_t parent; /* SN_GRAPH_NONE */
};
/* The node with that key, or SN_GRAPH_NONE. */
uint32_t sn_graph_find(uint32_t model, uint64_t key);
/* The same, created if missing. AS-safe: no. */
uint32_t sn_graph_node(const struct sn_graph_new *node);
/* "MODEL/NODE", the name of the node's frames; stays valid. */
const char *sn_graph_label(uint32_t node, size_t *length);
uint32_t sn_graph_model_of(uint32_t node);
/* Stores the node's module in `text`; NULL if it has none. */
const char *sn_graph_module(uint32_t node, char *text, size_t size);

/* Adds `count` to an edge, created if missing. AS-safe: no. */
void sn_graph_edge(uint32_t from, uint32_t to, uint32_t index, enum sonde_edge_kind kind,
		   uint64_t bytes, uint64_t count);

/* A node ran. Its latency begins at the latest end of an input between the node's previous begin
 * and this one. */
void sn_graph_executed(uint32_t node, uint64_t start_ns, uint64_t end_ns);

/* An iteration of a model; `by` ("marked", ...) must stay valid. MT: one at a time for each model.
 */
void sn_graph_iteration(uint32_t model, uint64_t start_ns, uint64_t end_ns, const char *by);
/* Begin and end of an iteration that the program marks without naming a model. It is an iteration
 * of every model that ran a node in it, unless that model has iterations of its own, or this one
 * contains others. MT: one at a time. */
void sn_graph_iteration_begins(void);
void sn_graph_iteration_ends(uint64_t start_ns, uint64_t end_ns);
/* The number of these that have begun so far, and whether one is open. */
uint64_t sn_graph_iterations_begun(void);
bool sn_graph_in_iteration(void);
/* Only sn_graph_iteration reports iterations of this model. */
void sn_graph_own_iterations(uint32_t model);

/* For snapshots: an upper bound of the section's size, 0 without a graph; and the section's bytes,
 * piece by piece. */
uint64_t sn_graph_bound(void);
void sn_graph_write(void (*put)(void *out, const void *bytes, size_t length), void *out);

/* In the child of a fork: removes the parent's statistics. MT: the only thread. */
void sn_graph_after_fork(void);

/* Begins and ends of nodes, reported through the public interface; in graph_hooks.c. */
struct sonde_graph_hooks;
extern const struct sonde_graph_hooks sn_graph_hooks;
