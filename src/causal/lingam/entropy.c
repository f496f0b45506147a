/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entropies of long columns; see entropy.h. The means are sums of LANES partial sums, whatever width the processor has. The exponential
 * function and the logarithm are minimax polynomials, found by Remez' exchange: the first of degree 10 with a relative error of 2.2e-16
 * after reduction to |x| <= log(2) / 2, the second log(1 + x) of degree 16 on [0, 1] with an absolute error of 1.2e-14.
 */
#include "entropy.h"

#include "base/wide.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* As wide as the widest; where it is wider than the processor's, the compiler divides it. */
typedef double vector __attribute__((vector_size(64)));
typedef int64_t vector_bits __attribute__((vector_size(64)));
#define LANES (sizeof(vector) / sizeof(double))

struct sums {
	vector log_cosh, damped;
};

/*
 * Vectors are passed by address: by value they would need one width in all versions. Of x <= 0; below -600 as of -600.
 */
INLINE void exponential(const vector *of, vector *result)
{
	const double shift = 0x1.8p52, log2_high = 0x1.62e42fefa39efp-1,
		     log2_low = 0x1.abc9e3b39803fp-56;
	const vector lowest = (vector){0} - 600;
	vector_bits is_lower = *of < lowest;
	vector x = (vector)(((vector_bits)*of & ~is_lower) | ((vector_bits)lowest & is_lower));
	vector shifted = x * 0x1.71547652b82fep0 + shift, whole = shifted - shift;
	vector f = x - whole * log2_high - whole * log2_low;
	/* in pairs, so that few operations wait for each other */
	vector f2 = f * f, f4 = f2 * f2;
	vector low =
	    1 + 0x1.000000000001ep+0 * f + (0x1.000000000001cp-1 + 0x1.555555554b732p-3 * f) * f2;
	vector middle = 0x1.555555554c0c7p-5 + 0x1.1111112ddb5e5p-7 * f +
			(0x1.6c16c190bb529p-10 + 0x1.a01978b76dca5p-13 * f) * f2;
	vector high =
	    0x1.a0197cdd49048p-16 + 0x1.72faffeb5530ap-19 * f + 0x1.28c558d612f88p-22 * f2;
	vector power = low + (middle + high * f4) * f4;
	*result = power * (vector)(((vector_bits)shifted + 1023) << 52);
}

/* log(1 + x), 0 <= x <= 1. */
INLINE void logarithm(const vector *of, vector *result)
{
	const vector x = *of;
	vector x2 = x * x, x4 = x2 * x2;
	vector first = 0x1.a51e663fd2e52p-47 + 0x1.fffffffff0757p-1 * x +
		       (-0x1.fffffff3cc89bp-2 + 0x1.5555536f0dcb8p-2 * x) * x2;
	vector second = -0x1.ffffb0088280ep-3 + 0x1.9995971668f58p-3 * x +
			(-0x1.55332395f6c50p-3 + 0x1.23c571dce93f7p-3 * x) * x2;
	vector third = -0x1.f8ffc9700cb75p-4 + 0x1.b019dea046c28p-4 * x +
		       (-0x1.5f7e66991105fp-4 + 0x1.015cebea094aep-4 * x) * x2;
	vector fourth = -0x1.3e358c0cf31d4p-5 + 0x1.35904be29d3a1p-6 * x +
			(-0x1.b31ac771ef37ep-8 + 0x1.83a1bb9a74191p-10 * x) * x2;
	fourth += -0x1.45f60791df9d9p-13 * x4;
	*result = first + second * x4 + (third + fourth * x4) * (x4 * x4);
}

/* log cosh u is |u| + log(1 + exp(-2 |u|)) - log 2; the last is subtracted from the mean. */
INLINE void add(struct sums *sums, const vector *of)
{
	vector u = *of, size = (vector)((vector_bits)u & INT64_MAX);
	vector exponent = -2 * size, power, rest;
	exponential(&exponent, &power);
	logarithm(&power, &rest);
	sums->log_cosh += size + rest;
	exponent = -0.5 * u * u;
	exponential(&exponent, &power);
	sums->damped += u * power;
}

static double entropy_of(const struct sums *sums, size_t rows)
{
	double log_cosh = 0, damped = 0;
	for (size_t lane = 0; lane < LANES; lane++) {
		log_cosh += sums->log_cosh[lane];
		damped += sums->damped[lane];
	}
	double beyond = (double)((LANES - rows % LANES) % LANES);
	log_cosh = (log_cosh - beyond * log(2)) / (double)rows - log(2);
	damped /= (double)rows;
	/* the constants of the paper, section 5 */
	return (1 + log(2 * M_PI)) / 2 - 79.047 * (log_cosh - 0.37457) * (log_cosh - 0.37457) -
	       7.4129 * damped * damped;
}

/* The LANES rows of values from there on. What is beyond `rows` is 0, which adds log(2) to the first sum and nothing to the second. */
INLINE void load(const double *values, size_t row, size_t rows, vector *loaded)
{
	if (row + LANES <= rows) {
		memcpy(loaded, values + row, sizeof(*loaded));
	} else {
		*loaded = (vector){0};
		memcpy(loaded, values + row, (rows - row) * sizeof(*values));
	}
}

SN_WIDE static void sum_one(const double *values, size_t rows, struct sums *sums)
{
	for (size_t row = 0; row < rows; row += LANES) {
		vector of;
		load(values, row, rows, &of);
		add(sums, &of);
	}
}

SN_WIDE static void sum_both(const struct sn_entropy_pair *pair, struct sums *restrict forward,
			     struct sums *restrict back)
{
	const struct sn_entropy_pair of = *pair;
	struct sums own_forward = {0}, own_back = {0};
	for (size_t row = 0; row < of.rows; row += LANES) {
		vector a, b, residual;
		load(of.a, row, of.rows, &a);
		load(of.b, row, of.rows, &b);
		residual = of.left * a - of.right * b;
		add(&own_forward, &residual);
		residual = of.left_back * b - of.right_back * a;
		add(&own_back, &residual);
	}
	*forward = own_forward;
	*back = own_back;
}

double sn_entropy(const double *values, size_t rows)
{
	struct sums sums = {0};
	sum_one(values, rows, &sums);
	return entropy_of(&sums, rows);
}

void sn_entropy_of_pair(const struct sn_entropy_pair *pair, double *forward, double *back)
{
	struct sums of_forward = {0}, of_back = {0};
	sum_both(pair, &of_forward, &of_back);
	*forward = entropy_of(&of_forward, pair->rows);
	*back = entropy_of(&of_back, pair->rows);
}
