/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, and the order in which their sources of names are asked; see symbolize.h. The sources
 * themselves are elf_symbols.c, elf_plt.c, elf_unwind.c and dwarf.c; what is known already is
 * symbol_cache.c.
 */
#include "symbolize.h"
#include "base/safe_path.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/elf/debug_file.h"
#include "binary/demangle/demangle.h"
#include "binary/dwarf/dwarf.h"
#include "binary/elf/elf_symbols.h"
#include "binary/gpu/gpu_locate.h"
#include "perf_map.h"
#include "string_pool.h"
#include "binary/structure/nest.h"
#include "symbol_cache.h"
#include "format/measurement/measurement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define DEBUG_PATH_DEFAULT "/usr/lib/debug"

struct module {
	char *path;
	uint8_t build_id[SN_BUILD_ID_BYTES_MAX];
	size_t build_id_bytes;
	uint32_t flags;
	bool is_open; /* tried to */
	struct sn_symbol_module_info info;
	struct sn_elf_file *file;   /* the module's own, or NULL */
	struct sn_elf_file *debug;  /* its separate debug file, or NULL */
	struct sn_elf_file *shared; /* what the debug information shares with others, or NULL */
	struct sn_dwarf *dwarf;	    /* or NULL */
	struct sn_code *code;	    /* or NULL: not needed so far, or of no known machine */
	bool is_code_open;	    /* tried to */
	struct sn_perf_map *map;    /* instead of files, or NULL */
	struct sn_gpu_binary *gpu;  /* what the module's own file is, or NULL */
	struct sn_string_pool pool;
	struct sn_symbol_known *known; /* by ascending address */
	size_t known_count, known_capacity;
	bool is_cache_read;
	bool is_changed; /* since the cache was read or written */
	struct sn_symbol_cache
	    cache; /* what its frames and strings stay in; its `known` is ours now */
	/* files read or looked for, as they were; paths are the pool's or the cache's */
	struct sn_symbol_dependency *dependencies;
	size_t dependency_count, dependency_capacity;
};

struct sn_symbolizer {
	char *cache_folder; /* "" none */
	char *debug_path;
	char *sysroot;
	bool no_loops;
	struct module **modules;
	size_t module_capacity;
	uint32_t module_count;
};

static const struct sn_symbol_frame nothing;

static char *default_cache_folder(void)
{
	char *folder = NULL;
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (base && base[0] == '/')
		return asprintf(&folder, "%s/sonde", base) < 0 ? NULL : folder;
	if (home && home[0] == '/')
		return asprintf(&folder, "%s/.cache/sonde", home) < 0 ? NULL : folder;
	return strdup("");
}

int sn_symbolizer_new(const struct sn_symbolizer_options *options,
		      struct sn_symbolizer **symbolizer, struct sn_error *error)
{
	static const struct sn_symbolizer_options defaults;
	const char *debug_path = getenv("SONDE_DEBUG_PATH");
	struct sn_symbolizer *created = calloc(1, sizeof(*created));
	if (!created)
		return sn_fail_memory(error);
	if (!options)
		options = &defaults;
	if (options->debug_path)
		debug_path = options->debug_path;
	created->cache_folder =
	    options->cache_folder ? strdup(options->cache_folder) : default_cache_folder();
	/* root with the home of another user: names in it lead where he wants */
	if (created->cache_folder && *created->cache_folder &&
	    !sn_path_is_guarded(created->cache_folder))
		*created->cache_folder = '\0';
	created->debug_path = strdup(debug_path ? debug_path : DEBUG_PATH_DEFAULT);
	created->sysroot = strdup(options->sysroot ? options->sysroot : "");
	created->no_loops = options->no_loops;
	if (!created->cache_folder || !created->debug_path || !created->sysroot) {
		sn_symbolizer_free(created);
		return sn_fail_memory(error);
	}
	*symbolizer = created;
	return 0;
}

static void module_free(struct module *module)
{
	if (!module)
		return;
	sn_code_free(module->code);
	sn_perf_map_free(module->map);
	sn_gpu_binary_free(module->gpu);
	sn_dwarf_free(module->dwarf);
	sn_elf_file_free(module->shared);
	sn_elf_file_free(module->debug);
	sn_elf_file_free(module->file);
	sn_string_pool_release(&module->pool);
	sn_symbol_cache_release(&module->cache);
	free(module->known);
	free(module->dependencies);
	free(module->path);
	free(module);
}

void sn_symbolizer_free(struct sn_symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	if (symbolizer->cache_folder)
		sn_symbolizer_save(symbolizer, NULL);
	for (uint32_t i = 0; i < symbolizer->module_count; i++)
		module_free(symbolizer->modules[i]);
	free(symbolizer->modules);
	free(symbolizer->cache_folder);
	free(symbolizer->debug_path);
	free(symbolizer->sysroot);
	free(symbolizer);
}

int sn_symbolizer_module(struct sn_symbolizer *symbolizer, const char *path,
			 const uint8_t *build_id, size_t build_id_bytes, uint32_t flags,
			 uint32_t *module)
{
	struct module *created = calloc(1, sizeof(*created));
	if (created)
		created->path = strdup(path);
	if (!created || !created->path ||
	    sn_vec_reserve(&symbolizer->modules, &symbolizer->module_capacity,
			   symbolizer->module_count + 1ull) < 0) {
		module_free(created);
		return SN_ERR_MEMORY;
	}
	created->build_id_bytes =
	    build_id_bytes < SN_BUILD_ID_BYTES_MAX ? build_id_bytes : SN_BUILD_ID_BYTES_MAX;
	if (created->build_id_bytes > 0)
		memcpy(created->build_id, build_id, created->build_id_bytes);
	created->flags = flags;
	*module = symbolizer->module_count;
	symbolizer->modules[symbolizer->module_count++] = created;
	return 0;
}

/* ---- what is kept between runs ---- */

/* The path without " (deleted)", below the sysroot. False if it is too long. */
static bool module_path(const struct sn_symbolizer *symbolizer, const struct module *module,
			char *path, bool *is_deleted)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(module->path);
	*is_deleted = length > sizeof(deleted) - 1 &&
		      strcmp(module->path + length - (sizeof(deleted) - 1), deleted) == 0;
	if (*is_deleted)
		length -= sizeof(deleted) - 1;
	return snprintf(path, PATH_MAX, "%s%.*s", symbolizer->sysroot, (int)length, module->path) <
	       PATH_MAX;
}

/* Fills in the key for the module's cache file; options is the caller's to free. False: none. */
static bool cache_key(const struct sn_symbolizer *symbolizer, const struct module *module,
		      struct sn_symbol_cache_key *key, char *path, char **options)
{
	bool is_deleted;
	*options = NULL;
	if (symbolizer->cache_folder[0] == '\0' ||
	    (module->flags & (SN_MODULE_ANONYMOUS | SN_MODULE_PERF_MAP)) ||
	    !module_path(symbolizer, module, path, &is_deleted) ||
	    (module->build_id_bytes == 0 && (is_deleted || (module->flags & SN_MODULE_VDSO))) ||
	    asprintf(options, "%s\n%s", symbolizer->debug_path, symbolizer->sysroot) < 0)
		return false;
	*key = (struct sn_symbol_cache_key){symbolizer->cache_folder, *options, path,
					    module->build_id, module->build_id_bytes};
	return true;
}

static void read_cache(const struct sn_symbolizer *symbolizer, struct module *module)
{
	struct sn_symbol_cache_key key;
	char path[PATH_MAX], *options;
	module->is_cache_read = true;
	if (cache_key(symbolizer, module, &key, path, &options) &&
	    sn_symbol_cache_load(&key, &module->cache)) {
		module->known = module->cache.known;
		module->known_count = module->known_capacity = module->cache.known_count;
		module->cache.known = NULL;
		module->info.status = module->cache.status;
		module->info.debug_file = module->cache.debug_file;
	}
	free(options);
}

/* Notes a file that the outcome depends on. */
static void add_dependency(void *data, const char *path)
{
	struct module *module = data;
	struct sn_symbol_dependency dependency = {.path =
						      sn_string_pool_string(&module->pool, path)};
	if (!dependency.path)
		return;
	sn_symbol_dependency_read(&dependency);
	(void)sn_vec_push(&module->dependencies, &module->dependency_capacity,
			  &module->dependency_count, dependency);
}

static int write_cache(const struct sn_symbolizer *symbolizer, struct module *module,
		       struct sn_error *error)
{
	struct sn_symbol_cache_key key;
	char path[PATH_MAX], *options;
	int result = 0;
	/* without the module's own file the results may be poorer than they could be */
	if (!module->is_changed || !module->file)
		return 0;
	if (cache_key(symbolizer, module, &key, path, &options)) {
		struct sn_symbol_cache cache = {.status = module->info.status,
						.debug_file = module->info.debug_file,
						.known = module->known,
						.known_count = module->known_count,
						.dependencies = module->dependencies,
						.dependency_count = module->dependency_count};
		result = sn_symbol_cache_save(&key, &cache, error);
	}
	free(options);
	module->is_changed = false;
	return result;
}

int sn_symbolizer_save(struct sn_symbolizer *symbolizer, struct sn_error *error)
{
	int result = 0;
	for (uint32_t i = 0; i < symbolizer->module_count; i++) {
		int one = write_cache(symbolizer, symbolizer->modules[i], error);
		if (one < 0)
			result = one;
	}
	return result;
}

/* ---- opening a module's files ---- */

/* The kernel's shared object, as it is mapped into this very process. */
static struct sn_elf_file *open_own_vdso(void)
{
	struct sn_elf_file *file = NULL;
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	FILE *maps = base ? fopen("/proc/self/maps", "re") : NULL;
	char line[512];
	while (maps && !file && fgets(line, sizeof(line), maps)) {
		unsigned long start, end;
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == base)
			sn_elf_file_from_memory((const void *)start, end - start, false, &file,
						NULL);
	}
	if (maps)
		fclose(maps);
	return file;
}

static bool is_measured_file(const struct module *module, const struct sn_elf_file *file)
{
	if (module->build_id_bytes == 0)
		return true;
	return file->build_id_bytes >= module->build_id_bytes &&
	       memcmp(file->build_id, module->build_id, module->build_id_bytes) == 0;
}

static void open_own_file(const struct sn_symbolizer *symbolizer, struct module *module, char *path)
{
	bool is_deleted;
	if (!module_path(symbolizer, module, path, &is_deleted))
		path[0] = '\0';
	module->info.status = SN_SYMBOL_NOT_FOUND;
	/* what lies there now is another file, unless the build id says otherwise */
	if (is_deleted && module->build_id_bytes == 0)
		return;
	if (module->build_id_bytes == 0)
		add_dependency(module, path);
	if (module->flags & SN_MODULE_VDSO)
		module->file = open_own_vdso();
	else if (sn_elf_file_open(path, &module->file, NULL) == SN_ERR_FORMAT)
		module->info.status = SN_SYMBOL_UNSUPPORTED;
	if (module->file && !is_measured_file(module, module->file)) {
		sn_elf_file_free(module->file);
		module->file = NULL;
		module->info.status = is_deleted ? SN_SYMBOL_NOT_FOUND : SN_SYMBOL_DIFFERS;
	}
}

/* False where the file is no GPU binary. One that cannot be read has no symbols. */
static bool open_gpu(struct module *module)
{
	if (!module->file || !sn_gpu_is_binary(module->file))
		return false;
	module->info.status = SN_SYMBOL_UNSUPPORTED;
	if (sn_gpu_binary_read(module->file, &module->gpu, NULL) == 0) {
		bool has_lines =
		    sn_gpu_binary_read_lines(module->gpu) == 0 && module->gpu->line_count > 0;
		module->info.status = has_lines ? SN_SYMBOL_LINES : SN_SYMBOL_SYMBOLS;
	}
	return true;
}

static bool has_debug_info(struct sn_elf_file *file)
{
	return file && sn_elf_file_contents(file, ".debug_info").size > 0;
}

static void open_files(const struct sn_symbolizer *symbolizer, struct module *module)
{
	char path[PATH_MAX], debug_path[PATH_MAX];
	struct sn_debug_search search = {symbolizer->debug_path, symbolizer->sysroot,
					 add_dependency, module};
	module->is_open = true;
	if (module->flags & SN_MODULE_ANONYMOUS) {
		module->info.status = SN_SYMBOL_NO_FILE;
		return;
	}
	if (module->flags & SN_MODULE_PERF_MAP) {
		module->info.status = sn_perf_map_open(module->path, &module->map);
		return;
	}
	open_own_file(symbolizer, module, path);
	if (open_gpu(module))
		return;
	const uint8_t *build_id = module->build_id;
	size_t build_id_bytes = module->build_id_bytes;
	if (module->file) {
		build_id = module->file->build_id;
		build_id_bytes = module->file->build_id_bytes;
	}
	if (!has_debug_info(module->file))
		module->debug = sn_debug_file_find(&search, module->file, path, build_id,
						   build_id_bytes, debug_path);
	struct sn_elf_file *with_info = has_debug_info(module->file) ? module->file : module->debug;
	if (has_debug_info(with_info)) {
		const char *its_path = with_info == module->file ? path : debug_path;
		module->shared = sn_debug_file_find_shared(&search, with_info, its_path);
		module->dwarf = sn_dwarf_open(with_info, module->shared,
					      module->file ? module->file : with_info);
		if (module->dwarf)
			sn_dwarf_use_split(module->dwarf, &search, its_path);
	}
	if (module->debug)
		module->info.debug_file = sn_string_pool_string(&module->pool, debug_path);
	if (module->dwarf)
		module->info.status = SN_SYMBOL_LINES;
	else if (module->debug ||
		 (module->file && (sn_elf_file_section_of_type(module->file, SHT_SYMTAB) ||
				   sn_elf_file_section_of_type(module->file, SHT_DYNSYM))))
		module->info.status = SN_SYMBOL_SYMBOLS;
	else if (module->file)
		module->info.status = SN_SYMBOL_STRIPPED;
}

/* ---- names ---- */

/* The readable name of a symbol; derived once per symbol. */
static const char *short_name(struct module *module, const char *pooled_symbol)
{
	struct sn_pooled *entry = sn_pooled_of(pooled_symbol);
	if (!entry->derived) {
		char *name = sn_demangle_short(pooled_symbol);
		entry->derived = sn_string_pool_string(&module->pool, name);
		free(name);
	}
	return entry->derived;
}

static void name_frame(struct module *module, struct sn_symbol_frame *frame, const char *symbol)
{
	const char *linkage_name = sn_string_pool_string(&module->pool, symbol);
	if (!linkage_name)
		return;
	const char *name = short_name(module, linkage_name);
	frame->name = name ? name : linkage_name;
	frame->linkage_name = strcmp(frame->name, linkage_name) != 0 ? linkage_name : NULL;
}

static void name_plt_frame(struct module *module, struct sn_symbol_frame *frame, const char *symbol)
{
	char *name = NULL;
	name_frame(module, frame, symbol);
	if (!frame->name || asprintf(&name, "%s@plt", frame->name) < 0)
		return;
	frame->name = sn_string_pool_string(&module->pool, name);
	free(name);
}

static int locate_by_symbol(struct module *module, const struct sn_elf_hit *hit,
			    struct sn_symbol_location *location)
{
	location->frames = &nothing;
	location->depth = 1;
	location->function_start = hit->start;
	if (!hit->name)
		return 0;
	struct sn_symbol_frame *frame = sn_string_pool_allocate(&module->pool, sizeof(*frame));
	if (!frame)
		return SN_ERR_MEMORY;
	if (hit->is_plt)
		name_plt_frame(module, frame, hit->name);
	else
		name_frame(module, frame, hit->name);
	location->frames = frame;
	return 0;
}

static bool is_mangled(const char *symbol)
{
	static const char *const prefixes[] = {"_Z", "_R", "$s", "$S", "_$s", "_$S", "_T0"};
	for (size_t i = 0; symbol && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(symbol, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/*
 * Makes what the debug information says readable, and adds what only the symbol table knows: the
 * name of a function written in assembly, and the symbol of one whose entry lacks it.
 */
static void complete_location(struct module *module, const struct sn_elf_hit *hit,
			      struct sn_symbol_location *location)
{
	struct sn_symbol_frame *frames = (struct sn_symbol_frame *)location->frames;
	bool is_same = location->function_start == 0 || hit->start == location->function_start;
	if (hit->start != 0 && location->function_start == 0)
		location->function_start = hit->start;
	if (!frames[0].linkage_name && hit->name && is_same && !hit->is_plt &&
	    (!frames[0].name || is_mangled(hit->name)))
		frames[0].linkage_name = hit->name;
	/* malloc rather than __libc_malloc, where they are one function */
	if (!is_mangled(frames[0].linkage_name) && frames[0].name && hit->name && !hit->is_plt &&
	    is_same && frames[0].name[0] == '_' && hit->name[0] != '_')
		frames[0].linkage_name = hit->name;
	for (uint32_t i = 0; i < location->depth; i++) {
		/* a symbol that is another plain name (__GI_innetgr) is not for people */
		bool is_named = frames[i].name && !is_mangled(frames[i].linkage_name);
		if (frames[i].linkage_name && (!is_named || frames[i].linkage_name == hit->name)) {
			name_frame(module, &frames[i], frames[i].linkage_name);
		} else if (frames[i].name && strpbrk(frames[i].name, "<(")) {
			char *name = sn_demangle_shorten(frames[i].name);
			const char *kept = sn_string_pool_string(&module->pool, name);
			if (kept)
				frames[i].name = kept;
			free(name);
		}
	}
}

/* ---- resolving ---- */

static void find_symbols(struct module *module, const uint64_t *addresses, size_t count,
			 struct sn_elf_hit *hits, struct sn_elf_near *near)
{
	struct sn_elf_file *const files[] = {module->file, module->debug};
	bool has_table = false;
	for (size_t i = 0; i < 2; i++) {
		struct sn_elf_section *table =
		    files[i] ? sn_elf_file_section_of_type(files[i], SHT_SYMTAB) : NULL;
		if (sn_elf_section_contents(files[i], table).size == 0)
			continue;
		sn_elf_symbols_resolve(files[i], table, addresses, count, hits, near);
		has_table = true;
	}
	if (!module->file)
		return;
	if (!has_table)
		sn_elf_symbols_resolve(module->file,
				       sn_elf_file_section_of_type(module->file, SHT_DYNSYM),
				       addresses, count, hits, near);
	sn_elf_plt_resolve(module->file, addresses, count, hits);
	sn_elf_unwind_resolve(module->file, addresses, count, hits);
}

static int resolve_by_map(struct module *module, const uint64_t *addresses, size_t count,
			  struct sn_symbol_known *known)
{
	struct sn_perf_map_name *names =
	    sn_string_pool_allocate(&module->pool, count * sizeof(*names));
	int result = names ? sn_perf_map_find(module->map, addresses, count, &module->pool, names)
			   : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && !result; i++) {
		known[i].address = addresses[i];
		known[i].location = (struct sn_symbol_location){
		    .frames = &names[i].frame, .depth = 1, .function_start = names[i].start};
	}
	return result;
}

/* With their loops. */
static int resolve_by_gpu(struct module *module, const uint64_t *addresses, size_t count,
			  struct sn_symbol_known *known)
{
	struct sn_symbol_location *locations = calloc(count, sizeof(*locations));
	int result = SN_ERR_MEMORY;
	if (locations)
		result =
		    sn_gpu_locate(module->gpu, true, addresses, count, &module->pool, locations);
	for (size_t i = 0; i < count && result == 0; i++) {
		known[i].address = addresses[i];
		known[i].location = locations[i];
		if (locations[i].depth == 0)
			known[i].location =
			    (struct sn_symbol_location){.frames = &nothing, .depth = 1};
	}
	free(locations);
	return result;
}

/* Resolves addresses that are not known yet; they ascend and differ. */
static int resolve(struct module *module, const uint64_t *addresses, size_t count,
		   struct sn_symbol_known *known)
{
	if (module->map)
		return resolve_by_map(module, addresses, count, known);
	if (module->gpu)
		return resolve_by_gpu(module, addresses, count, known);
	int result = 0;
	struct sn_elf_hit *hits = calloc(count, sizeof(*hits));
	struct sn_elf_near *near = calloc(count, sizeof(*near));
	struct sn_symbol_location *locations = calloc(count, sizeof(*locations));
	if (!hits || !near || !locations)
		result = SN_ERR_MEMORY;
	else
		find_symbols(module, addresses, count, hits, near);
	if (result == 0 && module->dwarf)
		result =
		    sn_dwarf_resolve(module->dwarf, addresses, count, &module->pool, locations);
	for (size_t i = 0; i < count && result == 0; i++) {
		known[i].address = addresses[i];
		known[i].location = locations[i];
		if (locations[i].depth > 0)
			complete_location(module, &hits[i], &known[i].location);
		else
			result = locate_by_symbol(module, &hits[i], &known[i].location);
	}
	free(locations);
	free(near);
	free(hits);
	return result;
}

/* ---- loops ---- */

static int resolve_plain(void *data, const uint64_t *addresses, size_t count,
			 struct sn_symbol_location *out)
{
	struct sn_symbol_known *known = calloc(count + 1, sizeof(*known));
	int result = known ? resolve(data, addresses, count, known) : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && result == 0; i++)
		out[i] = known[i].location;
	free(known);
	return result;
}

static int add_loops(struct module *module, const uint64_t *addresses, size_t count,
		     struct sn_symbol_known *known)
{
	if (!module->is_code_open && module->file &&
	    sn_code_open(module->file, module->debug, &module->code) < 0)
		return SN_ERR_MEMORY;
	module->is_code_open = true;
	if (!module->code)
		return 0;
	struct sn_symbol_location *locations = malloc(count * sizeof(*locations));
	if (!locations)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
		locations[i] = known[i].location;
	int result = sn_nest_locate(module->code, addresses, count, resolve_plain, module,
				    &module->pool, locations);
	for (size_t i = 0; i < count; i++)
		known[i].location = locations[i];
	free(locations);
	return result;
}

/* The cache always stores loops; they are removed from results if not requested. */
static int without_loops(struct module *module, struct sn_symbol_location *location)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < location->depth; i++)
		kept += location->frames[i].kind != SN_SYMBOL_LOOP;
	if (kept == location->depth)
		return 0;
	struct sn_symbol_frame *frames =
	    sn_string_pool_allocate(&module->pool, kept * sizeof(*frames));
	if (!frames)
		return SN_ERR_MEMORY;
	kept = 0;
	for (uint32_t i = 0; i < location->depth; i++)
		if (location->frames[i].kind != SN_SYMBOL_LOOP)
			frames[kept++] = location->frames[i];
	location->frames = frames;
	location->depth = kept;
	return 0;
}

SN_SORT_BY(sort_known, struct sn_symbol_known, const void *, SN_ORDER(a->address, b->address));

/* Resolves what of addresses[count] is not known and makes it known. */
static int learn(const struct sn_symbolizer *symbolizer, struct module *module,
		 const uint64_t *addresses, size_t count)
{
	int result = 0;
	size_t missing_count = 0, at = 0;
	uint64_t *missing = malloc(count * sizeof(*missing));
	if (!missing)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count; i++) {
		while (at < module->known_count && module->known[at].address < addresses[i])
			at++;
		bool is_known =
		    at < module->known_count && module->known[at].address == addresses[i];
		module->info.cached_count += is_known;
		if (!is_known && (missing_count == 0 || missing[missing_count - 1] != addresses[i]))
			missing[missing_count++] = addresses[i];
	}
	if (missing_count > 0) {
		if (!module->is_open)
			open_files(symbolizer, module);
		result = sn_vec_reserve(&module->known, &module->known_capacity,
					module->known_count + missing_count) < 0
			     ? SN_ERR_MEMORY
			     : resolve(module, missing, missing_count,
				       module->known + module->known_count);
		bool wants_loops = !symbolizer->no_loops || symbolizer->cache_folder[0] != '\0';
		if (result == 0 && wants_loops)
			result = add_loops(module, missing, missing_count,
					   module->known + module->known_count);
		if (result == 0) {
			module->known_count += missing_count;
			module->is_changed = true;
			sort_known(module->known, module->known_count, NULL);
		}
	}
	free(missing);
	return result;
}

int sn_symbolizer_lookup(struct sn_symbolizer *symbolizer, uint32_t module,
			 const uint64_t *addresses, size_t count, struct sn_symbol_location *out)
{
	if (module >= symbolizer->module_count)
		return SN_ERR_ARGUMENT;
	for (size_t i = 1; i < count; i++)
		if (addresses[i] < addresses[i - 1])
			return SN_ERR_ARGUMENT;
	if (count == 0)
		return 0;
	struct module *of = symbolizer->modules[module];
	if (!of->is_cache_read)
		read_cache(symbolizer, of);
	int result = learn(symbolizer, of, addresses, count);
	for (size_t i = 0, at = 0; i < count && result == 0; i++) {
		while (of->known[at].address < addresses[i])
			at++;
		out[i] = of->known[at].location;
		if (symbolizer->no_loops && without_loops(of, &out[i]) < 0)
			return SN_ERR_MEMORY;
		of->info.asked_count++;
		of->info.unnamed_count += !out[i].frames[0].name;
		of->info.lineless_count += out[i].frames[out[i].depth - 1].line == 0;
	}
	return result;
}

void sn_symbolizer_forget(struct sn_symbolizer *symbolizer, uint32_t module)
{
	if (module >= symbolizer->module_count)
		return;
	struct module *of = symbolizer->modules[module];
	if (of->dwarf)
		sn_dwarf_forget(of->dwarf);
	free(of->known);
	of->known = NULL;
	of->known_count = of->known_capacity = 0;
	of->dependency_count = 0;
	of->info.debug_file = NULL;
	sn_string_pool_release(&of->pool);
	of->is_changed = false;
}

void sn_symbolizer_module_info(const struct sn_symbolizer *symbolizer, uint32_t module,
			       struct sn_symbol_module_info *info)
{
	*info = module < symbolizer->module_count ? symbolizer->modules[module]->info
						  : (struct sn_symbol_module_info){0};
}

const char *sn_symbol_status_text(enum sn_symbol_status status)
{
	static const char *const texts[] = {"not needed",
					    "symbols and debug information",
					    "symbols, but no debug information",
					    "stripped, and no debug file was found",
					    "the file is gone or cannot be read",
					    "the file has changed since it was measured",
					    "not a 64-bit little-endian ELF file",
					    "memory without a file",
					    "the file belongs to another user",
					    "only the first 256 MiB of it are read"};
	return status < sizeof(texts) / sizeof(texts[0]) ? texts[status] : "unknown";
}
