/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of what programs run on: Python, PyTorch, JAX, OpenCL, GPUs and MPI; see doctor.h. Packages are
 * found by their files: importing them would take seconds and run their code.
 */
#include "doctor.h"

#include "base/text.h"

#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_INTERPRETERS = 24, MAX_PATH_CHARS = 2048 };

struct interpreter {
	char path[MAX_PATH_CHARS]; /* as found on PATH */
	char real[MAX_PATH_CHARS];
	int major, minor;
};

struct interpreters {
	struct interpreter items[MAX_INTERPRETERS];
	size_t count;
};

static bool is_elf(const char *path)
{
	char magic[4] = "";
	FILE *file = fopen(path, "re");
	bool is_one = file && fread(magic, 1, 4, file) == 4 && memcmp(magic, "\177ELF", 4) == 0;
	if (file)
		fclose(file);
	return is_one;
}

static bool is_python_name(const char *name)
{
	return sn_text_begins(name, "python") && !name[6 + strspn(name + 6, "0123456789.")];
}

/* The version from the real file's name, or from the interpreter itself. */
static bool find_version(struct interpreter *interpreter)
{
	const char *base = sn_text_base_name(interpreter->real);
	int *major = &interpreter->major, *minor = &interpreter->minor;
	if (sscanf(base, "python%d.%d", major, minor) == 2)
		return true;
	char command[MAX_PATH_CHARS + 32], line[128] = "";
	if (strchr(interpreter->real, '\''))
		return false;
	snprintf(command, sizeof(command), "'%s' --version 2>&1", interpreter->real);
	FILE *pipe = popen(command, "re");
	bool has_line = pipe && fgets(line, sizeof(line), pipe);
	if (pipe)
		pclose(pipe);
	return has_line && sscanf(line, "Python %d.%d", major, minor) == 2;
}

static void add_interpreter(struct interpreters *list, const char *path)
{
	struct interpreter found = {0};
	char real[PATH_MAX];
	if (list->count == MAX_INTERPRETERS || access(path, X_OK) != 0 || !realpath(path, real) ||
	    !is_elf(real))
		return;
	snprintf(found.path, sizeof(found.path), "%.2000s", path);
	snprintf(found.real, sizeof(found.real), "%.2000s", real);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].real, found.real) == 0)
			return;
	if (find_version(&found))
		list->items[list->count++] = found;
}

/* Not glob(3): a folder's name may hold what is a pattern there. */
static int wants_name(const struct dirent *entry)
{
	return is_python_name(entry->d_name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void find_interpreters(struct interpreters *list)
{
	const char *path = getenv("PATH");
	while (path && *path) {
		char folder[1024], file[1400];
		size_t length = strcspn(path, ":");
		snprintf(folder, sizeof(folder), "%.*s", (int)length, path);
		struct dirent **entries = NULL;
		int count = length > 0 ? scandir(folder, &entries, wants_name, by_name) : 0;
		for (int i = 0; i < count; i++) {
			snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
			add_interpreter(list, file);
			free(entries[i]);
		}
		free(entries);
		path += length + (path[length] == ':');
	}
}

static void check_interpreters(struct sn_diagnosis *diagnosis, const struct interpreters *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct interpreter *one = &list->items[i];
		char name[64];
		bool is_known = one->major == 3 && one->minor >= 9 && one->minor <= 14;
		snprintf(name, sizeof(name), "Python %d.%d", one->major, one->minor);
		sn_diagnose(diagnosis, name, sn_verdict_of(is_known), NULL,
			    is_known ? "%s"
				     : "%s: its frames are not known, 3.9 to 3.14 are; it shows as "
				       "C functions",
			    one->path);
	}
	if (list->count == 0)
		sn_diagnose(diagnosis, "interpreter", SN_VERDICT_NO, NULL, "none on PATH");
}

/* A Python package that is found by a file. */
struct package {
	const char *name, *file;
	const char *key; /* what the version stands behind, in quotes */
	const char *fix; /* installs it */
	void (*check)(struct sn_diagnosis *, const char *version, const char *path);
};

static void check_torch(struct sn_diagnosis *diagnosis, const char *version, const char *path)
{
	char name[96];
	int major = 0, minor = 0;
	snprintf(name, sizeof(name), "PyTorch %s", version);
	sscanf(version, "%d.%d", &major, &minor);
	bool is_known = major > 1 || (major == 1 && minor >= 13);
	sn_diagnose(diagnosis, name, sn_verdict_of(is_known), NULL,
		    is_known ? "%s" : "%s: older than 1.13, the first that is tested", path);
}

static void check_jax(struct sn_diagnosis *diagnosis, const char *version, const char *path)
{
	char name[96], folder[MAX_PATH_CHARS];
	snprintf(name, sizeof(name), "JAX %s", version);
	snprintf(folder, sizeof(folder), "%.*s", (int)(sn_text_base_name(path) - path), path);
	sn_diagnose_jax(diagnosis, name, path, folder);
}

static const struct package packages[] = {
    {"PyTorch", "torch/version.py", "__version__", "pip install torch", check_torch},
    {"JAX", "jaxlib/version.py", "_version = ", "pip install jax", check_jax},
};

/* The version in a package's version.py, or "". */
static void read_package_version(const char *path, const char *key, char *version, size_t size)
{
	char line[512];
	FILE *file = fopen(path, "re");
	version[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, key);
		at = at ? strpbrk(at, "'\"") : NULL;
		if (!at)
			continue;
		at[1 + strcspn(at + 1, "'\"")] = '\0';
		snprintf(version, size, "%s", at + 1);
		break;
	}
	if (file)
		fclose(file);
}

/* What a pattern finds, but for files that were found before; whether it finds any. */
static bool check_package_at(struct sn_diagnosis *diagnosis, const struct package *package,
			     const char *pattern)
{
	glob_t files = {0};
	bool has_any = false;
	glob(pattern, 0, NULL, &files);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *path = files.gl_pathv[i];
		char version[64];
		bool is_seen = false;
		for (size_t j = 0; j < diagnosis->count; j++)
			is_seen |= sn_text_begins(diagnosis->checks[j].text, path);
		read_package_version(path, package->key, version, sizeof(version));
		if (is_seen || !*version)
			continue;
		has_any = true;
		package->check(diagnosis, version, path);
	}
	globfree(&files);
	return has_any;
}

static bool check_package_below(struct sn_diagnosis *diagnosis, const struct package *package,
				const char *prefix, size_t length, const char *folder)
{
	char pattern[2 * MAX_PATH_CHARS];
	snprintf(pattern, sizeof(pattern), "%.*s/lib/python3.*/%s/%s",
		 (int)(length < 2000 ? length : 2000), prefix, folder, package->file);
	return check_package_at(diagnosis, package, pattern);
}

static void check_package(struct sn_diagnosis *diagnosis, const struct package *package,
			  const struct interpreters *list)
{
	const char *home = getenv("HOME"), *environment = getenv("VIRTUAL_ENV");
	char pattern[2048], local[2048];
	snprintf(pattern, sizeof(pattern), "/usr/lib/python3/dist-packages/%s", package->file);
	bool has_any = check_package_at(diagnosis, package, pattern);
	for (size_t i = 0; i < 2 * list->count; i++) {
		/* of the link of a virtual environment, and of its target */
		const struct interpreter *one = list->items + i / 2;
		const char *path = i % 2 ? one->real : one->path;
		const char *bin = strstr(path, "/bin/python");
		if (bin)
			has_any |= check_package_below(diagnosis, package, path,
						       (size_t)(bin - path), "*-packages");
	}
	if (environment)
		has_any |=
		    check_package_below(diagnosis, package, environment, SIZE_MAX, "site-packages");
	snprintf(local, sizeof(local), "%.1990s/.local", home ? home : "");
	if (home)
		has_any |=
		    check_package_below(diagnosis, package, local, SIZE_MAX, "site-packages");
	if (!has_any)
		sn_diagnose(diagnosis, package->name, SN_VERDICT_NO, package->fix,
			    "not installed for an interpreter on PATH; "
			    "needed only to measure its programs");
}

void sn_diagnose_python(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Python";
	struct interpreters *list = calloc(1, sizeof(*list));
	if (!list)
		return;
	find_interpreters(list);
	check_interpreters(diagnosis, list);
	for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
		check_package(diagnosis, &packages[i], list);
	free(list);
}

/* As the loader does: of those that LD_LIBRARY_PATH names. */
static bool find_library_by_path(const char *name, char *path, size_t size)
{
	const char *folder = getenv("LD_LIBRARY_PATH");
	while (folder && *folder) {
		size_t length = strcspn(folder, ":");
		snprintf(path, size, "%.*s/%s", (int)length, folder, name);
		if (length && access(path, R_OK) == 0)
			return true;
		folder += length + (folder[length] == ':');
	}
	return false;
}

/* The first of the usual folders that has the library. */
static bool find_library(const char *name, char *path, size_t size)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/usr/lib64",
					      "/usr/lib",
					      "/lib64",
					      "/usr/local/lib",
					      "/usr/local/cuda/lib64",
					      "/opt/rocm/lib"};
	if (find_library_by_path(name, path, size))
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, size, "%s/%s", folders[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

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

static size_t list_vendors(char *text, size_t size)
{
	const char *folder = getenv("OCL_ICD_VENDORS");
	char pattern[1200];
	glob_t files;
	size_t count = 0;
	snprintf(pattern, sizeof(pattern), "%.1000s/*.icd",
		 folder && *folder ? folder : "/etc/OpenCL/vendors");
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
	bool has_loader = find_library("libOpenCL.so.1", loader, sizeof(loader));
	bool has_vendors = has_loader && list_vendors(vendors, sizeof(vendors)) > 0;
	if (!has_loader)
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_NO,
			    "sudo apt install ocl-icd-libopencl1", "no libOpenCL.so.1");
	else if (!has_vendors)
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_NO, "sudo apt install pocl-opencl-icd",
			    "a loader, but no platform in /etc/OpenCL/vendors");
	else if (!file_contains(loader, "OPENCL_LAYERS"))
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_LIMITED,
			    "sudo apt install ocl-icd-libopencl1 (2.3 or later)",
			    "platforms %s; the loader %s has no layers and is too old", vendors,
			    loader);
	else
		sn_diagnose(diagnosis, "OpenCL", SN_VERDICT_OK, NULL,
			    "platforms %s; the loader has layers", vendors);
}

/* Where the driver lets only administrators profile; of /proc no file tells its size. */
static bool is_for_administrators(void)
{
	char line[256];
	FILE *file = fopen("/proc/driver/nvidia/params", "re");
	bool is_restricted = false;
	while (file && fgets(line, sizeof(line), file))
		is_restricted |= strncmp(line, "RmProfilingAdminOnly: 1", 23) == 0;
	if (file)
		fclose(file);
	return is_restricted && geteuid() != 0;
}

static void check_nvidia(struct sn_diagnosis *diagnosis)
{
	char driver[512], path[512];
	bool has_device = access("/dev/nvidiactl", F_OK) == 0;
	if (!find_library("libcuda.so.1", driver, sizeof(driver)))
		sn_diagnose(diagnosis, "NVIDIA", SN_VERDICT_NO, NULL,
			    "%s and no driver library (libcuda.so.1)",
			    has_device ? "a device (/dev/nvidiactl)"
				       : "no device (/dev/nvidiactl)");
	else if (!has_device)
		sn_diagnose(diagnosis, "NVIDIA", SN_VERDICT_NO, NULL,
			    "%s, but no device (/dev/nvidiactl)", driver);
	else if (is_for_administrators())
		sn_diagnose(
		    diagnosis, "NVIDIA", SN_VERDICT_LIMITED,
		    "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee "
		    "/etc/modprobe.d/profiling.conf, and reboot",
		    "the driver lets only administrators profile; calls show as C functions");
	else
		sn_diagnose(diagnosis, "NVIDIA", SN_VERDICT_LIMITED, NULL,
			    "%s; kernels and copies are measured by CUPTI, %s; no real device has "
			    "confirmed it",
			    driver,
			    find_library("libcupti.so", path, sizeof(path)) ||
				    find_library("libcupti.so.13", path, sizeof(path)) ||
				    find_library("libcupti.so.12", path, sizeof(path))
				? path
				: "which the program must bring (PyTorch does)");
}

static bool find_any(const char *const names[2], char *path, size_t size)
{
	return find_library(names[0], path, size) || find_library(names[1], path, size);
}

/* What is measured where there is a device. */
static void check_rocm(struct sn_diagnosis *diagnosis, const char *hip)
{
	static const char *const sdk[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so"},
				 *const registers[] = {"librocprofiler-register.so.0",
						       "librocprofiler-register.so"};
	char path[512];
	if (find_any(sdk, path, sizeof(path)))
		sn_diagnose(diagnosis, "AMD", SN_VERDICT_LIMITED, NULL,
			    "%s; kernels and copies are measured by rocprofiler-sdk, %s; no real "
			    "device has confirmed it",
			    hip, path);
	else if (find_any(registers, path, sizeof(path)))
		sn_diagnose(diagnosis, "AMD", SN_VERDICT_LIMITED,
			    "install rocprofiler-sdk of the same ROCm",
			    "%s; without rocprofiler-sdk calls are measured, and kernels have no "
			    "times; no real device has confirmed it",
			    hip);
	else
		sn_diagnose(diagnosis, "AMD", SN_VERDICT_LIMITED, NULL,
			    "%s; no librocprofiler-register.so (ROCm 6.2 and later): kernels are "
			    "measured through OpenCL, HIP calls show as C functions",
			    hip);
}

static void check_amd(struct sn_diagnosis *diagnosis)
{
	static const char *const names[] = {"libamdhip64.so", "libamdhip64.so.6"};
	char hip[512];
	bool has_device = access("/dev/kfd", F_OK) == 0;
	bool has_library =
	    find_any(names, hip, sizeof(hip)) || find_library("libamdhip64.so.7", hip, sizeof(hip));
	if (!has_device)
		sn_diagnose(diagnosis, "AMD", SN_VERDICT_NO, NULL, "no device (/dev/kfd) and %s",
			    has_library ? hip : "no HIP library");
	else if (access("/dev/kfd", R_OK | W_OK))
		sn_diagnose(diagnosis, "AMD", SN_VERDICT_NO,
			    "sudo usermod -aG render,video $USER, and log in again",
			    "a device (/dev/kfd) that you may not use");
	else
		check_rocm(diagnosis, has_library ? hip : "HIP must come with the program");
}

static void check_levelzero(struct sn_diagnosis *diagnosis)
{
	char loader[512], layer[512], driver[512];
	const char *others = getenv("ZE_ENABLE_ALT_DRIVERS");
	bool has_driver =
	    (others && *others) || find_library("libze_intel_gpu.so.1", driver, sizeof(driver));
	if (!find_library("libze_loader.so.1", loader, sizeof(loader)))
		sn_diagnose(diagnosis, "Level Zero", SN_VERDICT_NO, "sudo apt install libze1",
			    "no loader (libze_loader.so.1)");
	else if (!find_library("libze_tracing_layer.so.1", layer, sizeof(layer)))
		sn_diagnose(diagnosis, "Level Zero", SN_VERDICT_NO, "sudo apt install libze1",
			    "%s, but no tracing layer (libze_tracing_layer.so.1)", loader);
	else if (!has_driver)
		sn_diagnose(
		    diagnosis, "Level Zero", SN_VERDICT_NO, "sudo apt install intel-level-zero-gpu",
		    "a loader with its tracing layer, but no driver (libze_intel_gpu.so.1)");
	else
		sn_diagnose(diagnosis, "Level Zero", SN_VERDICT_LIMITED, NULL,
			    "%s with its tracing layer; kernels and copies are measured; no real "
			    "device has confirmed it",
			    loader);
}

/* Its runtime is not Debian's: where there is none, nothing is missing. */
static void check_sycl(struct sn_diagnosis *diagnosis)
{
	static const char *const names[] = {"libsycl.so", "libsycl.so.9", "libsycl.so.8"};
	char runtime[512] = "", framework[512];
	for (size_t index = 0; index < sizeof(names) / sizeof(*names) && !*runtime; index++)
		if (!find_library(names[index], runtime, sizeof(runtime)))
			*runtime = '\0';
	if (!*runtime)
		return;
	if (find_library("libxptifw.so", framework, sizeof(framework)))
		sn_diagnose(diagnosis, "SYCL", SN_VERDICT_OK, NULL,
			    "%s; submissions by --operators exact", runtime);
	else
		sn_diagnose(diagnosis, "SYCL", SN_VERDICT_LIMITED, NULL,
			    "%s without libxptifw.so: no submissions (--operators exact)", runtime);
}

void sn_diagnose_devices(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Devices";
	check_opencl(diagnosis);
	check_levelzero(diagnosis);
	check_sycl(diagnosis);
	check_nvidia(diagnosis);
	check_amd(diagnosis);
}

void sn_diagnose_ranks(struct sn_diagnosis *diagnosis)
{
	/* Debian, and who builds it himself; Open MPI 3 to 5 */
	static const char *const names[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"};
	char library[512], all[1024] = "";
	diagnosis->group = "Ranks";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t used = strlen(all);
		if (find_library(names[i], library, sizeof(library)))
			snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", library);
	}
	if (*all)
		sn_diagnose(diagnosis, "MPI", SN_VERDICT_OK, NULL, "%s", all);
	else if (find_library("libmpi_abi.so.0", library, sizeof(library)))
		sn_diagnose(diagnosis, "MPI", SN_VERDICT_LIMITED, NULL,
			    "%s; of programs that are linked with this one calls are measured, "
			    "and no messages",
			    library);
	else
		sn_diagnose(diagnosis, "MPI", SN_VERDICT_NO, NULL,
			    "neither MPICH (or what has its interface) nor Open MPI where the "
			    "loader looks");
}
