/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable names from linkers' symbols: C++, Rust (both schemes), and Swift if its runtime is
 * installed.
 *
 * Two forms: the full one has all parts of the symbol; the short one is shown in profiles, without
 * return types and parameter lists, and with long template argument lists as <...>. Symbols of no
 * known scheme are returned unchanged. All functions are MT-safe and bounded on any input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longer symbols are left as they are. */
#define SN_DEMANGLE_SYMBOL_MAX (1u << 16)

/* The full readable name, to be freed by the caller; NULL if `symbol` is not mangled. */
char *sn_demangle(const char *symbol);
/*
 * The short name, to be freed by the caller; NULL only without memory. Parts that a compiler split
 * off (foo.cold, foo.part.0, foo.isra.0, foo.llvm.123) and versions (foo@@V_2) get their function's
 * name.
 */
char *sn_demangle_short(const char *symbol);

/* The schemes, each NULL if `symbol` is not of it. To be freed by the caller. */
char *sn_demangle_rust(const char *symbol);
char *sn_demangle_swift(const char *symbol);
/* Shortens a full C++ or Rust name; to be freed by the caller. */
char *sn_demangle_shorten(const char *name);
