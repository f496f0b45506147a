/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end; see code.h. */
#include "code.h"
#include "code_private.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/elf/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

/* A place where something says that a function begins. */
struct start {
	uint64_t at, end; /* end is `at` where unknown */
	const char *name;
	uint32_t group;
	uint8_t rank; /* what to believe first, of several at one place */
	bool is_local;
	bool in_frame; /* as in sn_code_function */
	uint64_t exceptions;
};

enum { RANK_FUNCTION, RANK_LABEL, RANK_FRAME, RANK_GUESS };

struct finding {
	struct sn_code *code;
	struct start *starts;
	size_t count, capacity;
	size_t function_capacity;
	bool failed;
};

static void add_start(struct finding *finding, struct start start)
{
	const struct sn_code_section *section = sn_code_section_at(finding->code, start.at);
	if (!section || section->is_plt || start.at % finding->code->alignment != 0)
		return;
	if (start.end > section->end || start.end < start.at)
		start.end = start.at;
	finding->failed |=
	    sn_vec_push(&finding->starts, &finding->capacity, &finding->count, start) < 0;
}

/* ---- symbols ---- */

/* The symbols of functions: of `symbols`, or the dynamic ones of `file`; *of is their file. */
static struct sn_elf_section *symbol_table(struct sn_elf_file *file, struct sn_elf_file *symbols,
					   struct sn_elf_file **of)
{
	struct sn_elf_file *const files[] = {file, symbols};
	for (size_t i = 0; i < 2; i++) {
		struct sn_elf_section *table =
		    files[i] ? sn_elf_file_section_of_type(files[i], SHT_SYMTAB) : NULL;
		*of = files[i];
		if (table && sn_elf_section_contents(files[i], table).size > 0)
			return table;
	}
	*of = file;
	return sn_elf_file_section_of_type(file, SHT_DYNSYM);
}

/* Labels of one's own ($x, .L5) and others' inside functions say nothing. */
static bool is_function_symbol(const Elf64_Sym *symbol, const char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || name[0] == '\0' || name[0] == '$')
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
}

/* Each symbol of the table in turn; `group` numbers the source files that symbols are of. */
struct symbol_walk {
	struct sn_elf_symbols table;
	size_t at;
	uint32_t group;
	Elf64_Sym symbol;
	const char *name;
};

static bool next_function_symbol(struct symbol_walk *walk)
{
	while (sn_elf_symbol_at(&walk->table, walk->at++, &walk->symbol)) {
		if (ELF64_ST_TYPE(walk->symbol.st_info) == STT_FILE)
			walk->group++;
		walk->name = sn_elf_symbol_name(&walk->table, &walk->symbol);
		if (walk->name && is_function_symbol(&walk->symbol, walk->name))
			return true;
	}
	return false;
}

static void add_symbols(struct finding *finding, struct sn_elf_file *file,
			struct sn_elf_section *table)
{
	struct symbol_walk walk = {sn_elf_symbols(file, table)};
	while (next_function_symbol(&walk)) {
		bool is_label = ELF64_ST_TYPE(walk.symbol.st_info) == STT_NOTYPE;
		struct start start = {
		    .at = walk.symbol.st_value,
		    .end = walk.symbol.st_value + walk.symbol.st_size,
		    .name = walk.name,
		    .group = walk.group,
		    .rank = is_label ? RANK_LABEL : RANK_FUNCTION,
		    .is_local = ELF64_ST_BIND(walk.symbol.st_info) == STB_LOCAL,
		};
		add_start(finding, start);
	}
}

static void add_frame(void *data, const struct sn_elf_frame *frame)
{
	add_start(data, (struct start){.at = frame->start,
				       .end = frame->end,
				       .exceptions = frame->exceptions,
				       .rank = RANK_FRAME,
				       .in_frame = frame->in_frame});
}

SN_SORT_BY(sort_starts, struct start, const void *,
	   SN_ORDER_BY(a, b, at, rank, is_local)
	       ?: (a->name && b->name ? strcmp(a->name, b->name) : 0));

/* ---- from starts to functions ---- */

/* What all starts at one place say together. */
static struct sn_code_function unite(const struct start *starts, size_t count)
{
	struct sn_code_function function = {.start = starts[0].at,
					    .end = starts[0].at,
					    .name = starts[0].name,
					    .group = starts[0].group};
	for (size_t i = 0; i < count; i++) {
		if (function.end == function.start)
			function.end = starts[i].end;
		function.in_frame |= starts[i].in_frame;
		if (starts[i].exceptions)
			function.exceptions = starts[i].exceptions;
		if (!starts[i].name)
			continue;
		function.is_cold |= strstr(starts[i].name, ".cold") != NULL;
	}
	function.is_sized = function.end > function.start;
	return function;
}

static void append(struct finding *finding, struct sn_code_function *function)
{
	struct sn_code *code = finding->code;
	function->owner = code->function_count;
	finding->failed |= sn_vec_push(&code->functions, &finding->function_capacity,
				       &code->function_count, *function) < 0;
}

/*
 * Makes functions of the sorted starts. One that begins inside another is a second entry of that,
 * unless it reaches further, or has a name where the other has none.
 */
static void settle(struct finding *finding)
{
	struct sn_code *code = finding->code;
	code->function_count = 0;
	for (size_t i = 0, next; i < finding->count; i = next) {
		for (next = i + 1;
		     next < finding->count && finding->starts[next].at == finding->starts[i].at;)
			next++;
		struct sn_code_function function = unite(finding->starts + i, next - i);
		struct sn_code_function *last =
		    code->function_count ? &code->functions[code->function_count - 1] : NULL;
		if (last && !last->is_sized) {
			const struct sn_code_section *section =
			    sn_code_section_at(code, last->start);
			last->end = function.start < section->end ? function.start : section->end;
		} else if (last && function.start < last->end) {
			bool is_better = function.end > last->end || (function.name && !last->name);
			if (!is_better || !function.is_sized)
				continue;
			last->end = function.start;
		}
		append(finding, &function);
	}
	if (code->function_count > 0) {
		struct sn_code_function *last = &code->functions[code->function_count - 1];
		if (!last->is_sized)
			last->end = sn_code_section_at(code, last->start)->end;
	}
}

/* ---- code that nothing describes ---- */

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return size >= 2 && bytes[0] == 0 && bytes[1] == 0;
}

/* The length of padding at the beginning of bytes[size]; 0: none. */
static size_t padding_at(const struct sn_code *code, const uint8_t *bytes, size_t size)
{
	struct sn_insn insn;
	if (size > 0 && code->alignment == 1 && bytes[0] == 0xcc)
		return 1;
	if (is_zero(bytes, size))
		return size < code->alignment ? size : code->alignment;
	if (code->decode(bytes, size, 0, &insn) && insn.kind == SN_INSN_PADDING)
		return insn.length;
	return 0;
}

/* Takes back guesses from an address on, but for the first ones. */
static void forget_starts(struct finding *finding, size_t least, uint64_t least_at)
{
	while (finding->count > least && finding->starts[finding->count - 1].at >= least_at)
		finding->count--;
}

/*
 * Guesses starts in [at, end): the first instruction, and what is aligned after code that does not
 * go on and padding, unless a conditional branch goes over it. Returns the bytes that are no
 * padding.
 */
static uint64_t guess_in(struct finding *finding, uint64_t at, uint64_t end)
{
	enum { ALIGNMENT = 16 };
	struct sn_code *code = finding->code;
	struct sn_bytes bytes = sn_code_bytes(code, at);
	bool has_ended = true, is_padded = true;
	uint64_t kept = 0, reach = 0, first = at;
	size_t first_start = finding->count;
	while (at < end && bytes.size > 0) {
		struct sn_insn insn;
		size_t left = (size_t)(end - at);
		size_t length = padding_at(code, bytes.data, left);
		is_padded |= length > 0;
		if (length == 0) {
			bool is_start = has_ended && is_padded && at > reach && at % ALIGNMENT == 0;
			if (is_start || kept == 0)
				add_start(finding,
					  (struct start){.at = at, .end = at, .rank = RANK_GUESS});
			bool is_code = code->decode(bytes.data, left, at, &insn);
			length = is_code ? insn.length : code->alignment;
			has_ended =
			    is_code && (insn.kind == SN_INSN_JUMP || insn.kind == SN_INSN_RETURN ||
					insn.kind == SN_INSN_TRAP);
			is_padded = false;
			kept += length;
			if (is_code && insn.kind == SN_INSN_BRANCH && insn.target < end)
				reach = insn.target > reach ? insn.target : reach;
			if (is_code && insn.kind == SN_INSN_BRANCH && insn.target >= first)
				forget_starts(finding, first_start + 1, insn.target);
		}
		if (length > left)
			break;
		at += length;
		bytes.data += length;
	}
	return kept;
}

/* In each stretch of code that no function covers. */
static uint64_t guess_in_gaps(struct finding *finding)
{
	struct sn_code *code = finding->code;
	uint64_t kept = 0;
	uint32_t next = 0;
	for (uint32_t i = 0; i < code->section_count; i++) {
		const struct sn_code_section *section = &code->sections[i];
		uint64_t at = section->start;
		while (next < code->function_count && code->functions[next].start < at)
			next++;
		for (; next < code->function_count && code->functions[next].start < section->end;
		     next++) {
			if (!section->is_plt)
				kept += guess_in(finding, at, code->functions[next].start);
			at = code->functions[next].end;
		}
		if (!section->is_plt && at < section->end)
			kept += guess_in(finding, at, section->end);
	}
	return kept;
}

/* Where calls of a section lead, if that is code that no function covers. */
static void follow_calls(struct finding *finding, const struct sn_code_section *section)
{
	struct sn_code *code = finding->code;
	size_t size = (size_t)(section->end - section->start);
	for (size_t at = 0; at < size;) {
		struct sn_insn insn;
		if (!code->decode(section->bytes + at, size - at, section->start + at, &insn)) {
			at += code->alignment;
			continue;
		}
		at += insn.length;
		if (insn.kind != SN_INSN_CALL)
			continue;
		uint32_t function = sn_code_function_at(code, insn.target);
		if (function == SN_CODE_NONE || !code->functions[function].is_sized)
			add_start(finding, (struct start){.at = insn.target,
							  .end = insn.target,
							  .rank = RANK_GUESS});
	}
}

/*
 * Files without .eh_frame and symbols, and hand-written code without either. Calls are followed
 * only where much of the code is unknown: else what can be found so is not worth a pass over all.
 */
static void find_undescribed(struct finding *finding)
{
	enum { WORTH_FOLLOWING = 64 };
	struct sn_code *code = finding->code;
	uint64_t total = 0;
	uint64_t unknown = guess_in_gaps(finding);
	for (uint32_t i = 0; i < code->section_count; i++)
		total += code->sections[i].end - code->sections[i].start;
	for (uint32_t i = 0; i < code->section_count; i++)
		if (unknown > total / WORTH_FOLLOWING)
			follow_calls(finding, &code->sections[i]);
}

/* The program's and the library's own first steps are called by no code. */
static void add_entry(struct finding *finding)
{
	Elf64_Ehdr header;
	struct sn_bytes bytes = finding->code->file->bytes;
	if (bytes.size < sizeof(header))
		return;
	memcpy(&header, bytes.data, sizeof(header));
	if (header.e_entry != 0)
		add_start(finding, (struct start){.at = header.e_entry,
						  .end = header.e_entry,
						  .rank = RANK_GUESS});
	for (uint32_t i = 0; i < finding->code->section_count; i++) {
		uint64_t at = finding->code->sections[i].start;
		add_start(finding, (struct start){.at = at, .end = at, .rank = RANK_GUESS});
	}
}

/* ---- parts with names ---- */

/* Parts by the names of their functions: those of one name in a list. */
struct cold_names {
	struct sn_intern names;
	uint32_t *first; /* part, by name */
	uint32_t *next;	 /* by function of the code; SN_CODE_NONE */
	size_t capacity;
};

static bool list_cold_names(const struct sn_code *code, struct cold_names *cold)
{
	cold->next = malloc((code->function_count + 1ull) * sizeof(*cold->next));
	for (uint32_t i = 0; i < code->function_count && cold->next; i++) {
		const char *name = code->functions[i].name;
		const char *suffix = code->functions[i].is_cold ? strstr(name, ".cold") : NULL;
		uint32_t count = cold->names.count;
		if (!suffix)
			continue;
		uint32_t number = sn_intern_add(&cold->names, name, (size_t)(suffix - name));
		if (number == SN_INTERN_NONE ||
		    sn_vec_reserve(&cold->first, &cold->capacity, count + 1u) < 0)
			return false;
		cold->next[i] = number < count ? cold->first[number] : SN_CODE_NONE;
		cold->first[number] = i;
	}
	return cold->next != NULL;
}

/* A local function's parts are of its own source file; else the name decides. */
static void set_owner(struct sn_code *code, const struct symbol_walk *walk, uint32_t cold)
{
	struct sn_code_function *part = &code->functions[cold];
	uint32_t owner = sn_code_function_at(code, walk->symbol.st_value);
	bool is_near = walk->group == part->group;
	if (owner == SN_CODE_NONE || code->functions[owner].is_cold ||
	    (!is_near && ELF64_ST_BIND(walk->symbol.st_info) == STB_LOCAL))
		return;
	if (is_near || part->owner == cold)
		part->owner = owner;
}

static int find_owners(struct sn_code *code, struct sn_elf_file *file, struct sn_elf_section *table)
{
	struct cold_names cold = {0};
	bool has_memory = list_cold_names(code, &cold);
	struct symbol_walk walk = {sn_elf_symbols(file, table)};
	while (has_memory && cold.names.count > 0 && next_function_symbol(&walk)) {
		uint32_t number = sn_intern_find(&cold.names, walk.name, strlen(walk.name));
		uint32_t at = number == SN_INTERN_NONE ? SN_CODE_NONE : cold.first[number];
		for (; at != SN_CODE_NONE; at = cold.next[at])
			set_owner(code, &walk, at);
	}
	sn_intern_release(&cold.names);
	free(cold.first);
	free(cold.next);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

int sn_code_find_functions(struct sn_code *code, struct sn_elf_file *symbols)
{
	struct finding finding = {.code = code};
	struct sn_elf_file *of;
	struct sn_elf_section *table = symbol_table(code->file, symbols, &of);
	add_symbols(&finding, of, table);
	sn_elf_unwind_each(code->file, add_frame, &finding);
	sort_starts(finding.starts, finding.count, NULL);
	settle(&finding);
	size_t described = finding.count;
	add_entry(&finding);
	find_undescribed(&finding);
	if (finding.count > described) {
		sort_starts(finding.starts, finding.count, NULL);
		settle(&finding);
	}
	int result = finding.failed ? SN_ERR_MEMORY : find_owners(code, of, table);
	free(finding.starts);
	return result;
}
