/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph: turns state into a drawn scene, and pointer and wheel into state. The stretch of
 * the picture in view moves smoothly to what the state asks for; that motion is the only thing kept
 * here. Only the rows in sight are drawn, so a stack of ten thousand frames scrolls like one of ten.
 */
import { FlameCanvas } from '../canvas/flame.ts';
import type { Look, Scene } from '../canvas/flame.ts';
import { LEAST_PIXELS, readPaint, ROW_PIXELS } from '../canvas/theme.ts';
import { css, INK, layerColour, moduleColour } from '../logic/colour.ts';
import type { Theme } from '../logic/colour.ts';
import { isBackward, layerOf } from '../logic/keys.ts';
import { boxSpellings, moduleOf, nameOf } from '../logic/label.ts';
import { hit, layOut } from '../logic/layout.ts';
import type { Box, Layout, View as Stretch } from '../logic/layout.ts';
import { HOT_SHARE } from '../logic/model.ts';
import type { Found } from '../logic/model.ts';
import { between, shifted, viewOf, zoomedAt } from '../logic/motion.ts';
import { ROOT } from '../logic/tree.ts';
import type { Tree } from '../logic/tree.ts';
import { formatShare, formatValue, grouped } from '../logic/units.ts';
import type { Changed, State } from '../store.ts';
import type { App, View } from './app.ts';
import { h } from './dom.ts';
import { Tooltip } from './tooltip.ts';

const MOTION_MS = 260;
const ROWS_ABOVE_ZOOM = 2;
const ROWS_BELOW_ZOOM = 10;
const LEGIBLE_PIXELS = 60;
const DRAG_PIXELS = 4;
/* On paper: pixels of a page's width, rows that a page holds, and dots for each pixel. */
const PRINTED_WIDTH = 1000;
const PRINTED_ROWS = 48;
const PRINTED_DENSITY = 2;

/* What drawing cost, for docs/results and the tests. */
export interface DrawCosts {
	draws: number;
	lastMs: number;
	worstMs: number;
	boxes: number;
}

export class Graph implements View {
	readonly element: HTMLElement;
	readonly tooltip: Tooltip;
	readonly costs: DrawCosts = { draws: 0, lastMs: 0, worstMs: 0, boxes: 0 };
	private readonly scroller = h('div', { class: 'scroller' });
	private readonly spacer = h('div', { class: 'spacer' });
	private readonly stage = h('div', { class: 'stage' });
	private readonly empty = h('div', { class: 'empty', id: 'empty', hidden: true });
	private readonly printed = h('canvas', { class: 'printed' });
	private readonly flame: FlameCanvas;
	private tree: Tree;
	private layout: Layout = { rows: [], boxCount: 0 };
	private view: Stretch = { from: 0, to: 1 };
	private width = 0;
	private height = 0;
	private hovered: Box | undefined;
	private drag: { x: number; y: number; view: Stretch; top: number; moved: boolean } | undefined;
	private motion = 0;
	/* Where the motion leads. */
	private bound: Stretch = this.view;
	private fills: string[] = [];
	private layers: string[] = [];
	private active: Found | undefined;

	constructor(
		private readonly app: App,
		private readonly theme: () => Theme,
		private readonly onHover: (node: number) => void,
	) {
		this.tooltip = new Tooltip(app);
		this.tree = app.tree;
		const base = h('canvas', { class: 'base' });
		const over = h('canvas', { class: 'over' });
		this.stage.append(base, over);
		this.scroller.append(this.stage, this.spacer);
		this.element = h('div', {
			class: 'graph', id: 'graph', tabindex: 0, role: 'application', 'aria-roledescription': 'flame graph',
			'aria-label': 'Flame graph. Arrow keys select, Enter zooms, question mark shows help.',
		}, this.scroller, this.printed, this.empty);
		this.flame = new FlameCanvas(base, over, readPaint(theme(), INK[theme()]), (key) => this.spell(key));
		this.listen();
	}

	update(state: State, changed: Changed): void {
		const first = changed.size === 0;
		const has = (...names: (keyof State)[]): boolean => first || names.some((name) => changed.has(name));
		if (has('theme')) this.flame.setPaint(readPaint(this.theme(), INK[this.theme()]));
		if (has('theme', 'colour', 'granularity')) this.fills = [];
		const tree = this.app.tree;
		if (tree !== this.tree || first) this.changeTree(tree);
		this.active = this.app.model.found(state) ?? this.app.model.marked(state);
		if (has('zoom', 'metric', 'measure', 'direction', 'granularity', 'folded')) this.moveToZoom(!first && has('zoom'));
		else this.draw();
		if (changed.has('selected')) this.showSelected();
	}

	/* Everything again: the size, the theme or the medium has changed. */
	refresh(): void {
		this.flame.setPaint(readPaint(this.theme(), INK[this.theme()]));
		this.fills = [];
		this.resize();
	}

	get selectedNode(): number {
		const { selected } = this.app.state;
		return selected ? this.tree.find(selected) : -1;
	}

	get zoomedNode(): number {
		return this.tree.find(this.app.state.zoom);
	}

	/* True where the view was moved by hand and goes back to the zoomed box. */
	settle(): boolean {
		const target = viewOf(this.tree, this.zoomedNode);
		const { from, to } = this.moving ? this.bound : this.view;
		if (target.from === from && target.to === to) return false;
		this.moveTo(target, this.scroller.scrollTop);
		return true;
	}

	/* Moves the selection as the arrow keys ask. */
	arrow(key: string): void {
		const at = this.selectedNode < 0 ? this.zoomedNode : this.selectedNode;
		const next = this.selectedNode < 0 ? at : this.neighbour(at, key);
		if (next >= 0) this.app.select(next);
	}

	get moving(): boolean {
		return this.motion !== 0;
	}

	/* Boxes as drawn, for tests. */
	get boxes(): readonly (readonly Box[])[] {
		return this.layout.rows;
	}

	get currentTree(): Tree {
		return this.tree;
	}

	private neighbour(node: number, key: string): number {
		if (key === 'ArrowUp') return this.tree.parent[node]!;
		if (key === 'ArrowDown') {
			const { first, count } = this.tree.children(node);
			return count > 0 ? first : -1;
		}
		const row = (this.layout.rows[this.tree.depth[node]!] ?? []).filter((box) => box.rest === 0);
		const at = row.findIndex((box) => box.node === node);
		return row[at + (key === 'ArrowLeft' ? -1 : 1)]?.node ?? -1;
	}

	private listen(): void {
		const { stage, scroller } = this;
		new ResizeObserver(() => this.resize()).observe(scroller);
		addEventListener('beforeprint', () => this.print());
		scroller.addEventListener('scroll', () => {
			this.clearHover();
			this.draw();
		}, { passive: true });
		stage.addEventListener('pointerdown', (event) => {
			if (event.button === 0 && event.pointerType !== 'touch')
				this.drag = { x: event.clientX, y: event.clientY, view: this.view, top: scroller.scrollTop, moved: false };
		});
		stage.addEventListener('pointermove', (event) => (this.drag ? this.dragged(event) : this.hover(event)));
		stage.addEventListener('pointerleave', () => this.clearHover());
		stage.addEventListener('click', (event) => this.click(event));
		stage.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
	}

	private boxAt(event: MouseEvent): Box | undefined {
		const row = Math.floor((event.offsetY + this.scroller.scrollTop) / ROW_PIXELS);
		return hit(this.layout, row, event.offsetX);
	}

	private hover(event: PointerEvent): void {
		if (this.moving) return;
		const box = this.boxAt(event);
		const other = box?.node !== this.hovered?.node || box?.rest !== this.hovered?.rest;
		this.hovered = box;
		this.stage.style.cursor = box ? 'pointer' : '';
		if (box && event.pointerType !== 'touch') this.tooltip.show(box, event.clientX, event.clientY);
		else this.tooltip.hide();
		if (!other) return;
		this.drawOver();
		this.onHover(box && box.rest === 0 ? box.node : -1);
	}

	/* Moves the picture with the pointer, once it is clear that this is no click. */
	private dragged(event: PointerEvent): void {
		const drag = this.drag!;
		if (event.buttons === 0) {
			this.drag = undefined;
			return;
		}
		const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
		if (!drag.moved && Math.hypot(x, y) < DRAG_PIXELS) return;
		if (!drag.moved) this.stage.setPointerCapture(event.pointerId);
		drag.moved = true;
		this.stopMotion();
		this.clearHover();
		this.stage.style.cursor = 'grabbing';
		this.setView(shifted(drag.view, -x / this.width));
		this.scroller.scrollTop = drag.top - y;
	}

	private clearHover(): void {
		this.tooltip.hide();
		if (!this.hovered) return;
		this.hovered = undefined;
		this.drawOver();
		this.onHover(-1);
	}

	private click(event: MouseEvent): void {
		const dragged = this.drag?.moved;
		this.drag = undefined;
		const box = this.boxAt(event);
		if (!box || dragged) return;
		this.clearHover();
		if (box.rest === 0) {
			this.app.zoomTo(box.node);
			return;
		}
		/* Not wider than lets the costliest of them be read: thousands of equals would stay hidden. */
		const from = this.tree.start[box.node]!;
		const legible = (this.tree.width(box.node) * this.width) / LEGIBLE_PIXELS;
		this.moveTo({ from, to: from + Math.min(box.weight / this.tree.total, legible) }, this.scroller.scrollTop);
	}

	private wheel(event: WheelEvent): void {
		const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
		if (!event.ctrlKey && !event.metaKey && !sideways) return;
		event.preventDefault();
		this.stopMotion();
		this.clearHover();
		if (sideways && !event.ctrlKey) {
			this.setView(shifted(this.view, (event.deltaX || event.deltaY) / this.width));
		} else {
			this.setView(zoomedAt(this.view, event.offsetX / this.width, Math.exp(event.deltaY / 300)));
		}
	}

	private changeTree(tree: Tree): void {
		this.tree = tree;
		this.layers = [];
		this.hovered = undefined;
		this.tooltip.hide();
		this.flame.setSpelling((key) => this.spell(key));
		const isEmpty = !(tree.total > 0);
		const isRootAlone = !isEmpty && tree.children(ROOT).count === 0;
		this.empty.hidden = !isEmpty && !isRootAlone;
		this.empty.classList.toggle('over', isRootAlone);
		this.scroller.hidden = isEmpty;
		if (isEmpty) this.empty.replaceChildren(...this.emptyContent());
		else if (isRootAlone) this.empty.replaceChildren(...this.rootAloneContent());
	}

	private emptyContent(): HTMLElement[] {
		const { model, state, store } = this.app;
		const metric = model.metric(state);
		const others = model.profile.metrics.map((other, i) => ({ other, i })).filter(({ other }) => other.contexts.length > 0);
		return [
			h('h2', {}, metric ? `No values of ${metric.name}` : 'Nothing was measured'),
			h('p', {}, metric ? 'The program did nothing that this metric counts while it was measured.'
				: 'The database holds no metric. sonde info shows what was switched on.'),
			...(others.length > 0 ? [h('p', {}, 'Look at instead:')] : []),
			...others.map(({ other, i }) =>
				h('button', { type: 'button', class: 'action', onclick: () => store.update({ metric: i, formula: -1 }) }, other.name)),
		];
	}

	private rootAloneContent(): HTMLElement[] {
		const [title, text] = this.app.state.folded.size > 0
			? ['Everything is folded away', 'All cost went to the root: show a layer again in the legend.']
			: ['No call paths', 'The sum is known, but none of it was measured at a call path: a program that ends soon meets no sample.'];
		return [h('h2', {}, title), h('p', {}, text)];
	}

	private spell(key: number): string[] {
		const { model, state } = this.app;
		if (key >= 0) return boxSpellings(model.profile, this.tree.keys.frame[key]!, state.granularity);
		const total = formatValue(this.tree.total, model.unit(state));
		const what = state.measure === 'count' ? 'values of ' : '';
		return [`All  ·  ${total} ${what}${model.metric(state)?.name ?? ''}`, `All  ·  ${total}`, 'All'];
	}

	private resize(): void {
		const { clientWidth, clientHeight } = this.scroller;
		if (clientWidth === 0 || clientHeight === 0) return;
		this.width = clientWidth;
		this.height = clientHeight;
		this.stage.style.height = `${clientHeight}px`;
		this.flame.resize(clientWidth, clientHeight, devicePixelRatio || 1);
		this.setView(this.view);
	}

	private setView(view: Stretch): void {
		this.view = view;
		this.layout = this.layOutView(view);
		this.setContentRows(this.layout.rows.length);
		this.draw();
	}

	private layOutView(view: Stretch): Layout {
		return layOut(this.tree, view, this.width, LEAST_PIXELS);
	}

	private setContentRows(rows: number): void {
		this.spacer.style.height = `${Math.max(0, (rows + 1) * ROW_PIXELS - this.height)}px`;
	}

	/*
	 * The same stretch as a picture of its own for paper: pages are laid out after the last moment at
	 * which the one on the screen could follow. Of a deep one, the rows from the one on top in sight.
	 */
	private print(): void {
		this.printed.hidden = !(this.tree.total > 0);
		if (this.printed.hidden) return;
		const layout = layOut(this.tree, this.view, PRINTED_WIDTH, LEAST_PIXELS);
		const rows = Math.min(layout.rows.length, PRINTED_ROWS);
		const first = Math.min(Math.floor(this.scroller.scrollTop / ROW_PIXELS), layout.rows.length - rows);
		const flame = new FlameCanvas(this.printed, h('canvas'), readPaint(this.theme(), INK[this.theme()]), (key) => this.spell(key));
		flame.resize(PRINTED_WIDTH, rows * ROW_PIXELS, PRINTED_DENSITY);
		flame.draw(this.scene(layout, first * ROW_PIXELS));
	}

	private moveToZoom(smooth: boolean): void {
		const node = this.zoomedNode;
		const row = this.tree.depth[node]!;
		const tall = (row + ROWS_BELOW_ZOOM) * ROW_PIXELS > this.height;
		const top = tall ? Math.max(0, row - ROWS_ABOVE_ZOOM) * ROW_PIXELS : 0;
		const target = viewOf(this.tree, node);
		if (smooth) {
			this.moveTo(target, top);
			return;
		}
		this.stopMotion();
		this.setView(target);
		this.scroller.scrollTop = top;
	}

	private moveTo(target: Stretch, top: number): void {
		this.stopMotion();
		const from = this.view;
		const fromTop = this.scroller.scrollTop;
		const begun = performance.now();
		const duration = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : MOTION_MS;
		const step = (now: number): void => {
			const t = duration > 0 ? Math.min(1, (now - begun) / duration) : 1;
			const eased = 1 - (1 - Math.max(0, t)) ** 3;
			this.motion = t < 1 ? requestAnimationFrame(step) : 0;
			this.view = t < 1 ? between(from, target, eased) : target;
			this.layout = this.layOutView(this.view);
			this.setContentRows(Math.max(this.layout.rows.length, Math.ceil((Math.max(top, fromTop) + this.height) / ROW_PIXELS) - 1));
			this.scroller.scrollTop = fromTop + (top - fromTop) * eased;
			if (t === 1) this.setContentRows(this.layout.rows.length);
			this.draw();
		};
		this.bound = target;
		this.motion = requestAnimationFrame(step);
	}

	private stopMotion(): void {
		cancelAnimationFrame(this.motion);
		this.motion = 0;
	}

	/* Scrolls to the selected box; one too narrow to be drawn is zoomed to. */
	private showSelected(): void {
		const node = this.selectedNode;
		if (node < 0) return;
		const frame = this.tree.frameOf(node);
		this.app.announce(`${nameOf(this.app.model.profile, frame)}, ${formatShare(this.tree.weight[node]!, this.tree.total)}`);
		if (this.moving) return;
		if (!this.findBox(node)) {
			this.app.zoomTo(node);
			return;
		}
		const top = this.tree.depth[node]! * ROW_PIXELS;
		const { scrollTop } = this.scroller;
		if (top < scrollTop) this.scroller.scrollTop = top - ROW_PIXELS;
		else if (top + ROW_PIXELS > scrollTop + this.height) this.scroller.scrollTop = top + 2 * ROW_PIXELS - this.height;
	}

	private findBox(node: number): Box | undefined {
		return this.layout.rows[this.tree.depth[node]!]?.find((box) => box.node === node && box.rest === 0);
	}

	private look(box: Box): Look {
		const { tree, active } = this;
		const { node } = box;
		const key = tree.key[node]!;
		const { dimmedBut } = this.app.state;
		const layer = (this.layers[key + 1] ??= layerOf(tree.profile, tree.frameOf(node)));
		const found = key >= 0 && active !== undefined && active.keys[key] === 1;
		const own = tree.own[node]!;
		return {
			fill: (this.fills[key + 1] ??= this.fill(node, layer)),
			key,
			faded: (active !== undefined && !found) || (dimmedBut !== '' && layer !== dimmedBut),
			found,
			own: own >= HOT_SHARE * tree.total && node !== ROOT ? own / tree.weight[node]! : 0,
		};
	}

	private fill(node: number, layer: string): string {
		const { profile } = this.app.model;
		const frame = this.tree.frameOf(node);
		const name = nameOf(profile, frame);
		if (node === ROOT) return css(layerColour('thread', '', this.theme()));
		if (this.app.state.colour === 'module') return css(moduleColour(moduleOf(profile, frame), name, this.theme()));
		return css(layerColour(layer, name, this.theme(), isBackward(profile, frame)));
	}

	private scene(layout: Layout, scrollTop: number): Scene {
		return {
			layout,
			scrollTop,
			zoomRow: this.tree.depth[this.zoomedNode]!,
			look: (box) => this.look(box),
			restLabel: (box) => `${grouped(box.rest)} narrow · ${formatShare(box.weight, this.tree.total)}`,
		};
	}

	private draw(): void {
		if (this.width === 0) return;
		const begun = performance.now();
		this.flame.draw(this.scene(this.layout, this.scroller.scrollTop));
		this.drawOver();
		this.costs.draws++;
		this.costs.lastMs = performance.now() - begun;
		this.costs.worstMs = Math.max(this.costs.worstMs, this.costs.lastMs);
		this.costs.boxes = this.layout.boxCount;
	}

	private drawOver(): void {
		const node = this.selectedNode;
		this.flame.drawOver(this.scroller.scrollTop, this.hovered, node >= 0 ? this.findBox(node) : undefined);
	}
}
