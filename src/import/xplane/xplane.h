/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the importer of XPlane files: what XLA's profiler writes for JAX, TensorFlow and
 * PyTorch/XLA, an XSpace of tsl/profiler/protobuf/xplane.proto.
 *
 * A plane (a device, the host's threads) has lines of events; names of events and of their
 * statistics are in tables of the plane, which lie behind the lines. So a file is read twice, both
 * times through a window: first the tables (xplane_names.c), then the events (xplane_event.c).
 * Programs that XLA compiled come with the tables (hlo.h) and become dataflow graphs
 * (xplane_graph.c); what TensorFlow's executor tells of its nodes is in xplane_executor.c.
 *
 * Times are nanoseconds of a line plus picoseconds of an event: an event's ends are cut to whole
 * nanoseconds, each by itself, so that what touches or contains still does.
 */
#pragma once

#include "base/buffer.h"
#include "base/table.h"
#include "base/vec.h"
#include "hlo.h"
#include "import/core/importer.h"
#include "import/core/track_sink.h"

/* ---- names ---- */

/* What a statistic is to the importer itself; most are only passed on as attributes. */
enum sn_xplane_role {
	SN_XPLANE_PASSED_ON,
	SN_XPLANE_LEFT_OUT, /* not passed on */
	SN_XPLANE_CORRELATION,
	SN_XPLANE_PRODUCER_TYPE, /* of a context that this event passes to another thread */
	SN_XPLANE_PRODUCER,
	SN_XPLANE_CONSUMER_TYPE, /* and that this event received */
	SN_XPLANE_CONSUMER,
	SN_XPLANE_HLO_OP,
	SN_XPLANE_HLO_MODULE,
	SN_XPLANE_PROGRAM,
	SN_XPLANE_RUN, /* of a program */
	SN_XPLANE_TF_OP,
	SN_XPLANE_DETAILS, /* of a kernel, a copy or a fill: text of several numbers */
	SN_XPLANE_STEP,
	SN_XPLANE_ALLOCATION, /* bytes */
	SN_XPLANE_ALLOCATED,
	SN_XPLANE_PROCESS,
	SN_XPLANE_START_TIME,
	SN_XPLANE_ID,	       /* of an execution of a function of TensorFlow, */
	SN_XPLANE_STEP_ID,     /* likewise */
	SN_XPLANE_FUNCTION,    /* that is called, as TensorFlow names it */
	SN_XPLANE_NODE,	       /* name of an operation, */
	SN_XPLANE_KERNEL_TYPE, /* and its type */
	SN_XPLANE_REQUESTED,   /* bytes */
	SN_XPLANE_REGION,      /* "output", "temp", "persist" */
	SN_XPLANE_ROLES
};

/* What an event of the host tells about TensorFlow's executor (xplane_executor.c), by its name; in
 * the order in which events of one time are processed. */
enum sn_xplane_mark_kind {
	SN_XPLANE_MARK_NOTHING,
	SN_XPLANE_MARK_SCHEDULED,   /* work is given to a pool of threads */
	SN_XPLANE_MARK_STARTED,	    /* and one of them begins it */
	SN_XPLANE_MARK_CALL,	    /* of a function */
	SN_XPLANE_MARK_EXECUTION,   /* of a function, begun in a call */
	SN_XPLANE_MARK_PROCESS,	    /* a thread runs operations of an execution */
	SN_XPLANE_MARK_OPERATION,   /* an operation ran */
	SN_XPLANE_MARK_ASYNC_BEGIN, /* an operation that may end on another thread */
	SN_XPLANE_MARK_ASYNC_END,
	SN_XPLANE_MARK_ALLOCATION,
};

struct sn_xplane_mark {
	uint64_t start_ns, end_ns; /* of an allocation, end_ns is the number of bytes requested */
	uint64_t number;	   /* of the work passed on; of an execution; bytes allocated */
	uint64_t execution;	   /* of an operation or an allocation that tells it */
	uint32_t line;
	uint32_t node; /* of an operation */
	uint32_t name; /* the sink's, of an operation; else the builder's string */
	uint8_t kind;  /* enum sn_xplane_mark_kind */
	bool has_execution;
	uint8_t region; /* of an allocation: enum sn_xplane_region */
};
enum sn_xplane_region { SN_XPLANE_OUTPUT, SN_XPLANE_TEMPORARY, SN_XPLANE_PERSISTENT };

/* A statistic by its name. */
struct sn_xplane_stat_kind {
	uint32_t name;	  /* builder's string */
	uint32_t role;	  /* enum sn_xplane_role */
	uint32_t keys[5]; /* by enum sonde_attribute_type: the writer's, SONDE_NONE not made yet */
};

/* What events of one name have in common. */
struct sn_xplane_kind {
	uint32_t name, display; /* builder's strings; display may be SONDE_NONE */
	uint32_t stat_bytes;
	size_t stats_at;	   /* in the plane's `bytes`: fields of XEventMetadata */
	uint32_t category, number; /* of the sink's name made last; number SONDE_NONE: none */
	uint32_t mark;		   /* enum sn_xplane_mark_kind */
};

struct sn_xplane_plane {
	uint32_t name; /* builder's string */
	bool is_device, has_streams, has_operations;
	int64_t device, core; /* of a device; core 0 where there is one */
	struct sn_table kind_ids, stat_ids;
	struct sn_xplane_kind *kinds;
	struct sn_xplane_stat_kind *stats;
	struct sn_buffer bytes; /* statistics of kinds and of the plane itself, not yet read */
	size_t kind_capacity, stat_capacity;
	/* the program named last; its name, the builder's, 0 where none was asked for */
	uint64_t named_program;
	uint32_t program_name;
};

/* One statistic, read. */
struct sn_xplane_stat {
	struct sn_xplane_stat_kind *kind;
	enum sonde_attribute_type type;
	uint64_t value;			/* a string is the builder's; a double its bits */
	struct sn_proto_field contents; /* the text or bytes; bytes have no type (0) */
};

/* ---- programs ---- */

struct sn_xplane_node {
	uint32_t module;
	uint32_t name;	      /* builder's string */
	uint32_t type;	      /* builder's string, where no instruction says it; SONDE_NONE */
	uint32_t frame;	      /* builder's; SONDE_NONE not made yet */
	uint32_t frame_name;  /* builder's string: of this node alone */
	uint32_t instruction; /* of the module; SONDE_NONE */
	uint32_t graph_node;  /* builder's; SONDE_NONE */
	uint32_t next;	      /* node of the module; SONDE_NONE */
	uint32_t device;      /* builder's string; SONDE_NONE: the module's */
	bool has_run;
	bool is_elsewhere; /* its work on the host belongs to a node of another module */
	struct sonde_db_stat host, latency, queue;		       /* ns, on the host */
	struct sonde_db_stat memory, requested, temporary, persistent; /* bytes */
	uint64_t last_run, last_end_ns;
};

/* What one execution of an operation asked allocators for. */
struct sn_xplane_memory {
	uint64_t allocated, requested, temporary, persistent; /* bytes */
};

struct sn_xplane_run {
	uint64_t start_ns, end_ns;
};

struct sn_xplane_module {
	uint32_t name, label; /* builder's strings: the label is of this module alone */
	bool has_hlo, is_tensorflow, is_cut;
	bool by_repetition; /* executions were told apart by repeated operations */
	uint64_t execution_count;
	uint32_t first_node, last_node; /* SONDE_NONE: none */
	struct sn_hlo hlo;
	struct sn_intern run_ids;   /* {kind, number} */
	struct sn_xplane_run *runs; /* by number of run_ids */
	uint32_t *devices;	    /* builder's strings */
	size_t run_capacity, device_count, device_capacity;
};

/* Where an operation of a line was last seen, to tell executions apart. */
struct sn_xplane_last {
	uint64_t count; /* executions */
	uint32_t first, first_name;
};

struct sn_xplane_programs {
	struct sn_xplane_module *modules;
	struct sn_xplane_node *nodes;
	struct sn_intern module_ids;  /* {has program, program, name} */
	struct sn_table module_names; /* names that are labels */
	struct sn_table node_ids;     /* by module and name */
	struct sn_table line_ids;     /* by module and line */
	struct sn_xplane_last *lasts;
	size_t module_capacity, node_capacity, last_capacity;
};

/* What an event tells about an operation that ran. */
struct sn_xplane_ran {
	uint32_t node, name; /* name: what ran for the node, as the recording calls it */
	uint32_t line;	     /* of the sink */
	uint32_t device;     /* builder's string; SONDE_NONE on the host */
	bool has_run;
	bool ends_elsewhere; /* than on its line */
	uint64_t run, start_ns, end_ns;
	uint64_t scheduled_ns;		/* when it was handed to a pool of threads; 0 unknown */
	struct sn_xplane_memory memory; /* all 0: nothing is known */
};

struct sn_xplane {
	struct sn_db_builder *builder;
	struct sn_trace_writer *writer;
	struct sn_track_sink *sink;
	/* of the file being read */
	struct sn_proto_stream stream;
	struct sn_xplane_plane *planes;
	size_t plane_count, plane_capacity;
	struct sn_xplane_programs programs;
	struct sn_intern contexts; /* {type, id} of what is passed between threads */
	struct sn_xplane_run *steps;
	size_t step_count, step_capacity;
	struct sn_xplane_mark *marks;
	size_t mark_count, mark_capacity;
	bool marks_are_cut;
	uint64_t oversized, damaged_programs; /* of all files */
	uint64_t start_time_ns;		      /* since the epoch; 0 unknown */
	int64_t pid;			      /* -1 unknown */
	uint32_t host;			      /* builder's string */
	uint32_t memory_name;		      /* the sink's, of allocations */
	bool graphs_only;		      /* no contexts, no events */
	const char *beside;		      /* folder of dumped programs and graphs; NULL: none */
};

/* A builder's string, "" for SONDE_NONE. */
static inline const char *sn_xplane_text(const struct sn_xplane *xplane, uint32_t string)
{
	return string == SONDE_NONE ? "" : sn_db_builder_text(xplane->builder, string);
}

/* Reads the tables of all planes. */
int sn_xplane_names(struct sn_xplane *xplane, struct sn_error *error);
/* Reads the events, once the names are known. */
int sn_xplane_events(struct sn_xplane *xplane, struct sn_error *error);
void sn_xplane_release_names(struct sn_xplane *xplane);

/* One XStat of a plane. False where it has no name or is damaged. */
bool sn_xplane_stat(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		    struct sn_proto message, struct sn_xplane_stat *stat);

/* The statistic that was kept at that place of the plane's bytes; moves on to the next one. */
struct sn_proto sn_xplane_kept_stat(const struct sn_xplane_plane *plane, size_t *at);

/* A program's bytes. 0 or SN_ERR_MEMORY; what is damaged is counted. */
int sn_xplane_add_program(struct sn_xplane *xplane, const void *bytes, size_t length);
/* The node of an operation of a program, new where it is; SONDE_NONE without memory. `module` and
 * `name` are builder's strings. */
uint32_t sn_xplane_node(struct sn_xplane *xplane, bool has_program, uint64_t program,
			uint32_t module, uint32_t name);
/* The node of an operation of TensorFlow, "dense/MatMul" of type "MatMul". */
uint32_t sn_xplane_tensorflow_node(struct sn_xplane *xplane, uint32_t name, uint32_t type);
/* The frame that a node's work is below. */
uint32_t sn_xplane_node_frame(struct sn_xplane *xplane, uint32_t node);
int sn_xplane_ran(struct sn_xplane *xplane, const struct sn_xplane_ran *ran);
/* The module of a function of TensorFlow, by its name there; SONDE_NONE without memory. */
uint32_t sn_xplane_function(struct sn_xplane *xplane, uint32_t name);
/* The same node, of that module. */
uint32_t sn_xplane_node_in(struct sn_xplane *xplane, uint32_t module, uint32_t node);
/* Adds the graphs that lie beside the file to the functions known so far. */
int sn_xplane_describe_functions(struct sn_xplane *xplane);

/* ---- TensorFlow's executor ---- */

/* What events of that name tell about it. */
enum sn_xplane_mark_kind sn_xplane_mark_kind_of(const char *name);
/* Keeps a mark until all are read; false if there is no room. */
bool sn_xplane_add_mark(struct sn_xplane *xplane, const struct sn_xplane_mark *mark);
/* Once all events are read: finds the execution of each operation, when it was scheduled, what it
 * allocated. 0 or SN_ERR_MEMORY. */
int sn_xplane_executions(struct sn_xplane *xplane);
/* Programs as texts, [text, end), of a process that Sonde measured: gives the frames that name their
 * computations source lines; and graphs of the programs that such frames are of. 0 or
 * SN_ERR_MEMORY. */
int sn_xplane_programs(struct sn_xplane *xplane, const char *text, const char *end, bool is_drawn);
/* Programs as a plugin gave them, each after its length in 8 bytes: graphs of all, but where there is a profile of those that it
 * has not. 0 or SN_ERR_MEMORY. */
int sn_xplane_compiled(struct sn_xplane *xplane, const unsigned char *bytes, size_t length,
		       bool has_profile);
/* Makes the file's graphs; the sink's rank and host are known. */
int sn_xplane_graphs(struct sn_xplane *xplane);
void sn_xplane_release_programs(struct sn_xplane_programs *programs);
