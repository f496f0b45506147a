/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of the form in which perf keeps records: what tools/perf/Documentation/perf.data-file-format.txt of Linux says of files and pipes. The kernel's own
 * records are in <linux/perf_event.h>.
 */
#pragma once

#define SN_PERF_MAGIC	    "PERFILE2"
/* The length of a pipe's header, which is the magic and this. */
#define SN_PERF_PIPE_HEADER 16u

/* Records that perf itself makes. */
enum sn_perf_own_record {
	SN_PERF_HEADER_ATTR = 64,
	SN_PERF_HEADER_TRACING_DATA = 66,
	SN_PERF_HEADER_BUILD_ID = 67,
	SN_PERF_AUXTRACE = 71,
	SN_PERF_EVENT_UPDATE = 78,
	SN_PERF_HEADER_FEATURE = 80,
	SN_PERF_COMPRESSED = 81,
	SN_PERF_COMPRESSED2 = 83,
};

/*
 * Records that Sonde writes beside them (src/record), and perf never: a process's interpreter { u32 pid, padding; u64 address, bytes of its evaluation loop's
 * function, and since when }; a code object { u32 number, first line, bytes of its file's name, bytes of its name; both names }; and the Python frames of a sample, innermost first
 * { u32 pid, tid; u64 time; u32 count, padding; count times u32 number of the code, line, whether it is the outermost of its native call }.
 */
enum sn_perf_sonde_record {
	SN_PERF_SONDE_INTERPRETER = 0x534e0001,
	SN_PERF_SONDE_CODE,
	SN_PERF_SONDE_FRAMES,
	SN_PERF_SONDE_MACHINE, /* nothing but that all processes were sampled */
};

/* Features: bit numbers in a file's header, and numbers in SN_PERF_HEADER_FEATURE records. */
enum sn_perf_feature {
	SN_PERF_FEATURE_TRACING_DATA = 1,
	SN_PERF_FEATURE_BUILD_ID = 2,
	SN_PERF_FEATURE_HOSTNAME = 3,
	SN_PERF_FEATURE_OSRELEASE = 4,
	SN_PERF_FEATURE_VERSION = 5,
	SN_PERF_FEATURE_CPUDESC = 8,
	SN_PERF_FEATURE_CMDLINE = 11,
	SN_PERF_FEATURE_EVENT_DESC = 12,
	SN_PERF_FEATURE_DIR_FORMAT = 24,
	SN_PERF_FEATURE_CLOCK_DATA = 29,
	SN_PERF_FEATURE_COUNT = 256,
};

/* In the header of SN_PERF_HEADER_BUILD_ID: the length of the build id is said. */
#define SN_PERF_MISC_BUILD_ID_SIZE (1u << 15)
#define SN_PERF_BUILD_ID_BYTES	   20u
/* How perf calls the kernel. */
#define SN_PERF_KERNEL_NAME	   "[kernel.kallsyms]"
