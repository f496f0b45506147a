/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks for NVIDIA's devices: the driver, who may profile, CUPTI, and what measuring costs. Nothing is loaded: CUPTI may not be called
 * before the driver is initialised. Figures are those of docs/results/cuda.md.
 */
#include "doctor.h"

#include "base/text.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu ...": the first word with a point that begins with a digit. */
static void read_driver_version(char *version, size_t size)
{
	char line[512], *rest = line;
	snprintf(version, size, "of unknown version");
	if (!sn_read_first_line("/proc/driver/nvidia/version", line, sizeof(line)))
		return;
	for (char *word; (word = strsep(&rest, " \t"));)
		if (*word >= '0' && *word <= '9' && strchr(word, '.')) {
			snprintf(version, size, "%s", word);
			return;
		}
}

/* How many devices there are; the path of one that the user may not use, or else "". */
static size_t find_nodes(char *refused, size_t size)
{
	char pattern[1024];
	glob_t files;
	size_t count = 0;
	*refused = '\0';
	if (glob(sn_doctor_path(pattern, sizeof(pattern), "/dev/nvidia[0-9]*"), 0, NULL, &files))
		return 0;
	for (; count < files.gl_pathc; count++)
		if (!sn_may_use(files.gl_pathv[count]))
			snprintf(refused, size, "%s", files.gl_pathv[count]);
	globfree(&files);
	return count;
}

/* False where nothing can be measured. */
static bool check_driver(struct sn_diagnosis *diagnosis)
{
	char library[512], control[512], refused[512], version[64];
	bool has_library = sn_find_library("libcuda.so.1", library, sizeof(library));
	bool has_device =
	    access(sn_doctor_path(control, sizeof(control), "/dev/nvidiactl"), F_OK) == 0;
	size_t count = find_nodes(refused, sizeof(refused));
	if (has_device && !sn_may_use(control))
		snprintf(refused, sizeof(refused), "%s", control);
	if (!has_library)
		sn_diagnose(
		    diagnosis, "NVIDIA", SN_VERDICT_NO,
		    has_device ? "sudo apt install libcuda1 (of the driver's version)" : NULL,
		    "%s and no driver library (libcuda.so.1)",
		    has_device ? "a device (/dev/nvidiactl)" : "no device (/dev/nvidiactl)");
	else if (!has_device || !count)
		sn_diagnose(diagnosis, "NVIDIA", SN_VERDICT_NO,
			    "sudo modprobe nvidia; for a container: docker run --gpus all",
			    "%s, but no device (%s)", library,
			    has_device ? "/dev/nvidia0" : "/dev/nvidiactl");
	else if (*refused)
		sn_diagnose_refused(diagnosis, "NVIDIA", refused);
	else {
		read_driver_version(version, sizeof(version));
		sn_diagnose(diagnosis, "NVIDIA", SN_VERDICT_OK, NULL, "driver %s, %zu device%s, %s",
			    version, count, count == 1 ? "" : "s", library);
	}
	return has_library && count && has_device && !*refused;
}

/* Whether this process may administer the system, as the driver asks: CAP_SYS_ADMIN, which root in a container mostly lacks. */
static bool is_administrator(void)
{
	unsigned long long capabilities = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "CapEff: %llx", &capabilities);
	if (file)
		fclose(file);
	return capabilities >> 21 & 1;
}

/* Restricted, it is samples of instructions and counters that the driver keeps: tracing is for everybody since CUDA 10.2. Of /proc no
 * file tells its size. */
static void check_rights(struct sn_diagnosis *diagnosis)
{
	char path[512], line[256];
	int restricted = -1;
	FILE *file = fopen(sn_doctor_path(path, sizeof(path), "/proc/driver/nvidia/params"), "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "RmProfilingAdminOnly: %d", &restricted);
	if (file)
		fclose(file);
	if (restricted < 0)
		sn_diagnose(
		    diagnosis, "NVIDIA samples", SN_VERDICT_LIMITED, NULL,
		    "%s does not say who may sample instructions and read counters, as sonde "
		    "run --gpu-samples, --gpu-counters and --gpu-metrics do "
		    "(RmProfilingAdminOnly); kernels and copies need no permission",
		    path);
	else if (restricted && !is_administrator())
		sn_diagnose(
		    diagnosis, "NVIDIA samples", SN_VERDICT_LIMITED,
		    "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee "
		    "/etc/modprobe.d/profiling.conf, and reboot",
		    "sonde run --gpu-samples, --gpu-counters and --gpu-metrics are for "
		    "administrators only (RmProfilingAdminOnly: 1); kernels and copies need no "
		    "permission");
	else
		sn_diagnose(diagnosis, "NVIDIA samples", SN_VERDICT_OK, NULL,
			    "sonde run --gpu-samples, --gpu-counters and --gpu-metrics are allowed "
			    "(RmProfilingAdminOnly: %d%s)",
			    restricted, restricted ? ", and you are an administrator" : "");
}

/* The release by the library's real name: libcupti.so.2025.2.1. */
static void describe_cupti(const char *path, char *text, size_t size)
{
	char real[PATH_MAX];
	snprintf(text, size, "CUPTI %s (%s)", sn_library_version(path, real), path);
}

/* In the collector's order (adapters/cuda/library.c), which begins with the release of the program's runtime. */
static const char *const cuptis[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
				     "libcupti.so", NULL};

/* In a toolkit's folder, where the loader does not look. */
static bool find_in_toolkits(char *path, size_t size)
{
	static const char *const folders[] = {"/usr/local/cuda/extras/CUPTI/lib64",
					      "/usr/local/cuda/lib64",
					      "/opt/cuda/extras/CUPTI/lib64"};
	for (size_t name = 0; cuptis[name]; name++)
		for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
			char folder[512];
			snprintf(path, size, "%s/%s",
				 sn_doctor_path(folder, sizeof(folder), folders[i]), cuptis[name]);
			if (access(path, R_OK) == 0)
				return true;
		}
	return false;
}

static void check_cupti(struct sn_diagnosis *diagnosis)
{
	char path[600], cupti[700];
	if (sn_find_first(cuptis, path, sizeof(path)) || find_in_toolkits(path, sizeof(path))) {
		describe_cupti(path, cupti, sizeof(cupti));
		sn_diagnose(diagnosis, "NVIDIA kernels", SN_VERDICT_LIMITED, NULL,
			    "%s: kernels, copies, sets, memory and waits; 0.4 to 0.8 us more a "
			    "launch, measured on a fake device, and what CUPTI takes; no real "
			    "device has confirmed it",
			    cupti);
		return;
	}
	sn_diagnose(
	    diagnosis, "NVIDIA kernels", SN_VERDICT_LIMITED,
	    "pip install nvidia-cuda-cupti (CUDA 12: nvidia-cuda-cupti-cu12), and name its folder "
	    "in LD_LIBRARY_PATH",
	    "no CUPTI where the loader looks, and in no toolkit: kernels of programs that bring "
	    "one, as PyTorch; "
	    "0.4 to 0.8 us more a launch, measured on a fake device, and what CUPTI takes; no "
	    "real device has confirmed it");
}

/* Compute instances of all devices that are divided (MIG). As NVIDIA's documents say, one that is as large as its GPU instance is like a device,
 * and those that share a GPU instance are only traced. */
static void check_instances(struct sn_diagnosis *diagnosis)
{
	char pattern[512];
	glob_t files;
	if (glob(sn_doctor_path(pattern, sizeof(pattern),
				"/proc/driver/nvidia/capabilities/gpu*/mig/gi*/ci*"),
		 0, NULL, &files))
		return;
	sn_diagnose(diagnosis, "NVIDIA MIG", SN_VERDICT_LIMITED, NULL,
		    "%zu instance%s of divided devices: kernels and copies are measured in each; "
		    "--gpu-samples, --gpu-counters and --gpu-metrics want one that is as large as "
		    "its GPU instance; no real device has confirmed it",
		    files.gl_pathc, files.gl_pathc == 1 ? "" : "s");
	globfree(&files);
}

/* As NVIDIA names virtual GPUs: "GRID V100D-8Q", "NVIDIA A40-48Q", "NVIDIA H100-1-10CME" (of a divided device). "A100-SXM4-40GB" is none. */
static bool is_virtual(const char *model)
{
	const char *dash = strrchr(model, '-');
	size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;
	const char *rest = digits ? dash + 1 + digits : "";
	return strstr(model, "GRID ") || strstr(model, "vGPU") ||
	       (*rest && strchr("ABCQV", *rest) && (!rest[1] || !strcmp(rest + 1, "ME")));
}

/* "Model: \t\t NVIDIA A40-48Q": false where the file tells none. */
static bool read_model(const char *path, char *model, size_t size)
{
	char line[256];
	FILE *file = fopen(path, "re");
	*model = '\0';
	while (file && !*model && fgets(line, sizeof(line), file))
		if (sn_text_begins(line, "Model:"))
			snprintf(model, size, "%s", line + 6 + strspn(line + 6, " \t"));
	if (file)
		fclose(file);
	model[strcspn(model, "\n")] = '\0';
	return *model;
}

/* Where CUPTI refuses, calls are heard without it (adapters/cuda/calls.c). */
#define CALLS_ALONE                                                                                \
	"and then calls alone are measured, of programs that link the runtime dynamically; no "    \
	"real device has confirmed it"

static void check_virtual(struct sn_diagnosis *diagnosis)
{
	char pattern[512], model[128], named[128] = "";
	glob_t files;
	size_t count = 0;
	if (glob(sn_doctor_path(pattern, sizeof(pattern), "/proc/driver/nvidia/gpus/*/information"),
		 0, NULL, &files))
		return;
	for (size_t at = 0; at < files.gl_pathc; at++)
		if (read_model(files.gl_pathv[at], model, sizeof(model)) && is_virtual(model)) {
			memcpy(named, model, sizeof(named));
			count++;
		}
	globfree(&files);
	if (count)
		sn_diagnose(
		    diagnosis, "NVIDIA vGPU", SN_VERDICT_LIMITED,
		    "on its host: echo enable_profiling=1 | sudo tee "
		    "/sys/bus/mdev/devices/UUID/nvidia/vgpu_params",
		    "%zu virtual GPU%s (%s): unless its host allows profiling CUPTI refuses "
		    "records, samples and counters (error 33), " CALLS_ALONE,
		    count, count == 1 ? "" : "s", named);
}

/* A guest that its processor keeps from its host: only there a GPU can be in the confidential mode, which no file of the driver's tells. */
static void check_confidential(struct sn_diagnosis *diagnosis)
{
	static const char *const guests[] = {"/dev/sev-guest", "/dev/tdx_guest", "/dev/tdx-guest"};
	char path[512];
	for (size_t at = 0; at < sizeof(guests) / sizeof(*guests); at++) {
		if (access(sn_doctor_path(path, sizeof(path), guests[at]), F_OK))
			continue;
		sn_diagnose(diagnosis, "NVIDIA confidential", SN_VERDICT_LIMITED,
			    "nvidia-smi conf-compute -f; on the host: sudo nvidia_gpu_tools.py "
			    "--set-cc-mode=devtools --reset-after-cc-mode-switch",
			    "a confidential guest (%s): if the GPU's mode is on CUPTI refuses "
			    "records, samples and counters (error 41), " CALLS_ALONE,
			    path);
		return;
	}
}

void sn_diagnose_nvidia(struct sn_diagnosis *diagnosis)
{
	if (!check_driver(diagnosis))
		return;
	check_cupti(diagnosis);
	check_rights(diagnosis);
	check_instances(diagnosis);
	check_virtual(diagnosis);
	check_confidential(diagnosis);
}
