/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of devices: OpenCL, the vendors (doctor_nvidia.c, doctor_amd.c, doctor_intel.c), and other accelerators, whose calls the user can
 * describe. */
#include "doctor.h"

#include "base/text.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A loader that has layers looks for this variable. */
static bool file_contains(const char *path, const char *needle)
{
	struct stat status;
	FILE *file = fopen(path, "re");
	bool is_small = file && !fstat(fileno(file), &status) && status.st_size > 0 &&
			status.st_size < 64 << 20;
	char *bytes = is_small ? malloc((size_t)status.st_size) : NULL;
	size_t got = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
	bool is_found = got > 0 && memmem(bytes, got, needle, strlen(needle));
	free(bytes);
	if (file)
		fclose(file);
	return is_found;
}

static const char *vendors_folder(void)
{
	const char *folder = getenv("OCL_ICD_VENDORS");
	return folder && *folder ? folder : "/etc/OpenCL/vendors";
}

static size_t list_vendors(char *text, size_t size)
{
	const char *folder = getenv("OCL_ICD_VENDORS");
	char pattern[1200];
	glob_t files;
	size_t count = 0;
	if (folder && *folder)
		snprintf(pattern, sizeof(pattern), "%.1000s/*.icd", folder);
	else
		sn_doctor_path(pattern, sizeof(pattern), "/etc/OpenCL/vendors/*.icd");
	text[0] = '\0';
	if (glob(pattern, 0, NULL, &files) != 0)
		return 0;
	for (; count < files.gl_pathc; count++) {
		const char *base = sn_text_base_name(files.gl_pathv[count]);
		size_t used = strlen(text);
		snprintf(text + used, size - used, "%s%.*s", used ? ", " : "",
			 (int)strcspn(base, "."), base);
	}
	globfree(&files);
	return count;
}

static void check_opencl(struct sn_diagnosis *diagnosis)
{
	char loader[512], vendors[160];
	bool has_loader = sn_find_library("libOpenCL.so.1", loader, sizeof(loader));
	bool has_vendors = has_loader && list_vendors(vendors, sizeof(vendors)) > 0;
	if (!has_loader)
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_NO,
			    "sudo apt install ocl-icd-libopencl1", "no libOpenCL.so.1");
	else if (!has_vendors)
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_NO, "sudo apt install pocl-opencl-icd",
			    "a loader, but no platform in %s", vendors_folder());
	else if (!file_contains(loader, "OPENCL_LAYERS"))
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_LIMITED,
			    "sudo apt install ocl-icd-libopencl1 (2.3 or later)",
			    "platforms %s; the loader %s has no layers and is too old", vendors,
			    loader);
	else
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_OK, NULL,
			    "platforms %s; the loader has layers; 0.3 to 0.6 us more a launch, "
			    "measured with PoCL on a processor",
			    vendors);
}

/* Devices of the kernel's class for accelerators, which have no adapter: "accel0 (ivpu)". */
static size_t list_accelerators(char *text, size_t size)
{
	char pattern[512];
	glob_t files;
	size_t count = 0;
	*text = '\0';
	sn_doctor_path(pattern, sizeof(pattern), "/sys/class/accel/accel*");
	if (glob(pattern, 0, NULL, &files))
		return 0;
	for (; count < files.gl_pathc; count++) {
		char link[PATH_MAX], target[PATH_MAX];
		size_t used = strlen(text);
		snprintf(link, sizeof(link), "%.4000s/device/driver", files.gl_pathv[count]);
		ssize_t length = readlink(link, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		snprintf(text + used, size - used, "%s%s (%s)", used ? ", " : "",
			 sn_text_base_name(files.gl_pathv[count]),
			 length > 0 ? sn_text_base_name(target) : "unknown driver");
	}
	globfree(&files);
	return count;
}

static void check_others(struct sn_diagnosis *diagnosis)
{
	char all[200];
	if (list_accelerators(all, sizeof(all)))
		sn_diagnose(diagnosis, "other accelerators", SN_VERDICT_LIMITED,
			    "sonde run --gpu-api FILE (sonde-gpu-api(5))",
			    "%s: no adapter; calls of the library that you describe", all);
	else
		sn_diagnose(diagnosis, "other accelerators", SN_VERDICT_OK,
			    "sonde run --gpu-api FILE (sonde-gpu-api(5))",
			    "none in /sys/class/accel; calls of any library that you describe");
}

void sn_diagnose_devices(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Devices";
	check_opencl(diagnosis);
	sn_diagnose_nvidia(diagnosis);
	sn_diagnose_amd(diagnosis);
	sn_diagnose_intel(diagnosis);
	check_others(diagnosis);
}
