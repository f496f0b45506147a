/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a Swift mangling, from left to right: operands on a stack, and the names and
 * types that later ones may refer to. Text lies in the arena and lives as long as the struct; the
 * first thing that is not understood sets `failed`, after which results mean nothing, but are safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_SWIFT_STACK_MAX	   128
#define SN_SWIFT_SUBSTITUTIONS_MAX 256
#define SN_SWIFT_WORDS_MAX	   26
#define SN_SWIFT_ARENA_BYTES	   (64u << 10)
#define SN_SWIFT_STEPS_MAX	   5000

enum sn_swift_kind {
	SN_SWIFT_IDENTIFIER,
	SN_SWIFT_CONTEXT, /* a module, or an entity that others can be in */
	SN_SWIFT_TYPE,
	SN_SWIFT_EMPTY_LIST,
	SN_SWIFT_FIRST,	     /* marks the first element of a list */
	SN_SWIFT_ANNOTATION, /* throws, async, ... of a function type */
	SN_SWIFT_SIGNATURE,  /* generic */
	SN_SWIFT_REQUIREMENT,
	SN_SWIFT_VARIADIC,
};

struct sn_swift_node {
	enum sn_swift_kind kind;
	bool is_nominal; /* a type that others can be in */
	bool is_function_type;
	uint16_t count; /* elements of a tuple, parameters of a function type */
	const char *text;
};

struct sn_swift {
	const char *at;
	bool is_old; /* _T0: labels are part of tuples */
	bool failed;
	unsigned depth, substitution_count, word_count, steps;
	size_t arena_used;
	struct sn_swift_node stack[SN_SWIFT_STACK_MAX];
	struct sn_swift_node substitutions[SN_SWIFT_SUBSTITUTIONS_MAX];
	struct {
		const char *text;
		size_t length;
	} words[SN_SWIFT_WORDS_MAX];
	char arena[SN_SWIFT_ARENA_BYTES];
};

struct sn_swift_node sn_swift_fail(struct sn_swift *swift);
/* Text made of up to four pieces, in the arena. */
const char *sn_swift_join(struct sn_swift *swift, const char *a, const char *b, const char *c,
			  const char *d);
struct sn_swift_node sn_swift_make(enum sn_swift_kind kind, const char *text);
void sn_swift_push(struct sn_swift *swift, struct sn_swift_node node);
/* False if the top is of another kind; `node` may be NULL. */
bool sn_swift_pop(struct sn_swift *swift, enum sn_swift_kind kind, struct sn_swift_node *node);
/* What later parts of the mangling may refer to, in the order of the grammar. */
void sn_swift_remember(struct sn_swift *swift, struct sn_swift_node node);
bool sn_swift_eat(struct sn_swift *swift, char c);
char sn_swift_next(struct sn_swift *swift);
/* A decimal number, or -1. */
int sn_swift_natural(struct sn_swift *swift);
/* "_" is 0, "0_" is 1, ... */
int sn_swift_index_of(struct sn_swift *swift);
struct sn_swift_node sn_swift_identifier(struct sn_swift *swift);
struct sn_swift_node sn_swift_standard_substitution(struct sn_swift *swift);
struct sn_swift_node sn_swift_substitution(struct sn_swift *swift);
bool sn_swift_pop_name(struct sn_swift *swift, struct sn_swift_node *name);
/* What an entity is in: a module, a type, a function. */
bool sn_swift_pop_context(struct sn_swift *swift, struct sn_swift_node *context);

/* Types, each with its operands taken from the stack (swift_type.c). */
struct sn_swift_node sn_swift_tuple(struct sn_swift *swift);
struct sn_swift_node sn_swift_function_type(struct sn_swift *swift);
struct sn_swift_node sn_swift_bound_generic(struct sn_swift *swift);
/* A, B, ...; A1 of an inner level. */
struct sn_swift_node sn_swift_generic_parameter(struct sn_swift *swift);
struct sn_swift_node sn_swift_archetype(struct sn_swift *swift);
struct sn_swift_node sn_swift_protocol_list(struct sn_swift *swift);
struct sn_swift_node sn_swift_special_type(struct sn_swift *swift);
void sn_swift_annotation(struct sn_swift *swift);
struct sn_swift_node sn_swift_builtin_type(struct sn_swift *swift);
void sn_swift_requirement(struct sn_swift *swift);
struct sn_swift_node sn_swift_generic_signature(struct sn_swift *swift, bool has_counts);
