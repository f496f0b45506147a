/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an autograd node: its sequence number, the number of the thread that created it, its name.
 *
 * The two numbers are private members without exported accessors. Their offset is found by testing
 * pairs of words, three apart in every release so far: at the right offset, the first word is a
 * number that was given out (forward.c has seen all of them) to the thread in the second word. Each
 * node counts for or against each candidate; the best candidate is used if more nodes are for it
 * than against it. A number read that way is used only if it was given out.
 *
 * The name is read by calling a virtual function, at the place where the base class's table has the
 * base class's name function; once for each class, except Python's own node class, whose name
 * depends on the object.
 */
#include "torch.h"

#include "collect/core/lock.h"
#include "collect/core/word_table.h"
#include "collect/core/keep.h"
#include "collect/intercept/real_symbol.h"

#include <dlfcn.h>
#include <string.h>

#define CANDIDATES   8u /* words 1 to 8 of the object */
#define THREAD_WORD  3u /* from the sequence number to the thread's */
#define SETTLED	     256u
#define PATIENCE     64u
#define CLASS_BITS   10u
#define VTABLE_SLOTS 32u

enum class_kind { NAMED = 1, ASK_ALWAYS, HIDDEN };

struct node_class {
	enum class_kind kind;
	size_t name_length;
	char name[];
};

/* The layout of libstdc++'s std::string since 2015. */
struct cxx_string {
	char *data;
	size_t length;
	char local[16];
};

static struct sn_word_table classes = {.bits = CLASS_BITS}; /* by virtual table */
static _Atomic uint32_t weights_for[CANDIDATES], weights_against[CANDIDATES], nodes_seen;
#define UNSETTLED UINT32_MAX
static _Atomic uint32_t settled = UNSETTLED; /* the chosen candidate, after enough nodes */
static uint32_t name_slot;		     /* 0: not known */
static void (*cxx_delete)(void *);

/* ---- numbers ---- */

static uint32_t relaxed(const _Atomic uint32_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* The best candidate, or CANDIDATES if there is none. */
static uint32_t best_candidate(void)
{
	uint32_t best = CANDIDATES, most = 0;
	for (uint32_t index = 0; index < CANDIDATES; index++) {
		uint32_t weight = relaxed(&weights_for[index]);
		if (weight > most && weight > relaxed(&weights_against[index])) {
			best = index;
			most = weight;
		}
	}
	return best;
}

static void weigh(const uint64_t *words)
{
	for (uint32_t index = 0; index < CANDIDATES; index++) {
		uint64_t sequence = words[1 + index], thread = words[1 + index + THREAD_WORD];
		if (sequence == SN_TORCH_NO_SEQUENCE)
			continue;
		_Atomic uint32_t *weights =
		    sn_torch_was_given(thread, sequence) ? weights_for : weights_against;
		atomic_fetch_add_explicit(&weights[index], 1, memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&nodes_seen, 1, memory_order_relaxed);
}

bool sn_torch_node_readable(void)
{
	return relaxed(&nodes_seen) < PATIENCE || best_candidate() < CANDIDATES;
}

static void read_numbers(const uint64_t *words, struct sn_torch_node *out)
{
	if (relaxed(&nodes_seen) < SETTLED)
		weigh(words);
	uint32_t best = relaxed(&settled);
	if (best == UNSETTLED) {
		best = best_candidate();
		if (best < CANDIDATES && relaxed(&nodes_seen) >= SETTLED)
			atomic_store_explicit(&settled, best, memory_order_relaxed);
	}
	out->sequence = SN_TORCH_NO_SEQUENCE;
	out->unproved = best == CANDIDATES;
	if (out->unproved)
		return;
	out->sequence = words[1 + best];
	out->torch_id = words[1 + best + THREAD_WORD];
}

/* ---- names ---- */

/* The mangled name of the object's type, or "". */
static const char *type_name(const uintptr_t *vtable)
{
	const char *const *type = (const char *const *)vtable[-1];
	return type && type[1] ? type[1] : "";
}

static enum class_kind kind_of(const char *type)
{
	if (strstr(type, "8autograd9GraphRootE"))
		return HIDDEN;
	return strstr(type, "8autograd6PyNode") ? ASK_ALWAYS : NAMED;
}

/* The last part of a nested name: of N5torch8autograd9generated14AddmmBackward0E it is
 * "14AddmmBackward0". */
static size_t last_part(const char *mangled, const char **part)
{
	size_t found = 0;
	const char *at = mangled + (*mangled == 'N');
	while (*at >= '1' && *at <= '9') {
		size_t length = 0;
		while (*at >= '0' && *at <= '9' && length < 4096)
			length = length * 10 + (size_t)(*at++ - '0');
		if (strnlen(at, length) < length)
			break;
		*part = at;
		found = length;
		at += length;
	}
	return found;
}

/* Calls std::string Node::name() const. */
static size_t ask_name(const void *node, const uintptr_t *vtable, char *storage, size_t bytes)
{
	struct cxx_string text = {0};
	void (*name)(struct cxx_string *, const void *) =
	    (void (*)(struct cxx_string *, const void *))vtable[name_slot];
	name(&text, node);
	size_t length = text.length < bytes ? text.length : bytes;
	memcpy(storage, text.data, length);
	if (text.data != text.local && cxx_delete)
		cxx_delete(text.data);
	return length;
}

static size_t find_name(const void *node, const uintptr_t *vtable, char *storage, size_t bytes)
{
	if (name_slot)
		return ask_name(node, vtable, storage, bytes);
	const char *part = "";
	size_t length = last_part(type_name(vtable), &part);
	if (length > bytes)
		length = bytes;
	memcpy(storage, part, length);
	return length;
}

static const struct node_class *class_of(uintptr_t vtable)
{
	return (const struct node_class *)sn_word_get(&classes, vtable);
}

static void add_class(uintptr_t vtable, enum class_kind kind, const char *name, size_t length)
{
	/* another thread is adding a class; this one will be asked again next time */
	if (!sn_lock_try(SN_LOCK_TORCH_CLASSES))
		return;
	/* a place comes first, because a class without one is added again at each node */
	bool has_place = sn_word_find(&classes, vtable) || sn_word_add(&classes, vtable, 0);
	struct node_class *added =
	    !has_place || class_of(vtable) ? NULL : sn_keep(sizeof(*added) + length);
	if (added) {
		added->kind = kind;
		added->name_length = length;
		memcpy(added->name, name, length);
		sn_word_set(&classes, vtable, (uintptr_t)added);
	}
	sn_lock_release(SN_LOCK_TORCH_CLASSES);
}

static void read_name(const void *node, struct sn_torch_node *out, char *storage, size_t bytes)
{
	const uintptr_t *vtable = *(const uintptr_t *const *)node;
	const struct node_class *known = class_of((uintptr_t)vtable);
	enum class_kind kind = known ? known->kind : kind_of(type_name(vtable));
	out->name = NULL;
	if (kind == HIDDEN)
		return;
	if (known && kind == NAMED) {
		out->name = known->name;
		out->name_length = known->name_length;
		return;
	}
	out->name_length = find_name(node, vtable, storage, bytes);
	out->name = storage;
	if (!known)
		add_class((uintptr_t)vtable, kind, storage, out->name_length);
}

void sn_torch_node_read(const void *node, struct sn_torch_node *out, char *storage, size_t bytes)
{
	read_numbers(node, out);
	read_name(node, out, storage, bytes);
}

void sn_torch_node_init(void)
{
	uintptr_t name = sn_torch_symbol("_ZNK5torch8autograd4Node4nameB5cxx11Ev");
	const uintptr_t *table = (const uintptr_t *)sn_torch_symbol("_ZTVN5torch8autograd4NodeE");
	cxx_delete = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZdlPv");
	if (!cxx_delete)
		cxx_delete = (void (*)(void *))sn_real_symbol("_ZdlPv");
	if (!name || !table)
		return;
	for (uint32_t slot = 0; slot < VTABLE_SLOTS; slot++)
		if (table[2 + slot] == name) {
			name_slot = slot;
			return;
		}
}
