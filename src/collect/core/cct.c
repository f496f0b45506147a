/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling context tree of one thread; see cct.h.
 *
 * Three hash tables over growing arrays (contexts by parent and frame, strings by content, Python
 * code objects by file, name and line), each chained through its elements so that rehashing touches
 * no element's identity. A reader of another thread never looks at the tables, only at the arrays.
 */
#include "cct.h"

#include <string.h>

/* Names of kernels that are instances of templates have some thousand bytes; a chunk of the text has room for one of this length. */
#define STRING_MAX_BYTES 16000u

static uint32_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product =
	    (__uint128_t)(a ^ 0x9E3779B185EBCA87ull) * (b ^ 0xC2B2AE3D27D4EB4Full);
	uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
	return (uint32_t)(folded ^ folded >> 32);
}

/* ---- hash tables ---- */

static bool buckets_init(struct sn_buckets *buckets, uint32_t count)
{
	buckets->heads = sn_pages_map(count * sizeof(uint32_t));
	buckets->count = buckets->heads ? count : 0;
	if (buckets->heads)
		memset(buckets->heads, 0xff, count * sizeof(uint32_t));
	return buckets->heads != NULL;
}

static void buckets_release(struct sn_buckets *buckets)
{
	sn_pages_unmap(buckets->heads, buckets->count * sizeof(uint32_t));
	*buckets = (struct sn_buckets){0};
}

/*
 * Doubles a table whose elements are all of `array`: hash_of and link_of tell an element's hash and
 * where its link is. Without memory the old table stays, only slower.
 */
static void buckets_grow(struct sn_buckets *buckets, struct sn_array *array,
			 uint32_t (*hash_of)(const void *), uint32_t *(*link_of)(void *))
{
	struct sn_buckets larger;
	if (buckets->count >= 1u << 30 || !buckets_init(&larger, buckets->count * 2))
		return;
	uint32_t count = sn_array_count(array);
	for (uint32_t index = 0; index < count; index++) {
		void *element = sn_array_at(array, index);
		uint32_t *head = &larger.heads[hash_of(element) & (larger.count - 1)];
		*link_of(element) = *head;
		*head = index;
	}
	buckets_release(buckets);
	*buckets = larger;
}

/* Publishes the array's next element, which is filled in but for its link. */
static inline __attribute__((always_inline)) void
publish(struct sn_buckets *buckets, struct sn_array *array, uint32_t index, uint32_t hash,
	uint32_t (*hash_of)(const void *), uint32_t *(*link_of)(void *))
{
	uint32_t *head = &buckets->heads[hash & (buckets->count - 1)];
	*link_of(sn_array_at(array, index)) = *head;
	sn_array_commit(array);
	*head = index;
	if (index >= buckets->count)
		buckets_grow(buckets, array, hash_of, link_of);
}

static uint32_t first_in_bucket(const struct sn_buckets *buckets, uint32_t hash)
{
	return buckets->heads[hash & (buckets->count - 1)];
}

/* ---- contexts ---- */

static uint32_t frame_hash(uint32_t parent, const struct sn_frame *frame)
{
	return mix((uint64_t)parent << 32 | frame->id,
		   frame->value ^ (uint64_t)frame->kind << 56 ^ (uint64_t)frame->flags << 48);
}

static uint32_t node_hash(const void *element)
{
	const struct sn_cct_node *node = element;
	return frame_hash(node->record.parent, &node->record.frame);
}

static uint32_t *node_link(void *element)
{
	return &((struct sn_cct_node *)element)->next_in_bucket;
}

static uint32_t append_node(struct sn_cct *cct, uint32_t parent, const struct sn_frame *frame,
			    uint32_t hash)
{
	uint32_t index = sn_array_reserve(&cct->nodes);
	if (index == UINT32_MAX)
		return SN_NODE_NONE;
	struct sn_cct_node *node = sn_array_at(&cct->nodes, index);
	node->record = (struct sn_node_record){.parent = parent, .frame = *frame};
	atomic_store_explicit(&node->first_value, SN_ID_NONE, memory_order_relaxed);
	publish(&cct->node_buckets, &cct->nodes, index, hash, node_hash, node_link);
	return index;
}

int sn_cct_init(struct sn_cct *cct)
{
	memset(cct, 0, sizeof(*cct));
	sn_array_init(&cct->nodes, sizeof(struct sn_cct_node), 7);
	sn_array_init(&cct->values, sizeof(struct sn_cct_value), 6);
	sn_array_init(&cct->strings, sizeof(struct sn_cct_string), 7);
	sn_array_init(&cct->codes, sizeof(struct sn_cct_code), 7);
	struct sn_frame root = {.kind = SN_FRAME_THREAD, .id = SN_ID_NONE};
	if (!buckets_init(&cct->node_buckets, 1024) || !buckets_init(&cct->string_buckets, 256) ||
	    !buckets_init(&cct->code_buckets, 256) ||
	    append_node(cct, 0, &root, frame_hash(0, &root)) == SN_NODE_NONE) {
		sn_cct_release(cct);
		return -1;
	}
	return 0;
}

void sn_cct_release(struct sn_cct *cct)
{
	sn_array_release(&cct->nodes);
	sn_array_release(&cct->values);
	sn_array_release(&cct->strings);
	sn_array_release(&cct->codes);
	sn_bump_release(&cct->text);
	buckets_release(&cct->node_buckets);
	buckets_release(&cct->string_buckets);
	buckets_release(&cct->code_buckets);
}

void sn_cct_forget_values(struct sn_cct *cct)
{
	cct->first_live_value = sn_array_count(&cct->values);
}

static bool frame_is(const struct sn_frame *a, const struct sn_frame *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->id == b->id && a->value == b->value;
}

uint32_t sn_cct_child(struct sn_cct *cct, uint32_t parent, const struct sn_frame *frame)
{
	uint32_t hash = frame_hash(parent, frame);
	uint32_t index = first_in_bucket(&cct->node_buckets, hash);
	while (index != SN_ID_NONE) {
		const struct sn_cct_node *node = sn_array_at(&cct->nodes, index);
		if (node->record.parent == parent && frame_is(&node->record.frame, frame) && index)
			return index;
		index = node->next_in_bucket;
	}
	return append_node(cct, parent, frame, hash);
}

/* ---- values ---- */

static struct sn_cct_value *find_value(struct sn_cct *cct, struct sn_cct_node *node,
				       uint32_t metric)
{
	uint32_t index = atomic_load_explicit(&node->first_value, memory_order_relaxed);
	while (index != SN_ID_NONE && index >= cct->first_live_value) {
		struct sn_cct_value *value = sn_array_at(&cct->values, index);
		if (value->record.metric == metric)
			return value;
		index = value->next;
	}
	return NULL;
}

static struct sn_cct_value *append_value(struct sn_cct *cct, uint32_t node_index, uint32_t metric)
{
	struct sn_cct_node *node = sn_array_at(&cct->nodes, node_index);
	uint32_t index = sn_array_reserve(&cct->values);
	if (index == UINT32_MAX)
		return NULL;
	struct sn_cct_value *value = sn_array_at(&cct->values, index);
	value->record =
	    (struct sn_value_record){.node = node_index, .metric = metric, .min = UINT64_MAX};
	value->next = atomic_load_explicit(&node->first_value, memory_order_relaxed);
	sn_array_commit(&cct->values);
	/* relaxed: readers walk the array of values, not this list */
	atomic_store_explicit(&node->first_value, index, memory_order_relaxed);
	return value;
}

struct sn_cct_value *sn_cct_value_of(struct sn_cct *cct, uint32_t node, uint32_t metric)
{
	struct sn_cct_value *value = find_value(cct, sn_array_at(&cct->nodes, node), metric);
	return value ? value : append_value(cct, node, metric);
}

/* Plain 8-byte stores: a checkpoint in another thread may read a value while it changes, and then
 * sees each field whole though not all of one instant. The last snapshot is taken at rest. */
#define SET(field, new_value) __atomic_store_n(&(field), (new_value), __ATOMIC_RELAXED)

static inline __attribute__((always_inline)) void add_all(struct sn_value_record *record,
							  const struct sn_value_record *added)
{
	SET(record->count, record->count + added->count);
	SET(record->sum, record->sum + added->sum);
	if (added->min < record->min)
		SET(record->min, added->min);
	if (added->max > record->max)
		SET(record->max, added->max);
	double squares = record->sum_squares + added->sum_squares;
	__atomic_store(&record->sum_squares, &squares, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void add_to(struct sn_value_record *record,
							 uint64_t amount)
{
	add_all(record, &(struct sn_value_record){.count = 1,
						  .sum = amount,
						  .min = amount,
						  .max = amount,
						  .sum_squares = (double)amount * (double)amount});
}

bool sn_cct_add(struct sn_cct *cct, uint32_t node, uint32_t metric, uint64_t amount)
{
	struct sn_cct_value *value = sn_cct_value_of(cct, node, metric);
	if (!value)
		return false;
	add_to(&value->record, amount);
	return true;
}

void sn_cct_value_add(struct sn_cct_value *value, uint64_t amount)
{
	add_to(&value->record, amount);
}

void sn_cct_value_add_times(struct sn_cct_value *value, uint64_t amount, uint64_t times)
{
	double square = (double)amount * (double)amount;
	if (times)
		add_all(&value->record,
			&(struct sn_value_record){.count = times,
						  .sum = amount * times,
						  .min = amount,
						  .max = amount,
						  .sum_squares = square * (double)times});
}

void sn_cct_value_add_all(struct sn_cct_value *value, const struct sn_value_record *added)
{
	add_all(&value->record, added);
}

#define GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

void sn_cct_value_read(const struct sn_cct_value *value, struct sn_value_record *record)
{
	const struct sn_value_record *from = &value->record;
	*record = (struct sn_value_record){
	    .node = from->node,
	    .metric = from->metric,
	    .count = GET(from->count),
	    .sum = GET(from->sum),
	    .min = GET(from->min),
	    .max = GET(from->max),
	};
	__atomic_load(&from->sum_squares, &record->sum_squares, __ATOMIC_RELAXED);
}

/* ---- strings ---- */

static uint32_t text_hash(const char *text, size_t length)
{
	uint64_t hash = length;
	for (; length >= 8; text += 8, length -= 8) {
		uint64_t word;
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0x9E3779B185EBCA87ull;
		hash ^= hash >> 32;
	}
	uint64_t rest = 0;
	memcpy(&rest, text, length);
	return mix(hash, rest);
}

static uint32_t string_hash(const void *element)
{
	return ((const struct sn_cct_string *)element)->hash;
}

static uint32_t *string_link(void *element)
{
	return &((struct sn_cct_string *)element)->next_in_bucket;
}

static uint32_t append_string(struct sn_cct *cct, const char *text, size_t length, uint32_t hash)
{
	uint32_t index = sn_array_reserve(&cct->strings);
	char *copy = sn_bump_alloc(&cct->text, length);
	if (index == UINT32_MAX || !copy)
		return SN_ID_NONE;
	memcpy(copy, text, length);
	struct sn_cct_string *string = sn_array_at(&cct->strings, index);
	*string = (struct sn_cct_string){.text = copy, .length = (uint32_t)length, .hash = hash};
	publish(&cct->string_buckets, &cct->strings, index, hash, string_hash, string_link);
	return index;
}

uint32_t sn_cct_string(struct sn_cct *cct, const char *text, size_t length)
{
	if (length > STRING_MAX_BYTES)
		length = STRING_MAX_BYTES;
	uint32_t hash = text_hash(text, length);
	uint32_t index = first_in_bucket(&cct->string_buckets, hash);
	while (index != SN_ID_NONE) {
		const struct sn_cct_string *string = sn_array_at(&cct->strings, index);
		if (string->hash == hash && string->length == length &&
		    !memcmp(string->text, text, length))
			return index;
		index = string->next_in_bucket;
	}
	return append_string(cct, text, length, hash);
}

uint32_t sn_cct_named_child(struct sn_cct *cct, uint32_t parent, uint8_t kind, const char *name,
			    size_t length)
{
	struct sn_frame frame = {.kind = kind, .id = sn_cct_string(cct, name, length)};
	if (parent == SN_NODE_NONE || frame.id == SN_ID_NONE)
		return SN_NODE_NONE;
	return sn_cct_child(cct, parent, &frame);
}

/* ---- Python code objects ---- */

static uint32_t code_hash(const void *element)
{
	const struct sn_code_record *code = &((const struct sn_cct_code *)element)->record;
	return mix((uint64_t)code->file << 32 | code->name, code->first_line);
}

static uint32_t *code_link(void *element)
{
	return &((struct sn_cct_code *)element)->next_in_bucket;
}

uint32_t sn_cct_code(struct sn_cct *cct, const char *file, size_t file_length, const char *name,
		     size_t name_length, uint32_t first_line)
{
	struct sn_cct_code wanted = {.record = {.file = sn_cct_string(cct, file, file_length),
						.name = sn_cct_string(cct, name, name_length),
						.first_line = first_line}};
	if (wanted.record.file == SN_ID_NONE || wanted.record.name == SN_ID_NONE)
		return SN_ID_NONE;
	uint32_t hash = code_hash(&wanted);
	uint32_t index = first_in_bucket(&cct->code_buckets, hash);
	while (index != SN_ID_NONE) {
		const struct sn_cct_code *code = sn_array_at(&cct->codes, index);
		if (!memcmp(&code->record, &wanted.record, sizeof(wanted.record)))
			return index;
		index = code->next_in_bucket;
	}
	index = sn_array_reserve(&cct->codes);
	if (index == UINT32_MAX)
		return SN_ID_NONE;
	*(struct sn_cct_code *)sn_array_at(&cct->codes, index) = wanted;
	publish(&cct->code_buckets, &cct->codes, index, hash, code_hash, code_link);
	return index;
}
