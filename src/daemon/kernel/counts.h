/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program in the kernel (sampler.bpf.c) and the daemon share: for each processor a table of counts, and a log of the counts that had to leave it.
 *
 * Modelled on DCPI's driver (Anderson et al., "Continuous profiling: where have all the cycles gone?", TOCS 15, 1997, section 4.2): buckets of one cache line,
 * found by a hash of what is counted; a sample that is in its bucket already costs an addition, another one drives an older entry out into a log.
 * Unlike there, an entry is one word, so that the daemon can take it with one atomic exchange while the processor goes on counting:
 * no interrupt of other processors, no second table, no moment at which samples are lost.
 *
 * An entry: bits 48 to 63 the number of a pair (whose code, which image), 16 to 47 the address in the image, 0 to 15 the count. The daemon
 * takes the count and leaves the rest, so that what ran before a flush is found after it. No pair has number 0.
 */
#pragma once

#include <stdint.h>

enum {
	SN_COUNTS_WAYS = 8,	  /* entries of a bucket: a cache line */
	SN_COUNTS_BUCKETS = 8192, /* of a processor: 512 KiB */
	SN_COUNTS_LOG = 8192,	  /* entries that left the table and wait for the daemon: 64 KiB */
	SN_COUNTS_MOST = 0xffff,  /* of one entry; one that is full leaves for the log */
	/* Numbers of pairs have a half for each turn (the top bit), so that what was counted in the last turn can be told from this one's. */
	SN_PAIR_NUMBERS = 0x10000,
	SN_PAIR_TURN_BIT = 0x8000,
	SN_PAIRS_OF_TURN = 0x4000,
	SN_PROCESSES = 8, /* processes that a processor remembers */
	SN_MAPPINGS = 8,  /* mappings of each of them */
	SN_PATH_BYTES = 2048,
	SN_STACK_BYTES = 32768, /* that are copied of a stack, at most */
	SN_KERNEL_FRAMES = 64,
	SN_USER_REGISTERS = 17, /* by DWARF number; x86-64's */
};

enum sn_sample_fate {
#define SN_FATE(name, word, text) name,
#include "fates.def"
#undef SN_FATE
	SN_FATES
};

enum sn_image_kind {
	SN_IMAGE_KERNEL =
	    1,		    /* address: the low 32 bits; the kernel's code lies in the last 4 GiB */
	SN_IMAGE_FILE,	    /* address: in the file */
	SN_IMAGE_VDSO,	    /* address: in the image */
	SN_IMAGE_ANONYMOUS, /* memory of one process without a file; address: the low 32 bits */
};

/* What has no memory of its own executes no program. */
enum sn_no_program {
	SN_NO_PROGRAM_ENDING, /* a process that has given up its memory, and is being taken down */
	SN_NO_PROGRAM_KERNEL, /* a thread of the kernel */
};

/* Whose time it is, and in which image: what gets a number in a turn. All zero where it does not apply. */
struct sn_pair {
	/* Of the image. Of anonymous memory: the upper half of its addresses, and the start of the process. */
	uint64_t inode;
	/* Of the program that the process executes; or enum sn_no_program, of device 0. */
	uint64_t program_inode;
	uint64_t cgroup; /* its number, that of its folder */
	uint32_t device; /* as the kernel numbers devices: major << 20 | minor */
	uint32_t program_device;
	/* Tell a file from an earlier one with its number, where the file system does. */
	uint32_t inode_generation, program_generation;
	uint32_t pid;  /* only of anonymous memory, and where processes are asked for */
	uint32_t uid;  /* of the process's owner, in the first user namespace */
	uint16_t kind; /* enum sn_image_kind */
	uint16_t turn;
	uint32_t unused;
};

/* Told once in a turn for each pair, at its first sample. Paths are as in the mount namespace of the process, told by the kernel, so that a process that has ended has them too. */
struct sn_announced {
	struct sn_pair pair;
	uint32_t number;
	uint32_t pid;
	uint64_t process_start_ns;	      /* by CLOCK_BOOTTIME */
	uint64_t image_bytes, image_mtime_ns; /* of the file; 0: not known */
	uint32_t image_is_deleted;
	unsigned char build_id[20]; /* of the image */
	uint32_t build_id_bytes;    /* 0: not known */
	/* Names from the file to the root, each ended by a zero byte; an empty path where there is no file. */
	uint32_t image_path_bytes, program_path_bytes;
	char image_path[SN_PATH_BYTES], program_path[SN_PATH_BYTES];
};

/* A sample that is not in the table, as it has its callers. */
struct sn_stack_sample {
	uint32_t number, address; /* of the pair, and in its image; as of an entry */
	uint32_t pid, tid;
	/* Tell a process, and the program that it executes, from others with its number: its start by CLOCK_BOOTTIME, and where its first stack begins. */
	uint64_t process_start_ns, first_stack;
	uint32_t mapping_sequence; /* changes with its mappings; 0: not known */
	uint32_t turn;
	uint32_t kernel_count, stack_bytes;
	uint32_t is_waiting; /* a thread that waits, which is sent without its stack */
	uint32_t unused;
	/* Of the process; all 0 of a thread of the kernel. */
	uint64_t registers[SN_USER_REGISTERS];
	uint64_t kernel[SN_KERNEL_FRAMES]; /* where it was, then return addresses */
	unsigned char stack[SN_STACK_BYTES];
};

/* A thread that was sent as waiting, and is in the same wait still. */
struct sn_still_waiting {
	uint32_t tid;
};

/* Which wait of a thread: how often it had been taken off a processor, and the round, whose begin all are told anew at. */
struct sn_wait {
	uint64_t switches, round;
	uint64_t start_ns; /* of the thread */
};

/* Part of the running process's address space that a processor remembers. */
struct sn_cached_mapping {
	uint64_t start, end;
	uint64_t offset; /* of an address in the image: address + offset */
	uint64_t number; /* of the pair */
};

/*
 * A process that a processor sampled lately. To find out whose time it is and in which file an address lies takes some twenty places of the kernel's memory,
 * none of which is in a cache.
 */
struct sn_cached_process {
	uint64_t mm, stack, cgroups; /* change when the process executes another program or moves */
	uint32_t tgid, mapping_sequence;
	uint32_t turn, next, remembered; /* where the next mapping is remembered; how many are */
	uint64_t kernel; /* number of the pair of this process in the kernel; 0: not known yet */
	struct sn_pair whose; /* without an image; of another turn: not known yet */
	struct sn_cached_mapping mapping[SN_MAPPINGS];
};

struct sn_counts {
	/* Written by this processor in its samples. */
	uint64_t fate[SN_FATES];
	uint64_t hits;	/* samples that were in their bucket already */
	uint64_t walks; /* samples for which a mapping had to be looked for */
	uint64_t log_head;
	uint64_t evicted;
	uint64_t stacks;	/* samples that went to the daemon with their callers */
	uint64_t without_stack; /* samples since */
	struct sn_cached_process process[SN_PROCESSES]; /* by the last bits of tgid */
	/* Written by the daemon. */
	uint64_t log_tail __attribute__((aligned(64)));
	uint64_t log[SN_COUNTS_LOG] __attribute__((aligned(64)));
	uint64_t table[SN_COUNTS_BUCKETS * SN_COUNTS_WAYS];
};

/* Written by the daemon, read by all processors. */
struct sn_counts_control {
	/* Upper half: the turn, which is one more each time; lower half: how many numbers were given out in it. Processors add 1 and get both, so no number is given out in two turns. */
	uint64_t numbers;
	uint32_t by_process;	/* each process is told apart */
	uint32_t pairs_of_turn; /* at most SN_PAIRS_OF_TURN */
	uint32_t stack_every;	/* every Nth sample has its callers; 0: none */
	uint32_t unused;
	uint64_t wait_round, wait_weight;
	uint64_t
	    waits_lost; /* written by the program: threads that waited and could not be told of */
};
