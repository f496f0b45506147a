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

export function layOut(tree: Tree, view: View, widthPixels: number, leastPixels: number): Layout {
	const rows: Box[][] = [];
	const scale = widthPixels / (view.to - view.from);
	let boxCount = 0;
	const add = (box: Box): void => {
		(rows[box.row] ??= []).push(box);
		boxCount++;
	};
	const place = (start: number): number => (start - view.from) * scale;
	const visit = (node: number): void => {
		const left = place(tree.start[node]!);
		const row = tree.depth[node]!;
		add({ node, rest: 0, row, left, right: left + tree.width(node) * scale, weight: tree.weight[node]! });
		const { first, count } = tree.children(node);
		for (let child = first; child < first + count; child++) {
			const childLeft = place(tree.start[child]!);
			if (childLeft >= widthPixels) break;
			const pixels = tree.width(child) * scale;
			if (pixels < leastPixels) {
				addRest(child, first + count - child, row + 1, childLeft);
				break;
			}
			if (childLeft + pixels > 0) visit(child);
		}
	};
	/* Siblings are sorted, so all that follow the first narrow one are narrow as well. */
	const addRest = (node: number, rest: number, row: number, left: number): void => {
		let weight = 0;
		for (let n = node; n < node + rest; n++) weight += tree.weight[n]!;
		const right = left + (weight / tree.total) * scale;
		if (right > 0 && right - left >= 1) add({ node, rest, row, left, right, weight });
	};
	if (tree.total > 0) visit(ROOT);
	return { rows, boxCount };
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
