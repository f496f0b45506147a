/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the importer of XPlane files: what XLA's profiler writes for JAX, TensorFlow and
 * PyTorch/XLA, an XSpace of tsl/profiler/protobuf/xplane.proto.
 *
 * A plane (a device, the host's threads) has lines of events; names of events and of their
 * statistics are in tables of the plane, which lie behind the lines. So a file is read twice, both
 * times through a window: first the tables (xplane_names.c), then the events (xplane_event.c).
 * Programs that XLA compiled come with the tables (hlo.h) and become dataflow graphs
 * (xplane_graph.c).
 *
 * Times are nanoseconds of a line plus picoseconds of an event: an event's ends are cut to whole
 * nanoseconds, each by itself, so that what touches or contains still does.
 */
#ifndef SN_IMPORT_XPLANE_H
#define SN_IMPORT_XPLANE_H

#include "hlo.h"
#include "importer.h"
#include "recording.h"

/* ---- names ---- */

/* What a statistic is to the importer itself; most are only passed on as attributes. */
enum sn_xplane_role {
	SN_XPLANE_PASSED_ON,
	SN_XPLANE_LEFT_OUT, /* said otherwise */
	SN_XPLANE_CORRELATION,
	SN_XPLANE_PRODUCER_TYPE, /* of a context that this event handed on */
	SN_XPLANE_PRODUCER,
	SN_XPLANE_CONSUMER_TYPE, /* and that this event took up */
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
	SN_XPLANE_ROLES
};

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
	uint32_t category, number; /* of the recording's name made last; number SONDE_NONE none */
};

struct sn_xplane_plane {
	uint32_t name; /* builder's string */
	bool is_device, has_streams, has_operations;
	int64_t device, core; /* of a device; core 0 where there is one */
	struct sn_intern kind_ids, stat_ids;
	struct sn_xplane_kind *kinds;
	struct sn_xplane_stat_kind *stats;
	unsigned char *bytes; /* statistics of kinds and of the plane itself, not yet read */
	size_t kind_capacity, stat_capacity, byte_count, byte_capacity;
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
	bool has_run;
	struct sonde_db_stat host, latency; /* ns, on the host */
	uint64_t last_run, last_end_ns;
};

struct sn_xplane_run {
	uint64_t start_ns, end_ns;
};

struct sn_xplane_module {
	uint32_t name, label; /* builder's strings: the label is of this module alone */
	bool has_program, has_hlo, is_tensorflow, is_cut;
	bool by_repetition; /* executions were told apart by what repeats */
	uint64_t program, execution_count;
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
	uint32_t first, last;
	uint32_t first_name;
};

struct sn_xplane_programs {
	struct sn_xplane_module *modules;
	struct sn_xplane_node *nodes;
	struct sn_intern module_ids;   /* {has program, program, name} */
	struct sn_intern module_names; /* names that are labels */
	struct sn_intern node_ids;     /* {module, name} */
	struct sn_intern line_ids;     /* {module, line} */
	struct sn_xplane_last *lasts;
	size_t module_capacity, node_capacity, last_capacity;
};

/* What an event tells of an operation that ran. */
struct sn_xplane_ran {
	uint32_t node, name; /* name: of the recording, of what ran for the node */
	uint32_t line;	     /* of the recording */
	uint32_t device;     /* builder's string; SONDE_NONE on the host */
	bool has_run;
	uint64_t run, start_ns, end_ns;
};

struct sn_xplane {
	struct sn_recording recording;
	/* of the file being read */
	struct sn_proto_stream stream;
	struct sn_xplane_plane *planes;
	size_t plane_count, plane_capacity;
	struct sn_xplane_programs programs;
	struct sn_intern contexts; /* {type, id} of what is handed on between threads */
	struct sn_xplane_run *steps;
	size_t step_count, step_capacity;
	uint64_t oversized, damaged_programs; /* of all files */
	uint64_t start_time_ns;		      /* since the epoch; 0 unknown */
	int64_t pid;			      /* -1 unknown */
	uint32_t memory_name;		      /* the recording's, of allocations */
	bool graphs_only;		      /* no contexts, no events */
	const char *beside;		      /* folder of dumped programs and graphs; NULL: none */
};

/* Reads the tables of all planes. */
int sn_xplane_names(struct sn_xplane *xplane, struct sn_error *error);
/* Reads the events, once the names are known. */
int sn_xplane_events(struct sn_xplane *xplane, struct sn_error *error);
void sn_xplane_release_names(struct sn_xplane *xplane);

/* One XStat of a plane. False where it has no name or is damaged. */
bool sn_xplane_stat(struct sn_xplane *xplane, struct sn_xplane_plane *plane,
		    struct sn_proto message, struct sn_xplane_stat *stat);

/* A program's bytes. 0 or SN_ERR_MEMORY; what is damaged is counted. */
int sn_xplane_add_program(struct sn_xplane *xplane, const void *bytes, size_t length);
/* The node of an operation of a program, new where it is; SONDE_NONE without memory. `module` and
 * `name` are builder's strings. */
uint32_t sn_xplane_node(struct sn_xplane *xplane, bool has_program, uint64_t program,
			uint32_t module, uint32_t name);
/* The node of an operation of TensorFlow, "dense/MatMul" of type "MatMul". */
uint32_t sn_xplane_tensorflow_node(struct sn_xplane *xplane, uint32_t name, uint32_t type);
/* The frame below which a node's work stands. */
uint32_t sn_xplane_node_frame(struct sn_xplane *xplane, uint32_t node);
int sn_xplane_ran(struct sn_xplane *xplane, const struct sn_xplane_ran *ran);
/* Makes the file's graphs; the recording's rank and host are known. */
int sn_xplane_graphs(struct sn_xplane *xplane);
void sn_xplane_release_programs(struct sn_xplane_programs *programs);

#endif
