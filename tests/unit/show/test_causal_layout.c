/* SPDX-License-Identifier: Apache-2.0 */
/* Where the boxes and arrows of a causal graph lie. */
#include "show/causal/layout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MOST = 400 };

/* A drawing of arrows given as pairs, all directed; `tiers` may be NULL. */
struct sample {
	struct sn_causal_drawing drawing;
	struct sn_causal_variable variables[MOST];
	struct sn_causal_arrow arrows[MOST];
	struct sn_causal_layout layout;
};

static void make(struct sample *sample, uint32_t count, const uint32_t *tiers, uint32_t target,
		 const uint32_t (*pairs)[2], size_t pair_count)
{
	for (uint32_t i = 0; i < count; i++)
		sample->variables[i] =
		    (struct sn_causal_variable){"name", tiers ? tiers[i] : 0, false};
	for (size_t i = 0; i < pair_count; i++)
		sample->arrows[i] = (struct sn_causal_arrow){
		    pairs[i][0], pairs[i][1], true, 1, 1, 0, 0.5, 0.4, 0.6, 1, 0.1};
	sample->drawing = (struct sn_causal_drawing){
	    "title", sample->variables, count, target, sample->arrows, pair_count, NULL, 0};
}

static void lay_out(struct sample *sample, uint32_t most)
{
	assert_int_equal(sn_causal_layout(&sample->drawing, most, &sample->layout), 0);
}

static const struct sn_causal_box *box_of(const struct sample *sample, uint32_t variable)
{
	for (uint32_t i = 0; i < sample->layout.box_count; i++)
		if (sample->layout.boxes[i].variable == variable)
			return sample->layout.boxes + i;
	return NULL;
}

static const struct sn_causal_way *way_of(const struct sample *sample, uint32_t arrow)
{
	for (uint32_t i = 0; i < sample->layout.way_count; i++)
		if (sample->layout.ways[i].arrow == arrow)
			return sample->layout.ways + i;
	return NULL;
}

/* Boxes are apart, ways begin and end at their boxes, and pass columns between boxes. */
static void check_apart(const struct sample *sample)
{
	const struct sn_causal_layout *layout = &sample->layout;
	for (uint32_t i = 0; i < layout->box_count; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct sn_causal_box *a = layout->boxes + i, *b = layout->boxes + j;
			assert_true(a->column != b->column || a->y >= b->y + b->height + 8 ||
				    b->y >= a->y + a->height + 8);
		}
	for (uint32_t i = 0; i < layout->way_count; i++) {
		const struct sn_causal_way *way = layout->ways + i;
		const struct sn_causal_arrow *arrow = sample->arrows + way->arrow;
		const struct sn_causal_point *end = way->points + way->point_count - 1;
		const struct sn_causal_box *from =
		    box_of(sample, way->is_backward ? arrow->to : arrow->from);
		const struct sn_causal_box *to =
		    box_of(sample, way->is_backward ? arrow->from : arrow->to);
		assert_true(from->column < to->column);
		assert_int_equal(way->point_count, 2 * (to->column - from->column));
		assert_true(fabs(way->points[0].x - from->x - from->width) < 1e-9);
		assert_true(way->points[0].y >= from->y &&
			    way->points[0].y <= from->y + from->height);
		assert_true(fabs(end->x - to->x) < 1e-9);
		assert_true(end->y >= to->y && end->y <= to->y + to->height);
		for (uint32_t p = 0; p + 1 < way->point_count; p++) {
			if (!way->points[p].is_across)
				continue;
			double y = way->points[p].y;
			uint32_t column = from->column + (p + 1) / 2;
			for (uint32_t b = 0; b < layout->box_count; b++) {
				const struct sn_causal_box *box = layout->boxes + b;
				assert_true(box->column != column || y < box->y ||
					    y > box->y + box->height);
			}
		}
	}
}

static void test_columns_go_by_the_longest_path(void **unused)
{
	static const uint32_t pairs[][2] = {{0, 1}, {1, 2}, {0, 2}, {3, 2}};
	struct sample sample;
	(void)unused;
	make(&sample, 5, NULL, 2, pairs, 4);
	lay_out(&sample, MOST);
	assert_int_equal(sample.layout.column_count, 3);
	assert_int_equal(sample.layout.box_count, 4); /* the fifth has no arrow */
	assert_null(box_of(&sample, 4));
	static const uint32_t columns[] = {0, 1, 2, 1}; /* 3 stands beside what it leads to */
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(box_of(&sample, i)->column, columns[i]);
	/* 0 -> 2 passes the column of 1 */
	assert_int_equal(way_of(&sample, 2)->point_count, 4);
	assert_true(way_of(&sample, 2)->points[1].is_across);
	check_apart(&sample);
	sn_causal_layout_release(&sample.layout);
}

static void test_tiers_have_columns_of_their_own(void **unused)
{
	/* 0 and 1 in the first tier, a chain of 2, 3 in the second; 1 leads to the end of the chain. */
	static const uint32_t tiers[] = {0, 0, 1, 1, 2},
			      pairs[][2] = {{0, 1}, {1, 4}, {2, 3}, {3, 4}, {4, 2}};
	struct sample sample;
	(void)unused;
	make(&sample, 5, tiers, 4, pairs, 5);
	lay_out(&sample, MOST);
	static const uint32_t columns[] = {0, 1, 2, 3, 4};
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(box_of(&sample, i)->column, columns[i]);
	/* against the tiers: drawn from right to left */
	assert_true(way_of(&sample, 4)->is_backward);
	assert_false(way_of(&sample, 1)->is_backward);
	check_apart(&sample);
	sn_causal_layout_release(&sample.layout);
}

static void test_cycles_are_opened(void **unused)
{
	static const uint32_t pairs[][2] = {{0, 1}, {1, 2}, {2, 0}};
	struct sample sample;
	(void)unused;
	make(&sample, 3, NULL, 2, pairs, 3);
	lay_out(&sample, MOST);
	unsigned backward = 0;
	for (uint32_t i = 0; i < 3; i++)
		backward += sample.layout.ways[i].is_backward;
	assert_int_equal(backward, 1);
	assert_int_equal(sample.layout.column_count, 3);
	check_apart(&sample);
	sn_causal_layout_release(&sample.layout);
}

static void test_an_undirected_edge_leads_to_the_target(void **unused)
{
	static const uint32_t pairs[][2] = {{0, 1}};
	struct sample sample;
	(void)unused;
	make(&sample, 2, NULL, 0, pairs, 1);
	sample.arrows[0].is_directed = false;
	lay_out(&sample, MOST);
	assert_int_equal(box_of(&sample, 0)->column, 1);
	assert_true(way_of(&sample, 0)->is_backward);
	sn_causal_layout_release(&sample.layout);
}

static void test_arrows_do_not_cross_where_they_need_not(void **unused)
{
	static const uint32_t pairs[][2] = {{0, 5}, {1, 4}, {2, 3}, {3, 6}, {4, 6}, {5, 6}};
	struct sample sample;
	(void)unused;
	make(&sample, 7, NULL, 6, pairs, 6);
	lay_out(&sample, MOST);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_true((box_of(&sample, i)->y < box_of(&sample, j)->y) ==
				    (box_of(&sample, 5 - i)->y < box_of(&sample, 5 - j)->y));
	/* and lie level, the target in the middle */
	for (uint32_t i = 0; i < 3; i++)
		assert_true(fabs(box_of(&sample, i)->y - box_of(&sample, 5 - i)->y) < 1);
	const struct sn_causal_box *target = box_of(&sample, 6), *middle = box_of(&sample, 4);
	assert_true(fabs(target->y + target->height / 2 - middle->y - middle->height / 2) < 1);
	sn_causal_layout_release(&sample.layout);
}

static void test_a_box_lies_beside_what_it_leads_to(void **unused)
{
	/* all of 0 to 4 lead to 5, and 4 alone to 6 */
	static const uint32_t pairs[][2] = {{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}, {4, 6}};
	struct sample sample;
	(void)unused;
	make(&sample, 7, NULL, 5, pairs, 6);
	lay_out(&sample, MOST);
	assert_int_equal(box_of(&sample, 6)->column, 1);
	assert_true(fabs(box_of(&sample, 6)->y - box_of(&sample, 4)->y) < 24);
	sn_causal_layout_release(&sample.layout);
}

static void test_of_many_the_nearest_are_drawn(void **unused)
{
	/* a chain 0 -> 1 -> ... -> 9, and 10 beside it without a way to the target */
	uint32_t pairs[10][2];
	struct sample sample;
	(void)unused;
	for (uint32_t i = 0; i < 9; i++)
		pairs[i][0] = i, pairs[i][1] = i + 1;
	pairs[9][0] = 10, pairs[9][1] = 11;
	make(&sample, 12, NULL, 5, pairs, 10);
	lay_out(&sample, 5);
	assert_int_equal(sample.layout.box_count, 5);
	assert_int_equal(sample.layout.left_out, 7);
	for (uint32_t i = 3; i <= 7; i++)
		assert_non_null(box_of(&sample, i));
	assert_int_equal(sample.layout.way_count, 4);
	sn_causal_layout_release(&sample.layout);
}

static void test_nothing_to_draw(void **unused)
{
	struct sample sample;
	(void)unused;
	make(&sample, 3, NULL, 1, NULL, 0);
	lay_out(&sample, MOST);
	assert_int_equal(sample.layout.box_count, 1);
	assert_int_equal(sample.layout.boxes[0].variable, 1);
	sn_causal_layout_release(&sample.layout);
	make(&sample, 0, NULL, SN_CAUSAL_NO_TARGET, NULL, 0);
	lay_out(&sample, MOST);
	assert_int_equal(sample.layout.box_count + sample.layout.column_count, 0);
	sn_causal_layout_release(&sample.layout);
}

static void test_boxes_and_ways_of_any_graph_are_apart(void **unused)
{
	static struct sample sample;
	static uint32_t pairs[MOST][2], tiers[60];
	uint32_t state = 12345;
	(void)unused;
	for (unsigned round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 60; i++)
			tiers[i] = i / 15 * (round % 2);
		size_t count = 0;
		for (size_t i = 0; i < 120; i++) {
			state = state * 1664525 + 1013904223;
			uint32_t a = (state >> 8) % 60, b = (state >> 16) % 60;
			if (a != b)
				pairs[count][0] = a, pairs[count++][1] = b;
		}
		make(&sample, 60, tiers, 59, (const uint32_t(*)[2])pairs, count);
		lay_out(&sample, MOST);
		assert_int_equal(sample.layout.way_count, count);
		check_apart(&sample);
		sn_causal_layout_release(&sample.layout);
	}
}

static void test_a_sign_needs_an_interval_without_zero(void **unused)
{
	static const struct {
		double effect, low, high;
		int sign;
	} cases[] = {{0.4, 0.1, 0.7, 1}, {-0.4, -0.7, -0.1, -1}, {0.4, -0.1, 0.7, 0},
		     {-0.4, -0.7, 0, 0}, {NAN, NAN, NAN, 0},	 {0, 0, 0, 0}};
	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(
		    sn_causal_sign(&(struct sn_causal_arrow){.effect = cases[i].effect,
							     .effect_low = cases[i].low,
							     .effect_high = cases[i].high}),
		    cases[i].sign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_columns_go_by_the_longest_path),
	    cmocka_unit_test(test_tiers_have_columns_of_their_own),
	    cmocka_unit_test(test_cycles_are_opened),
	    cmocka_unit_test(test_an_undirected_edge_leads_to_the_target),
	    cmocka_unit_test(test_arrows_do_not_cross_where_they_need_not),
	    cmocka_unit_test(test_a_box_lies_beside_what_it_leads_to),
	    cmocka_unit_test(test_of_many_the_nearest_are_drawn),
	    cmocka_unit_test(test_nothing_to_draw),
	    cmocka_unit_test(test_boxes_and_ways_of_any_graph_are_apart),
	    cmocka_unit_test(test_a_sign_needs_an_interval_without_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
