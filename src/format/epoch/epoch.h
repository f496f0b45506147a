/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store of continuous profiling holds: how often which code ran, of which program, in
 * which time.
 *
 * A store is a folder of epochs. An epoch is a file of parts: the samples of one time, one event
 * and one period. What is flushed becomes a part; merging sums parts, so that an old part may be of
 * a day. docs/format/epochs.md has the bytes, docs/design/store.md the reasons. epoch_writer.h
 * writes, epoch_store.h lists and reads.
 *
 * Times are nanoseconds. Texts end with NUL, and may hold any other bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_EPOCH_NONE		UINT32_MAX
#define SN_EPOCH_BUILD_ID_BYTES 20
#define SN_EPOCH_TEXT_MAX	4095 /* bytes of a text; longer ones are cut */
#define SN_EPOCH_DEPTH_MAX	1024 /* frames of a stack */

/* Whose time it is. */
struct sn_epoch_origin {
	const char *program; /* path of the executable; "" not known */
	const char *cgroup;  /* path below the root of cgroups; "" not known */
	uint32_t pid;	     /* 0: all processes of the program together */
	uint64_t pid_start;  /* of the process, by CLOCK_BOOTTIME; 0 without a pid */
	uint32_t uid;	     /* of its owner; SN_EPOCH_NONE: not known */
};

/* Numbers are on disk. */
enum sn_epoch_image_kind {
	SN_EPOCH_FILE = 1,   /* an ELF file */
	SN_EPOCH_KERNEL = 2, /* addresses are from _text on */
	SN_EPOCH_MODULE = 3, /* of the kernel: addresses are from its begin on */
	SN_EPOCH_BPF = 4,    /* addresses are from the program's begin on */
	SN_EPOCH_VDSO = 5,
	SN_EPOCH_JIT = 6,     /* code made at run time: addresses are those of the process */
	SN_EPOCH_UNKNOWN = 7, /* addresses that belong to no image */
	SN_EPOCH_PYTHON = 8,  /* a function: path "FILE:FIRST LINE:NAME", addresses are lines */
	SN_EPOCH_IMAGE_KINDS
};

/* A piece of code that is loaded as a whole. Those whose fields are all equal are one. */
struct sn_epoch_image {
	uint32_t kind;	  /* enum sn_epoch_image_kind */
	bool is_deleted;  /* had no name any more */
	const char *path; /* as its process saw it; the name of a module; "" not known */
	uint8_t build_id[SN_EPOCH_BUILD_ID_BYTES];
	uint32_t build_id_bytes; /* 0: not known */
	uint64_t device, inode;	 /* 0: not known; the same for the following */
	uint64_t bytes;		 /* of the file */
	uint64_t mtime_ns;
};

/* The name of code that no file tells: of the kernel, of BPF, made at run time. */
struct sn_epoch_name {
	uint32_t image;
	uint64_t start, bytes; /* addresses as in counts; 0 bytes: up to the next name */
	const char *name;
};

/* `address` is one of the image, which does not depend on where it was loaded: for a file the place
 * of the byte in it, since the kernel tells that and whoever wrote it need not read the file. */
struct sn_epoch_count {
	uint32_t origin, image;
	uint64_t address, count;
};

/* Numbers are on disk. */
enum sn_epoch_frame_kind {
	SN_EPOCH_FRAME_NATIVE = 0,
	SN_EPOCH_FRAME_PYTHON = 1,
	/* The leaf alone: native code that executes the frame of Python above it, and is shown as that. */
	SN_EPOCH_FRAME_INTERPRETER = 2,
};

struct sn_epoch_frame {
	uint32_t kind; /* enum sn_epoch_frame_kind */
	uint32_t image;
	uint64_t address; /* of a caller: the return address */
};

/* A call path; its leaf is not counted in any sn_epoch_count. */
struct sn_epoch_stack {
	uint32_t origin;
	uint32_t depth;			     /* 1 to SN_EPOCH_DEPTH_MAX */
	const struct sn_epoch_frame *frames; /* leaf first */
	uint64_t count;
};

struct sn_epoch_loss {
	const char *cause; /* a short word: "ring-full" */
	uint64_t count;	   /* samples */
};

/* The event of time that threads waited, off any processor: a thread that waits is a sample once a period. */
#define SN_EPOCH_WAITING "off-cpu"

/* What a part is of. */
struct sn_epoch_flush {
	/* CLOCK_REALTIME; the end is before the begin where the clock was set back meanwhile. */
	uint64_t begin_ns, end_ns;
	/* The same by CLOCK_BOOTTIME, which nobody sets, of this boot. All 0 of a part that was
	 * summed from several boots. */
	uint64_t begin_boot_ns, end_boot_ns;
	uint8_t boot_id[16]; /* /proc/sys/kernel/random/boot_id */
	const char *event;   /* "cycles", "cpu-clock" */
	uint64_t period;     /* what one sample stands for: ns or events */
	bool is_time;	     /* the period is ns */
	uint64_t samples;    /* taken, those without a count here (unknown code) too */
	const struct sn_epoch_loss *losses; /* samples that were not kept, by cause */
	uint32_t loss_count;
	/* What sampling cost: CPU time of the sampling process since the last flush, and its
	 * resident memory. */
	uint64_t own_cpu_ns, own_bytes;
	/* Only told by readers: the flushes that were summed, and how long they took by
	 * CLOCK_BOOTTIME together. */
	uint64_t flushes, watched_ns;
};

/* How far an epoch has been merged. Numbers are on disk. */
enum sn_epoch_level {
	SN_EPOCH_FLUSHES = 0, /* each flush as it came */
	SN_EPOCH_SEALED = 1,  /* those of one event and period are one part */
	SN_EPOCH_HOUR = 2,    /* several epochs */
	SN_EPOCH_DAY = 3,
	SN_EPOCH_LEVELS
};
