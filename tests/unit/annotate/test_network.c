/* SPDX-License-Identifier: Apache-2.0 */
/* Potentials of networks beside those of a dense elimination with pivots. */
#include "annotate/network.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { NODES = 60, LINKS = 400 };

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static uint32_t below(uint32_t most)
{
	return (uint32_t)(uniform() * most);
}

struct problem {
	uint32_t nodes, links, ground;
	struct sn_network_link link[LINKS];
	double conductance[LINKS], current[NODES], found[NODES];
};

/* Gauss's elimination of the Laplacian without the ground's row and column. */
static void solve_densely(const struct problem *problem, double *potentials)
{
	static double matrix[NODES][NODES + 1];
	uint32_t n = problem->nodes;
	memset(matrix, 0, sizeof(matrix));
	for (uint32_t i = 0; i < problem->links; i++) {
		uint32_t a = problem->link[i].from, b = problem->link[i].to;
		matrix[a][a] += problem->conductance[i];
		matrix[b][b] += problem->conductance[i];
		matrix[a][b] -= problem->conductance[i];
		matrix[b][a] -= problem->conductance[i];
	}
	for (uint32_t i = 0; i < n; i++)
		matrix[i][n] = problem->current[i];
	for (uint32_t i = 0; i <= n; i++)
		matrix[problem->ground][i] = i == problem->ground;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t best = k;
		for (uint32_t i = k; i < n; i++)
			best = fabs(matrix[i][k]) > fabs(matrix[best][k]) ? i : best;
		for (uint32_t j = 0; j <= n; j++) {
			double kept = matrix[k][j];
			matrix[k][j] = matrix[best][j];
			matrix[best][j] = kept;
		}
		for (uint32_t i = 0; i < n; i++) {
			double part = i == k ? 0 : matrix[i][k] / matrix[k][k];
			for (uint32_t j = k; part != 0 && j <= n; j++)
				matrix[i][j] -= part * matrix[k][j];
		}
	}
	for (uint32_t i = 0; i < n; i++)
		potentials[i] = matrix[i][n] / matrix[i][i];
}

static void solve(struct problem *problem)
{
	struct sn_network network;
	assert_int_equal(sn_network_init(&network, problem->nodes, problem->link, problem->links,
					 problem->ground),
			 0);
	assert_false(network.is_dense);
	for (int again = 0; again < 2; again++) /* nothing is left of a solution */
		sn_network_solve(&network, problem->conductance, problem->current, problem->found);
	sn_network_release(&network);
}

static void check(struct problem *problem, double part)
{
	double expected[NODES], most = 0;
	solve_densely(problem, expected);
	solve(problem);
	for (uint32_t i = 0; i < problem->nodes; i++)
		most = fmax(most, fabs(expected[i]));
	for (uint32_t i = 0; i < problem->nodes; i++)
		if (!(fabs(problem->found[i] - expected[i]) <= part * most))
			fail_msg("node %u of %u: %g, and not %g", i, problem->nodes,
				 problem->found[i], expected[i]);
}

/* Trees with some more links, several of which may join the same nodes, or a node to itself. */
static void test_random(void **unused)
{
	static struct problem problem;
	(void)unused;
	for (int round = 0; round < 200; round++) {
		problem.nodes = 2 + below(NODES - 2);
		problem.ground = below(problem.nodes);
		problem.links = problem.nodes - 1 + below(problem.nodes);
		for (uint32_t i = 0; i < problem.links; i++) {
			bool is_tree = i + 1 < problem.nodes;
			problem.link[i] =
			    (struct sn_network_link){is_tree ? i + 1 : below(problem.nodes),
						     is_tree ? below(i + 1) : below(problem.nodes)};
			problem.conductance[i] = exp(6 * uniform() - 3);
		}
		for (uint32_t i = 0; i < problem.nodes; i++)
			problem.current[i] = uniform() - 0.5;
		check(&problem, 1e-9);
	}
}

/* Conductances from 1e-12 to 1e12 in a line: each potential is the sum of what is between it and the ground. */
static void test_range(void **unused)
{
	static struct problem problem;
	double expected = 0;
	(void)unused;
	problem = (struct problem){.nodes = 25, .links = 24, .ground = 0, .current[24] = 1};
	for (uint32_t i = 0; i < 24; i++) {
		problem.link[i] = (struct sn_network_link){i, i + 1};
		problem.conductance[i] = pow(10, (double)i - 12);
	}
	solve(&problem);
	for (uint32_t i = 0; i < 24; i++) {
		expected += 1 / problem.conductance[i];
		if (fabs(problem.found[i + 1] - expected) > 1e-14 * expected)
			fail_msg("node %u: %.17g, and not %.17g", i + 1, problem.found[i + 1],
				 expected);
	}
	assert_true(problem.found[0] == 0);
}

/* What nothing joins to the ground has no potential. */
static void test_apart(void **unused)
{
	static struct problem problem;
	(void)unused;
	problem = (struct problem){.nodes = 4,
				   .links = 1,
				   .ground = 0,
				   .link = {{1, 0}},
				   .conductance = {2},
				   .current = {0, 3, 5, 0}};
	solve(&problem);
	assert_true(problem.found[1] == 1.5 && problem.found[2] == 0 && problem.found[3] == 0);
}

static void test_dense(void **unused)
{
	static struct sn_network_link links[500 * 499 / 2];
	struct sn_network network;
	size_t count = 0;
	(void)unused;
	for (uint32_t i = 0; i < 500; i++)
		for (uint32_t j = 0; j < i; j++)
			links[count++] = (struct sn_network_link){i, j};
	assert_int_equal(sn_network_init(&network, 500, links, count, 0), 0);
	assert_true(network.is_dense);
	sn_network_release(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random), cmocka_unit_test(test_range),
	    cmocka_unit_test(test_apart), cmocka_unit_test(test_dense)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
