/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of the flame graph's width, and the way from one to another. */
import type { View } from './layout.ts';
import type { Tree } from './tree.ts';

/* Doubles place boxes exactly down to here. */
const LEAST_SPAN = 1e-9;

export function viewOf(tree: Tree, node: number): View {
	const from = tree.start[node]!;
	return { from, to: from + Math.max(LEAST_SPAN, tree.width(node)) };
}

/*
 * At t of the way. The span changes by equal factors in equal times, so that a zoom by a thousand
 * looks as even as one by two; the point that lies alike in both views stays in place.
 */
export function between(a: View, b: View, t: number): View {
	const spanA = a.to - a.from;
	const spanB = b.to - b.from;
	if (Math.abs(spanB / spanA - 1) < 1e-3) {
		return { from: a.from + (b.from - a.from) * t, to: a.to + (b.to - a.to) * t };
	}
	const span = spanA * (spanB / spanA) ** t;
	const fixed = (a.from * spanB - b.from * spanA) / (spanB - spanA);
	const from = fixed - (fixed - a.from) * (span / spanA);
	return { from, to: from + span };
}

/* `view` moved by a share of its own span, kept within the whole. */
export function shifted(view: View, by: number): View {
	const span = view.to - view.from;
	const from = Math.min(1 - span, Math.max(0, view.from + by * span));
	return { from, to: from + span };
}

/* `view` scaled by `factor` around the point at share `at` of it, kept within the whole. */
export function zoomedAt(view: View, at: number, factor: number): View {
	const old = view.to - view.from;
	const span = Math.min(1, Math.max(LEAST_SPAN, old * factor));
	const from = Math.min(1 - span, Math.max(0, view.from + at * (old - span)));
	return { from, to: from + span };
}
