/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors that an operator reads and makes, from the at::RecordFunction that announces it.
 *
 * Its inputs and outputs are private members without exported accessors, at offsets that differ
 * between releases. But the functions that return their numbers are exported, and show the offsets:
 * called with an object of zeros in which one word is set, they return that word if it is the one
 * they read. An operator called by TorchScript's interpreter is announced with the interpreter's
 * whole stack, whose last elements are its arguments, and later its results.
 *
 * A tensor is identified by its TensorImpl. A tensor that is made outside of operators, for a saved
 * variable for instance, is identified by the storage it shares with the original. Memory is
 * reused, so both are stored together, and replaced when another tensor takes the place.
 */
#include "graph.h"

#include <string.h>

enum { TABLE_ENTRIES = 1 << 16, LIST_MAX = 4096, ARGUMENTS_MAX = 256 };
enum { TAG_TENSOR = 1, FUNCTION_WORDS = 64, STACK_BYTES_MAX = 1 << 20 };
#define NO_TAG UINT32_MAX

/* c10::IValue */
struct value {
	uintptr_t payload;
	uint32_t tag, reserved;
};

struct span {
	const struct value *begin, *end;
};

struct entry {
	_Atomic uintptr_t address;
	_Atomic uint64_t node_and_check; /* high half: the node; low: a hash of the storage */
};

static uint64_t (*num_inputs)(const void *function);
static uint64_t (*num_outputs)(const void *function);
static size_t inputs_size_at, outputs_end_at; /* offsets in a RecordFunction */
static struct entry *by_impl, *by_storage;
static _Atomic uint32_t list_tag = NO_TAG, header_bytes;
static _Atomic uint32_t readable, unreadable;

/* The offset in a RecordFunction of the word that COUNT returns shifted right by SHIFT; 0 if there
 * is none. An object of zeros has a name of its own instead of an operator's; the word that is set
 * does not change the byte, or int, that tells. */
static size_t find_count(uint64_t (*count)(const void *), uint32_t shift)
{
	uint64_t fake[FUNCTION_WORDS] = {0};
	for (size_t i = 1; i < FUNCTION_WORDS; i++) {
		fake[i] = 1ull << 40;
		if (count(fake) == 1ull << (40 - shift))
			return i * sizeof(*fake);
		fake[i] = 0;
	}
	return 0;
}

bool sn_torch_tensor_init(void)
{
	if (by_impl && by_storage)
		return inputs_size_at && outputs_end_at;
	num_inputs =
	    (uint64_t(*)(const void *))sn_torch_symbol("_ZNK2at14RecordFunction10num_inputsEv");
	num_outputs =
	    (uint64_t(*)(const void *))sn_torch_symbol("_ZNK2at14RecordFunction11num_outputsEv");
	if (!num_inputs || !num_outputs)
		return false;
	/* inputs: an address and a number; outputs: a vector's begin and end */
	inputs_size_at = find_count(num_inputs, 0);
	outputs_end_at = find_count(num_outputs, 4);
	by_impl = sn_pages_map(TABLE_ENTRIES * sizeof(*by_impl));
	by_storage = sn_pages_map(TABLE_ENTRIES * sizeof(*by_storage));
	return inputs_size_at && outputs_end_at && by_impl && by_storage;
}

bool sn_torch_tensors_readable(void)
{
	return !unreadable || readable > unreadable;
}

/* ---- where things lie ---- */

static bool is_object(uintptr_t address)
{
	return address > 65536 && !(address & 7) && address >> 47 == 0;
}

/* The last COUNT values between two addresses. */
static bool last_of(uintptr_t begin, uintptr_t end, uint64_t count, struct span *values)
{
	uint64_t bytes = count * sizeof(struct value);
	if (!is_object(begin) || end < begin || end - begin < bytes ||
	    end - begin > STACK_BYTES_MAX)
		return false;
	*values = (struct span){(const struct value *)(end - bytes), (const struct value *)end};
	return true;
}

static bool find_inputs(const void *function, uint64_t count, struct span *inputs)
{
	const uintptr_t *size = (const uintptr_t *)((const char *)function + inputs_size_at);
	return *size < STACK_BYTES_MAX &&
	       last_of(size[-1], size[-1] + *size * sizeof(struct value), count, inputs);
}

static bool find_outputs(const void *function, uint64_t count, struct span *outputs)
{
	const uintptr_t *end = (const uintptr_t *)((const char *)function + outputs_end_at);
	return last_of(end[-1], end[0], count, outputs);
}

/* The size of the header of a counted object: a virtual table and two counts, in one word each or
 * together in one. A count is small, a pointer is not. */
static uint32_t header_of(uintptr_t object)
{
	uint32_t known = atomic_load_explicit(&header_bytes, memory_order_relaxed);
	if (known)
		return known;
	uintptr_t third = ((const uintptr_t *)object)[2];
	known = third < 1u << 24 ? 24 : 16;
	atomic_store_explicit(&header_bytes, known, memory_order_relaxed);
	return known;
}

static bool read_tensor(uintptr_t impl, uint32_t index, struct sn_torch_tensor *tensor)
{
	if (!is_object(impl))
		return false;
	uint32_t header = header_of(impl);
	uintptr_t storage = *(const uintptr_t *)(impl + header);
	if (!is_object(storage))
		return false;
	/* behind the header: data, its context, its deleter, the device; then the size */
	uint64_t bytes = *(const uint64_t *)(storage + header + 32);
	*tensor = (struct sn_torch_tensor){impl, storage, bytes >> 46 ? 0 : bytes, index};
	return true;
}

static uint32_t read_list(uintptr_t list, uint32_t index, struct sn_torch_tensor *tensors,
			  uint32_t count)
{
	uint32_t header = atomic_load_explicit(&header_bytes, memory_order_relaxed);
	if (!header || !is_object(list))
		return count;
	const struct value *const *vector = (const void *)(list + header);
	const struct value *begin = vector[0], *end = vector[1];
	if (!is_object((uintptr_t)begin) || end < begin || end - begin > LIST_MAX)
		return count;
	for (; begin < end && count < SN_TORCH_TENSORS; begin++)
		if (begin->tag == TAG_TENSOR)
			count += read_tensor(begin->payload, index, tensors + count);
	return count;
}

static uint32_t read_tensors(struct span values, struct sn_torch_tensor *tensors)
{
	uint32_t count = 0, index = 0;
	uint32_t lists = atomic_load_explicit(&list_tag, memory_order_relaxed);
	for (const struct value *at = values.begin; at < values.end; at++, index++) {
		if (count == SN_TORCH_TENSORS)
			break;
		if (at->tag == TAG_TENSOR)
			count += read_tensor(at->payload, index, tensors + count);
		else if (at->tag == lists)
			count = read_list(at->payload, index, tensors, count);
	}
	return count;
}

/* The first argument of these operators is a list, which shows the tag of lists; it differs
 * between releases. */
static void learn_list(const char *name, struct span inputs)
{
	if (list_tag == NO_TAG && (!strcmp(name, "aten::cat") || !strcmp(name, "aten::stack") ||
				   !strncmp(name, "aten::_foreach_", 15)))
		list_tag = inputs.begin->tag;
}

uint32_t sn_torch_inputs(const void *function, const char *name,
			 struct sn_torch_tensor tensors[SN_TORCH_TENSORS])
{
	struct span inputs;
	uint64_t count = num_inputs(function);
	if (!count || count > ARGUMENTS_MAX)
		return 0;
	if (!find_inputs(function, count, &inputs)) {
		unreadable++;
		return 0;
	}
	readable++;
	learn_list(name, inputs);
	return read_tensors(inputs, tensors);
}

uint32_t sn_torch_outputs(const void *function, struct sn_torch_tensor tensors[SN_TORCH_TENSORS])
{
	struct span outputs;
	uint64_t count = num_outputs(function);
	if (!count || count > ARGUMENTS_MAX || !find_outputs(function, count, &outputs))
		return 0;
	return read_tensors(outputs, tensors);
}

/* ---- who wrote what ---- */

static uint32_t hash(uintptr_t address)
{
	return (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15ull >> 32);
}

static void put(struct entry *table, uintptr_t address, uint32_t check, uint32_t node)
{
	struct entry *entry = table + hash(address) % TABLE_ENTRIES;
	/* until the end a reader finds no address here */
	atomic_store_explicit(&entry->address, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->node_and_check, (uint64_t)node << 32 | check,
			      memory_order_release);
	atomic_store_explicit(&entry->address, address, memory_order_release);
}

static uint32_t get(struct entry *table, uintptr_t address, uint32_t check)
{
	struct entry *entry = table + hash(address) % TABLE_ENTRIES;
	uintptr_t before = atomic_load_explicit(&entry->address, memory_order_acquire);
	uint64_t value = atomic_load_explicit(&entry->node_and_check, memory_order_acquire);
	uintptr_t after = atomic_load_explicit(&entry->address, memory_order_relaxed);
	if (before != address || after != address || (uint32_t)value != check)
		return SN_GRAPH_NONE;
	return (uint32_t)(value >> 32);
}

/* Includes the group of iterations in the check, because between groups memory was reused. */
static uint32_t check_of(uintptr_t storage, uint32_t group)
{
	return hash(storage) ^ group * 0x85EBCA77u;
}

uint32_t sn_torch_writer(const struct sn_torch_tensor *tensor, uint32_t group)
{
	uint32_t node = get(by_impl, tensor->impl, check_of(tensor->storage, group));
	return node != SN_GRAPH_NONE ? node : get(by_storage, tensor->storage, check_of(0, group));
}

void sn_torch_written(const struct sn_torch_tensor *tensor, uint32_t node, uint32_t group,
		      bool is_view)
{
	put(by_impl, tensor->impl, check_of(tensor->storage, group), node);
	if (!is_view)
		put(by_storage, tensor->storage, check_of(0, group), node);
}
