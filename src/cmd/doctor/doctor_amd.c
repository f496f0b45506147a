/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for AMD's devices: the driver, who may use them, HIP and rocprofiler-sdk, and what measuring costs. Figures are those of
 * docs/results/rocm.md. */
#include "doctor.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The path of what the user may not use of /dev/kfd and the render nodes; "" where all may be used. */
static void find_refused(const char *kfd, char *refused, size_t size)
{
	char pattern[512];
	glob_t files;
	*refused = '\0';
	if (!glob(sn_doctor_path(pattern, sizeof(pattern), "/dev/dri/renderD*"), 0, NULL, &files)) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			if (!sn_may_use(files.gl_pathv[i]))
				snprintf(refused, size, "%s", files.gl_pathv[i]);
		globfree(&files);
	}
	if (!sn_may_use(kfd))
		snprintf(refused, size, "%s", kfd);
}

static void say_device(struct sn_diagnosis *diagnosis, const char *hip)
{
	char driver[64], rocm[64];
	/* a driver that came with the kernel has no version of its own */
	bool has_driver = sn_read_first_line("/sys/module/amdgpu/version", driver, sizeof(driver));
	bool has_rocm = sn_read_first_line("/opt/rocm/.info/version", rocm, sizeof(rocm));
	sn_diagnose(diagnosis, "AMD", SN_VERDICT_OK, NULL, "driver %s, ROCm %s, %s",
		    has_driver ? driver : "of the kernel", has_rocm ? rocm : "of unknown version",
		    *hip ? hip : "HIP must come with the program");
}

/* False where nothing can be measured. */
static bool check_device(struct sn_diagnosis *diagnosis, const char *hip)
{
	char kfd[512], refused[512];
	if (access(sn_doctor_path(kfd, sizeof(kfd), "/dev/kfd"), F_OK)) {
		sn_diagnose(diagnosis, "AMD", SN_VERDICT_NO, NULL, "no device (/dev/kfd) and %s",
			    *hip ? hip : "no HIP library");
		return false;
	}
	find_refused(kfd, refused, sizeof(refused));
	if (!*refused) {
		say_device(diagnosis, hip);
		return true;
	}
	sn_diagnose_refused(diagnosis, "AMD", refused);
	return false;
}

static void check_sdk(struct sn_diagnosis *diagnosis)
{
	static const char *const sdk[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so", NULL};
	static const char *const registers[] = {"librocprofiler-register.so.0",
						"librocprofiler-register.so", NULL};
	char path[512];
	if (sn_find_first(sdk, path, sizeof(path)))
		sn_diagnose(
		    diagnosis, "AMD kernels", SN_VERDICT_LIMITED, NULL,
		    "%s: kernels, copies and sets; 0.4 us more a launch, measured on a fake "
		    "device, and what the SDK takes; no real device has confirmed it",
		    path);
	else if (sn_find_first(registers, path, sizeof(path)))
		sn_diagnose(
		    diagnosis, "AMD kernels", SN_VERDICT_LIMITED,
		    "install rocprofiler-sdk of the same ROCm",
		    "without rocprofiler-sdk calls are measured, and kernels have no times; "
		    "0.3 to 0.4 us more a launch, measured on a fake device; no real device "
		    "has confirmed it");
	else
		sn_diagnose(
		    diagnosis, "AMD kernels", SN_VERDICT_LIMITED, "install ROCm 6.2 or later",
		    "no librocprofiler-register.so: kernels are measured through OpenCL, HIP "
		    "calls show as C functions");
}

/* Without the SDK there are none. */
static void check_counters(struct sn_diagnosis *diagnosis)
{
	static const char *const sdk[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so", NULL};
	char path[512];
	if (sn_find_first(sdk, path, sizeof(path)))
		sn_diagnose(
		    diagnosis, "AMD counters", SN_VERDICT_LIMITED, NULL,
		    "sonde run --gpu-counters: each kernel runs alone while it is counted; what "
		    "may be counted is known when the program runs; no real device has confirmed "
		    "it");
}

void sn_diagnose_amd(struct sn_diagnosis *diagnosis)
{
	static const char *const names[] = {"libamdhip64.so", "libamdhip64.so.7",
					    "libamdhip64.so.6", NULL};
	char hip[512];
	if (!sn_find_first(names, hip, sizeof(hip)))
		*hip = '\0';
	if (!check_device(diagnosis, hip))
		return;
	check_sdk(diagnosis);
	check_counters(diagnosis);
}
