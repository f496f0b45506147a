/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the dataflow graphs of a Sonde database: models, their nodes and edges, statistics of
 * each node, and iterations. Library: libsonde-db.so (pkg-config sonde-db), since 2.1. A program
 * describes a graph of its own through sonde.h.
 *
 * A model is one graph of one process: described by the program through sonde.h, captured from a
 * framework, or imported from another tool's file. Its nodes have consecutive numbers, in the order
 * in which they first ran or were described; so have its edges, by the node to which they lead, and
 * its iterations, by start. Nodes, edges and iterations are numbered over the whole database.
 *
 * Strings are those of the database. For an invalid number, a record is NULL. MT: all functions but
 * sonde_graph_close may be called by several threads at once on one struct sonde_graph.
 */
#ifndef SONDE_GRAPH_H
#define SONDE_GRAPH_H

#include "sonde/db.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_graph;

enum sonde_model_flags {
	/* More iterations ran than are listed; `iteration_time` is of all of them. */
	SONDE_MODEL_ITERATIONS_CUT = 1,
	/* Statistics are of some of the iterations, not of all. */
	SONDE_MODEL_SAMPLED = 2,
	/* Edges were recorded in some of the iterations, and their counts are of those; all else is
	 * of all. */
	SONDE_MODEL_EDGES_SAMPLED = 4,
};

struct sonde_graph_model {
	uint32_t name;		/* string */
	uint32_t source;	/* string: where it is from: "sonde.h", "PyTorch", ... */
	uint32_t edges_by;	/* string: how edges are known: "described", "tensors", ... */
	uint32_t iterations_by; /* string: "marked", "repetition", ...; SONDE_NONE */
	uint32_t host, program; /* strings; SONDE_NONE */
	int32_t rank;		/* -1 outside a parallel run */
	uint32_t run;		/* as of struct sonde_db_profile */
	uint64_t pid;
	uint32_t first_node, node_count;
	uint32_t first_edge, edge_count;
	uint32_t first_iteration, iteration_count;
	uint32_t flags; /* enum sonde_model_flags */
	uint32_t reserved;
	struct sonde_db_stat iteration_time; /* ns, of all iterations; count 0: unknown */
};

enum sonde_node_flags {
	SONDE_NODE_BACKWARD = 1, /* computes gradients */
	SONDE_NODE_INPUT = 2,	 /* runs nothing: a parameter, a constant, an input */
	/* Its work is below contexts of kind graph-node named "MODEL/NODE". */
	SONDE_NODE_HAS_CONTEXTS = 4,
};

struct sonde_graph_node {
	uint32_t model;
	uint32_t name;	   /* string */
	uint32_t type;	   /* string: operator type; SONDE_NONE */
	uint32_t module;   /* string: the part of the model, "encoder.layer1.conv"; SONDE_NONE */
	uint32_t device;   /* string; SONDE_NONE */
	uint32_t file;	   /* string: source file that created it; SONDE_NONE */
	uint32_t line;	   /* in the file; 0 unknown */
	uint32_t function; /* string: source function; SONDE_NONE */
	uint32_t parent;   /* the node it is part of (of a fusion, of an operator); SONDE_NONE */
	uint32_t detail;   /* string: further text; SONDE_NONE */
	uint32_t context;  /* context of the database; SONDE_NONE */
	uint32_t flags;	   /* enum sonde_node_flags */
	uint64_t id;	   /* the source's own number; 0 without */
};

enum sonde_edge_kind {
	SONDE_EDGE_DATA = 1,	 /* `to` reads what `from` wrote */
	SONDE_EDGE_CONTROL = 2,	 /* `to` runs after `from` */
	SONDE_EDGE_SEQUENCE = 3, /* `to` is the backward node of `from`, by its sequence number */
};

struct sonde_graph_edge {
	uint32_t from, to; /* nodes of one model */
	uint32_t index;	   /* which input of `to`; SONDE_NONE unknown */
	uint32_t kind;	   /* enum sonde_edge_kind */
	uint64_t bytes;	   /* of the tensor; 0 unknown */
	uint64_t count;	   /* how often it was seen; 0: described, not seen */
};

/* Statistics of a node over its executions. */
enum sonde_node_stat {
	SONDE_NODE_TIME = 1,	    /* ns from start to end, on the host */
	SONDE_NODE_LATENCY = 2,	    /* ns from the end of its last input to its start */
	SONDE_NODE_QUEUE_TIME = 3,  /* ns from being scheduled to its start */
	SONDE_NODE_DEVICE_TIME = 4, /* ns of work on devices, one value for each operation */
	SONDE_NODE_COPY_TIME = 5,   /* ns of copies and fills, likewise */
	SONDE_NODE_MEMORY = 6,	    /* bytes it allocated in an execution */
	SONDE_NODE_SELF_TIME = 7,   /* ns without the nodes it contains */
	SONDE_NODE_REQUESTED = 8, /* bytes it requested in an execution: memory without rounding */
	SONDE_NODE_TEMPORARY = 9, /* bytes that it needed only while it ran */
	SONDE_NODE_PERSISTENT = 10, /* bytes that it keeps over executions */
	SONDE_NODE_PEAK = 11,	    /* the most bytes that it had at once */
	SONDE_NODE_STAT_END
};

struct sonde_graph_stat {
	uint32_t node;
	uint32_t kind; /* enum sonde_node_stat */
	struct sonde_db_stat stat;
};

struct sonde_graph_iteration {
	uint32_t model;
	uint32_t reserved;
	uint64_t number;	   /* from 0, of its model */
	uint64_t start_ns, end_ns; /* since the Unix epoch */
};

/*
 * Opens and checks the graphs of an open database, which must stay open as long: records belong to
 * the database. 0 or a negative enum sonde_db_code. *graph is set only on success (also without
 * models, for a database without graphs); free it with sonde_graph_close.
 */
int sonde_graph_open(const struct sonde_db *db, struct sonde_graph **graph,
		     struct sonde_db_error *error);
void sonde_graph_close(struct sonde_graph *graph);

uint32_t sonde_graph_model_count(const struct sonde_graph *graph);
const struct sonde_graph_model *sonde_graph_model(const struct sonde_graph *graph, uint32_t model);
uint32_t sonde_graph_node_count(const struct sonde_graph *graph);
const struct sonde_graph_node *sonde_graph_node(const struct sonde_graph *graph, uint32_t node);
uint32_t sonde_graph_edge_count(const struct sonde_graph *graph);
const struct sonde_graph_edge *sonde_graph_edge(const struct sonde_graph *graph, uint32_t edge);
uint32_t sonde_graph_iteration_count(const struct sonde_graph *graph);
const struct sonde_graph_iteration *sonde_graph_iteration(const struct sonde_graph *graph,
							  uint32_t iteration);

/* The edges that lead to a node: the first of *count consecutive ones. Binary search. */
const struct sonde_graph_edge *sonde_graph_inputs(const struct sonde_graph *graph, uint32_t node,
						  uint32_t *count);
/* A statistic of a node; false, and all zeroes, if it is unknown. Binary search. */
bool sonde_graph_stat(const struct sonde_graph *graph, uint32_t node, enum sonde_node_stat kind,
		      struct sonde_db_stat *stat);

#ifdef __cplusplus
}
#endif
#endif
