/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boxes a flame graph shows in a stretch of its width. Boxes too narrow to be seen are not
 * walked; what a row leaves out is added up in one box, so that no cost disappears from the picture.
 */
import { ROOT } from './tree.ts';
import type { Tree } from './tree.ts';

export interface View {
	readonly from: number; /* shares of the whole width, 0..1 */
	readonly to: number;
}

export interface Box {
	readonly node: number; /* for a remainder: the first node left out */
	readonly rest: number; /* 0 for a node; else how many siblings are left out */
	readonly row: number;
	readonly left: number; /* pixels, not clipped to the view */
	readonly right: number;
	readonly weight: number;
}

/* Boxes in drawing order by row; each row's boxes from left to right. */
export interface Layout {
	readonly rows: readonly (readonly Box[])[];
	readonly boxCount: number;
}

/* Walks without recursion: a stack of calls may be deeper than this program's own may be. */
export function layOut(tree: Tree, view: View, widthPixels: number, leastPixels: number): Layout {
	const rows: Box[][] = [];
	const scale = widthPixels / (view.to - view.from);
	let boxCount = 0;
	const add = (box: Box): void => {
		(rows[box.row] ??= []).push(box);
		boxCount++;
	};
	const place = (node: number): number => (tree.start[node]! - view.from) * scale;
	/* Nodes to come, the next one last; one whose siblings from there on are left out as ~node. */
	const waiting: number[] = tree.total > 0 ? [ROOT] : [];
	const addNode = (node: number): void => {
		const left = place(node);
		add({
			node, rest: 0, row: tree.depth[node]!, left, right: left + tree.width(node) * scale, weight: tree.weight[node]!,
		});
		const firstWaiting = waiting.length;
		const { first, count } = tree.children(node);
		for (let child = first; child < first + count && place(child) < widthPixels; child++) {
			const pixels = tree.width(child) * scale;
			/* Siblings are sorted: all that follow the first narrow one are narrow as well. */
			if (pixels < leastPixels) {
				waiting.push(~child);
				break;
			}
			if (place(child) + pixels > 0) waiting.push(child);
		}
		reverseFrom(waiting, firstWaiting);
	};
	const addRest = (node: number): void => {
		const { first, count } = tree.children(tree.parent[node]!);
		const rest = first + count - node;
		let weight = 0;
		for (let n = node; n < node + rest; n++) weight += tree.weight[n]!;
		const left = place(node);
		const right = left + (weight / tree.total) * scale;
		if (right > 0 && right - left >= 1) add({ node, rest, row: tree.depth[node]!, left, right, weight });
	};
	for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
		if (next >= 0) addNode(next);
		else addRest(~next);
	}
	return { rows, boxCount };
}

function reverseFrom(list: number[], first: number): void {
	for (let a = first, b = list.length - 1; a < b; a++, b--) [list[a], list[b]] = [list[b]!, list[a]!];
}

/* The box at a point, or undefined. Rows are searched by halves. */
export function hit(layout: Layout, row: number, x: number): Box | undefined {
	const boxes = layout.rows[row];
	if (!boxes) return undefined;
	let low = 0;
	let high = boxes.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (boxes[middle]!.right <= x) low = middle + 1;
		else high = middle;
	}
	const box = boxes[low];
	return box && box.left <= x ? box : undefined;
}
