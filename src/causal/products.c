/* SPDX-License-Identifier: Apache-2.0 */
/* Products of columns; see products.h. Tiles of columns keep their sums in registers, blocks of rows stay in the cache. */
#include "products.h"

#include "base/wide.h"

#include <string.h>

#define TILE_A	   2u
#define TILE_B	   4u
#define BLOCK_ROWS 1024u

typedef double vector __attribute__((vector_size(64)));
#define LANES (sizeof(vector) / sizeof(double))

struct tile {
	const double *a[TILE_A], *b[TILE_B];
	size_t rows;
	double sums[TILE_A][TILE_B];
};

static inline __attribute__((always_inline)) void load(const double *values, size_t count,
						       vector *loaded)
{
	if (count < LANES) {
		*loaded = (vector){0};
		memcpy(loaded, values, count * sizeof(*values));
	} else {
		memcpy(loaded, values, sizeof(*loaded));
	}
}

SN_WIDE static void sum_tile(struct tile *tile)
{
	vector sums[TILE_A][TILE_B] = {0};
	const struct tile of = *tile;
	for (size_t row = 0; row < of.rows; row += LANES) {
		vector a[TILE_A], b[TILE_B];
		for (unsigned i = 0; i < TILE_A; i++)
			load(of.a[i] + row, of.rows - row, &a[i]);
		for (unsigned j = 0; j < TILE_B; j++)
			load(of.b[j] + row, of.rows - row, &b[j]);
		for (unsigned i = 0; i < TILE_A; i++)
			for (unsigned j = 0; j < TILE_B; j++)
				sums[i][j] += a[i] * b[j];
	}
	for (unsigned i = 0; i < TILE_A; i++)
		for (unsigned j = 0; j < TILE_B; j++) {
			tile->sums[i][j] = 0;
			for (size_t lane = 0; lane < LANES; lane++)
				tile->sums[i][j] += sums[i][j][lane];
		}
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Adds the products of some rows: of a column with itself and earlier ones. What is beyond the last column is the last one again. */
static void add_block(const double *columns, size_t stride, uint32_t count, size_t rows,
		      double *products)
{
	for (uint32_t a = 0; a < count; a += TILE_A)
		for (uint32_t b = 0; b < a + TILE_A && b < count; b += TILE_B) {
			struct tile tile = {.rows = rows};
			for (uint32_t i = 0; i < TILE_A; i++)
				tile.a[i] = columns + least(a + i, count - 1) * stride;
			for (uint32_t j = 0; j < TILE_B; j++)
				tile.b[j] = columns + least(b + j, count - 1) * stride;
			sum_tile(&tile);
			for (uint32_t i = 0; i < TILE_A && a + i < count; i++)
				for (uint32_t j = 0; j < TILE_B && b + j <= a + i; j++)
					products[(size_t)(a + i) * count + b + j] +=
					    tile.sums[i][j];
		}
}

void sn_products(const double *columns, size_t stride, uint32_t count, size_t rows,
		 double *products)
{
	memset(products, 0, (size_t)count * count * sizeof(*products));
	for (size_t row = 0; row < rows; row += BLOCK_ROWS)
		add_block(columns + row, stride, count,
			  rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS, products);
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < a; b++)
			products[(size_t)b * count + a] = products[(size_t)a * count + b];
}
