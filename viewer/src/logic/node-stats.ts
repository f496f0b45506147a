/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full statistics of a tree's node in any metric, also one that the tree is not drawn by. A node of
 * a bottom-up tree has its function's own cost along one path: inclusive and exclusive are the same.
 */
import type { Metric } from '../format/decode.ts';
import { ownStat, statOfContexts } from './stats.ts';
import type { Stat } from './stats.ts';
import { ROOT } from './tree.ts';
import type { Tree } from './tree.ts';

/* All contexts whose exclusive values are a node's own: those it stands for and what is folded into them. */
function ownContexts(tree: Tree, node: number): Set<number> {
	const { end } = tree.profile.contexts;
	const { shown } = tree.visibility;
	const own = new Set<number>();
	for (const context of tree.contextsOf(node)) {
		own.add(context);
		for (let c = context + 1; c < end[context]!; ) {
			if (shown[c] === c) {
				c = end[c]!;
			} else {
				own.add(c);
				c++;
			}
		}
	}
	return own;
}

export interface NodeStats {
	readonly inclusive: Stat;
	readonly exclusive: Stat;
	/* What count, mean and extremes are of beside the inclusive sum: the calls of what the node stands for, or all values. */
	readonly counted: Stat;
}

/* Kept per tree: the root's and the caller's are asked for again with every frame. */
const kept = new WeakMap<Tree, Map<string, NodeStats>>();

export function statsOf(tree: Tree, node: number, metric: Metric): NodeStats {
	let known = kept.get(tree);
	if (!known) kept.set(tree, (known = new Map<string, NodeStats>()));
	const name = `${node} ${metric.name}`;
	let stats = known.get(name);
	if (!stats) known.set(name, (stats = computeStats(tree, node, metric)));
	return stats;
}

function computeStats(tree: Tree, node: number, metric: Metric): NodeStats {
	const exclusive = ownStat(metric, ownContexts(tree, node));
	const calls = metric.calls && ownStat(metric.calls, new Set(tree.contextsOf(node)));
	if (tree.direction === 'bottom-up' && node !== ROOT) return { inclusive: exclusive, exclusive, counted: calls ?? exclusive };
	const inclusive = statOfContexts(tree.profile.contexts, metric, tree.contextsOf(node));
	return { inclusive, exclusive, counted: calls ?? inclusive };
}
