/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for Intel's devices: the kernel's driver, who may use them, Level Zero, SYCL, and what measuring costs. Figures are those
 * of docs/results/levelzero.md. */
#include "doctor.h"

#include "base/text.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTEL "0x8086"

/* The kernel's driver of a render node of /sys/class/drm. */
static void read_driver(const char *node, char *name, size_t size)
{
	char link[PATH_MAX], target[PATH_MAX];
	snprintf(link, sizeof(link), "%.4000s/device/driver", node);
	ssize_t length = readlink(link, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	snprintf(name, size, "%.60s", length > 0 ? sn_text_base_name(target) : "unknown");
}

static bool is_intel(const char *node)
{
	char path[PATH_MAX], vendor[32] = "";
	snprintf(path, sizeof(path), "%.4000s/device/vendor", node);
	FILE *file = fopen(path, "re");
	bool is_one = file && fgets(vendor, sizeof(vendor), file) && sn_text_begins(vendor, INTEL);
	if (file)
		fclose(file);
	return is_one;
}

static void say_node(struct sn_diagnosis *diagnosis, const char *sys)
{
	char below[300], node[512], driver[64];
	snprintf(below, sizeof(below), "/dev/dri/%.200s", sn_text_base_name(sys));
	sn_doctor_path(node, sizeof(node), below);
	read_driver(sys, driver, sizeof(driver));
	if (access(node, F_OK)) {
		sn_diagnose(diagnosis, "Intel GPU", SN_VERDICT_NO,
			    "for a container: docker run --device /dev/dri",
			    "a device of driver %s, but no %s", driver, node);
	} else if (!sn_may_use(node)) {
		sn_diagnose_refused(diagnosis, "Intel GPU", node);
	} else {
		sn_diagnose(diagnosis, "Intel GPU", SN_VERDICT_OK, NULL, "%s, driver %s", node,
			    driver);
	}
}

/* False where there is none. */
static bool check_device(struct sn_diagnosis *diagnosis)
{
	char pattern[512];
	glob_t files;
	bool has_any = false;
	sn_doctor_path(pattern, sizeof(pattern), "/sys/class/drm/renderD*");
	if (!glob(pattern, 0, NULL, &files)) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			if (is_intel(files.gl_pathv[i])) {
				say_node(diagnosis, files.gl_pathv[i]);
				has_any = true;
			}
		globfree(&files);
	}
	if (!has_any)
		sn_diagnose(diagnosis, "Intel GPU", SN_VERDICT_NO, NULL,
			    "no device (/sys/class/drm)");
	return has_any;
}

static void check_levelzero(struct sn_diagnosis *diagnosis, bool has_device)
{
	char loader[512], layer[512], driver[512], real[PATH_MAX];
	const char *others = getenv("ZE_ENABLE_ALT_DRIVERS");
	bool has_driver =
	    (others && *others) || sn_find_library("libze_intel_gpu.so.1", driver, sizeof(driver));
	if (!sn_find_library("libze_loader.so.1", loader, sizeof(loader)))
		sn_diagnose(diagnosis, "Level Zero", SN_VERDICT_NO, "sudo apt install libze1",
			    "no loader (libze_loader.so.1)");
	else if (!sn_find_library("libze_tracing_layer.so.1", layer, sizeof(layer)))
		sn_diagnose(diagnosis, "Level Zero", SN_VERDICT_NO, "sudo apt install libze1",
			    "%s, but no tracing layer (libze_tracing_layer.so.1)", loader);
	else if (!has_driver)
		sn_diagnose(
		    diagnosis, "Level Zero", SN_VERDICT_NO,
		    has_device ? "install Intel's driver for Level Zero (intel-level-zero-gpu, or "
				 "libze-intel-gpu1)"
			       : NULL,
		    "a loader with its tracing layer, but no driver (libze_intel_gpu.so.1)");
	else
		sn_diagnose(
		    diagnosis, "Level Zero", SN_VERDICT_LIMITED, NULL,
		    "loader %s (%s) with its tracing layer: kernels and copies; 0.6 us more "
		    "a launch, measured on a fake device; no real device has confirmed it",
		    sn_library_version(loader, real), loader);
}

/* Its runtime is not Debian's: where there is none, nothing is missing. */
static void check_sycl(struct sn_diagnosis *diagnosis)
{
	static const char *const names[] = {"libsycl.so", "libsycl.so.9", "libsycl.so.8", NULL};
	char runtime[512], framework[512];
	if (!sn_find_first(names, runtime, sizeof(runtime)))
		return;
	if (sn_find_library("libxptifw.so", framework, sizeof(framework)))
		sn_diagnose(diagnosis, "SYCL", SN_VERDICT_OK, NULL,
			    "%s; submissions by --operators exact", runtime);
	else
		sn_diagnose(diagnosis, "SYCL", SN_VERDICT_LIMITED, NULL,
			    "%s without libxptifw.so: no submissions (--operators exact)", runtime);
}

void sn_diagnose_intel(struct sn_diagnosis *diagnosis)
{
	check_levelzero(diagnosis, check_device(diagnosis));
	check_sycl(diagnosis);
}
