/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators recognised by address. If native frames are part of the path, analysis finds operators
 * among them by their symbols. If the user left native frames out, callpath.c looks each native
 * frame up here and keeps only those of dispatcher entry points (at::_ops::NAME::call). In both
 * cases exact.c looks up whether an operator was called through an entry point: operators that were
 * not (custom ones, and those that are called boxed) need the callback.
 *
 * The list of entry points is made once, outside handlers, from libtorch_cpu's dynamic symbols. A
 * look-up first tries a small table of known addresses, then a binary search of the list.
 */
#include "torch.h"

#include "collect/core/arena.h"
#include "collect/core/callpath.h"
#include "collect/unwind/elf_symbol.h"
#include "collect/unwind/own_stack.h"
#include "format/torch_name.h"

#define PC_ENTRIES    512u
#define TEXT_ENTRIES  1024u
#define NAMED_BITS    12u
#define NAMED_ENTRIES (1u << NAMED_BITS)
#define COPY_BYTES    48u /* so that an entry fills one cache line */

struct entry_point {
	uint32_t offset, bytes; /* in the module */
	const char *symbol;
};

struct sn_torch_names {
	struct known_pc {
		uintptr_t pc;
		uint32_t id;	/* SN_ID_NONE: no entry point */
		uint32_t entry; /* enum sn_torch_entry */
	} by_pc[PC_ENTRIES];
	struct known_text {
		const char *text;
		uint32_t id;
		uint32_t length;       /* 0: `copy` does not hold it */
		char copy[COPY_BYTES]; /* with the NUL */
	} by_text[TEXT_ENTRIES] __attribute__((aligned(64)));
};

static struct entry_point *points;
static uint32_t point_count;
static uintptr_t bias, lowest, highest;
static _Atomic bool ready;

/* ---- the list ---- */

struct symbols {
	const ElfW(Sym) * table;
	const char *strings;
	uint32_t count;
};

/* Counts the symbols, whose number is not in memory: the last symbol ends the last hash chain. */
static uint32_t count_by_gnu_hash(const uint32_t *hash)
{
	uint32_t bucket_count = hash[0], first = hash[1], bloom_words = hash[2];
	const uint32_t *buckets = &hash[4 + bloom_words * (sizeof(ElfW(Addr)) / 4)];
	const uint32_t *chain = &buckets[bucket_count];
	uint32_t last = 0;
	for (uint32_t index = 0; index < bucket_count; index++)
		if (buckets[index] > last)
			last = buckets[index];
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static bool find_symbols(const struct sn_module *module, struct symbols *symbols)
{
	struct sn_elf_dynamic dynamic;
	if (!sn_elf_dynamic_read(module, &dynamic))
		return false;
	*symbols = (struct symbols){dynamic.symbols, dynamic.strings, 0};
	if (dynamic.gnu_hash)
		symbols->count = count_by_gnu_hash(dynamic.gnu_hash);
	else if (dynamic.old_hash)
		symbols->count = dynamic.old_hash[1];
	return symbols->count;
}

static bool is_entry_point(const struct symbols *symbols, uint32_t index)
{
	const ElfW(Sym) *symbol = &symbols->table[index];
	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       sn_torch_entry_of(symbols->strings + symbol->st_name) != SN_TORCH_NO_ENTRY;
}

/* Shellsort, because it needs no memory; there are a few thousand elements. */
static void sort_points(void)
{
	for (uint32_t gap = point_count / 2; gap; gap /= 2)
		for (uint32_t index = gap; index < point_count; index++) {
			struct entry_point moved = points[index];
			uint32_t place = index;
			for (; place >= gap && points[place - gap].offset > moved.offset;
			     place -= gap)
				points[place] = points[place - gap];
			points[place] = moved;
		}
}

uint32_t sn_torch_operators_init(const struct sn_module *module)
{
	struct symbols symbols;
	uint32_t count = 0;
	if (!find_symbols(module, &symbols))
		return 0;
	for (uint32_t index = 0; index < symbols.count; index++)
		count += is_entry_point(&symbols, index);
	points = count ? sn_pages_map(count * sizeof(*points)) : NULL;
	if (!points)
		return 0;
	for (uint32_t index = 0; index < symbols.count && point_count < count; index++)
		if (is_entry_point(&symbols, index)) {
			const ElfW(Sym) *symbol = &symbols.table[index];
			points[point_count++] = (struct entry_point){
			    (uint32_t)symbol->st_value, (uint32_t)symbol->st_size,
			    symbols.strings + symbol->st_name};
		}
	sort_points();
	bias = module->bias;
	lowest = bias + points[0].offset;
	highest = bias + points[count - 1].offset + points[count - 1].bytes;
	/* release: a handler that sees it finds the list complete */
	atomic_store_explicit(&ready, true, memory_order_release);
	return count;
}

/* ---- look-up ---- */

static const struct entry_point *point_at(uintptr_t pc)
{
	uint64_t offset = pc - bias;
	uint32_t low = 0, high = point_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (points[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset - points[low - 1].offset >= points[low - 1].bytes)
		return NULL;
	return &points[low - 1];
}

/* Known addresses, by hash: twice the pc, plus 1 if it lies in an entry point. */
static _Atomic uint64_t named[NAMED_ENTRIES];

bool sn_torch_operator_is_named(uintptr_t pc)
{
	if (pc < lowest || pc >= highest)
		return false;
	_Atomic uint64_t *entry = &named[(pc * 0x9E3779B97F4A7C15ull) >> (64 - NAMED_BITS)];
	uint64_t known = atomic_load_explicit(entry, memory_order_relaxed);
	if (__builtin_expect(known >> 1 == pc, 1))
		return known & 1;
	bool is_named = point_at(pc) != NULL;
	atomic_store_explicit(entry, (uint64_t)pc << 1 | is_named, memory_order_relaxed);
	return is_named;
}

static struct sn_torch_names *names_of(struct sn_torch_thread *self)
{
	return SN_PAGES_ONCE(self->names);
}

struct naming {
	uintptr_t pc;
	struct sn_cct *cct;
	struct known_pc *known;
};

static void name_point(void *argument)
{
	const struct naming *it = argument;
	struct known_pc *known = it->known;
	char name[256];
	size_t length;
	const struct entry_point *point = point_at(it->pc);
	known->id = SN_ID_NONE;
	if (point) {
		known->entry = sn_torch_operator_name(point->symbol, name, sizeof(name), &length);
		known->id = sn_cct_string(it->cct, name, length);
	}
	known->pc = it->pc;
}

bool sn_torch_operator_frame(uintptr_t pc, struct sn_thread *thread, struct sn_frame *frame,
			     bool *again)
{
	if (!atomic_load_explicit(&ready, memory_order_acquire) || pc < lowest || pc >= highest)
		return false;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	struct sn_torch_names *names = self ? names_of(self) : NULL;
	if (!names)
		return false;
	struct known_pc *known = &names->by_pc[(pc * 0x9E3779B97F4A7C15ull) >> 55];
	/* on our own stack, because it needs more than a hook may use of the program's */
	if (known->pc != pc)
		sn_on_own_stack(name_point, &(struct naming){pc, &thread->cct, known});
	if (known->id == SN_ID_NONE)
		return false;
	*again = known->entry == SN_TORCH_REDISPATCH;
	*frame = (struct sn_frame){.kind = SN_FRAME_OPERATOR, .id = known->id};
	return true;
}

uint32_t sn_torch_text_id(struct sn_torch_thread *self, const char *text, size_t length)
{
	struct sn_torch_names *names = names_of(self);
	if (!names)
		return SN_ID_NONE;
	struct known_text *known = &names->by_text[((uintptr_t)text * 0x9E3779B97F4A7C15ull) >> 54];
	if (known->text != text) {
		uint32_t id = sn_cct_string(&self->thread->cct, text, length);
		if (id == SN_ID_NONE)
			return SN_ID_NONE;
		known->id = id;
		known->length = 0;
		known->text = text;
	}
	return known->id;
}

static inline uint64_t word_at(const char *text)
{
	uint64_t word;
	memcpy(&word, text, sizeof(word));
	return word;
}

/* Whether `text` is equal to the copy. */
static inline bool is_copied(const struct known_text *known, const char *text)
{
	size_t bytes = known->length + 1; /* with the NUL */
	/* the text may have become shorter, and the page after it may be unreadable */
	if (known->length < 8 || ((uintptr_t)text & 4095) + bytes > 4096)
		return false;
	uint64_t differs = 0;
	for (size_t at = 0; at + 8 < bytes; at += 8)
		differs |= word_at(known->copy + at) ^ word_at(text + at);
	return !(differs | (word_at(known->copy + bytes - 8) ^ word_at(text + bytes - 8)));
}

/* Whether `text` is equal to the string `id`. */
static bool is_text(const struct sn_cct *cct, uint32_t id, const char *text)
{
	const struct sn_cct_string *string = sn_array_at(&cct->strings, id);
	/* the text may have become shorter, and the page after it may be unreadable */
	return ((uintptr_t)text & 4095) + string->length < 4096 &&
	       !memcmp(text, string->text, string->length) && !text[string->length];
}

uint32_t sn_torch_name_id(struct sn_torch_thread *self, const char *name)
{
	struct sn_torch_names *names = names_of(self);
	if (!names)
		return SN_ID_NONE;
	struct known_text *known = &names->by_text[((uintptr_t)name * 0x9E3779B97F4A7C15ull) >> 54];
	if (known->text == name &&
	    (is_copied(known, name) || is_text(&self->thread->cct, known->id, name)))
		return known->id;
	known->text = NULL;
	size_t length = strlen(name);
	uint32_t id = sn_torch_text_id(self, name, length);
	if (id != SN_ID_NONE && length < COPY_BYTES) {
		memcpy(known->copy, name, length + 1);
		known->length = (uint32_t)length;
	}
	return id;
}
