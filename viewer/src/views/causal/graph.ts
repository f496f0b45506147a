/* SPDX-License-Identifier: Apache-2.0 */
/* The causal graph: the picture that the command draws, with notes at its arrows and variables to choose. */
import type { Graph } from '../../format/causal.ts';
import { edgeName, factsOf, relatedEdges } from '../../logic/causes.ts';
import { h } from '../dom.ts';
import { Note } from '../note.ts';
import type { CausesApp, CausesState, CausesView } from './state.ts';

/* A picture that is too wide is made smaller down to this, then scrolled. */
const SMALLEST = 0.75;

interface Part {
	readonly element: SVGElement;
	readonly number: number;
}

/* The picture as elements of the page. Its rules for dark paper obey the page's switch. */
function readPicture(text: string): { svg: SVGSVGElement; dark: Element; darkRules: string } {
	const parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
	if (parsed.localName !== 'svg') throw new Error('the picture of the graph is damaged');
	const svg = document.importNode(parsed, true) as unknown as SVGSVGElement;
	const dark = svg.querySelectorAll('style')[1]!;
	const rules = dark.textContent ?? '';
	return { svg, dark, darkRules: rules.slice(rules.indexOf('{') + 1, rules.lastIndexOf('}')) };
}

function partsOf(svg: SVGSVGElement, kind: string): Part[] {
	return [...svg.querySelectorAll<SVGElement>(`[id^="${kind}-"]`)].map((element) => ({ element, number: Number(element.id.slice(kind.length + 1)) }));
}

export class GraphView implements CausesView {
	readonly element: HTMLElement;
	readonly note = new Note();
	private readonly arrows: Part[];
	private readonly variables: Part[];
	private readonly picture: ReturnType<typeof readPicture>;
	private readonly told = h('p', { class: 'remark', id: 'chosen' });

	constructor(private readonly app: CausesApp, private readonly graph: Graph) {
		this.picture = readPicture(app.causes.picture);
		const { svg } = this.picture;
		const width = svg.width.baseVal.value;
		svg.style.width = `clamp(${Math.min(width, Math.round(width * SMALLEST))}px, 100%, ${width}px)`;
		svg.removeAttribute('height');
		svg.setAttribute('role', 'group');
		svg.setAttribute('aria-label', 'Causal graph. Variables can be chosen; the edges are in the table below.');
		this.arrows = partsOf(svg, 'arrow');
		this.variables = partsOf(svg, 'variable');
		this.element = h('section', { class: 'picture', id: 'graph', tabindex: -1, 'aria-label': 'Causal graph' }, h('div', { class: 'scroll' }, svg as unknown as Node), this.told);
		this.listen();
	}

	update(state: CausesState, changed: ReadonlySet<string>): void {
		if (changed.size === 0 || changed.has('theme')) this.picture.dark.textContent = this.app.theme() === 'dark' ? this.picture.darkRules : '';
		if (changed.size === 0 || changed.has('chosen')) this.showChosen(state.chosen);
	}

	private showChosen(chosen: number): void {
		const { edges, nodes } = this.graph;
		const related = chosen < 0 ? null : relatedEdges(this.graph, chosen);
		const names = new Set(chosen < 0 ? nodes : [nodes[chosen]!, ...[...related!].flatMap((i) => [edges[i]!.from, edges[i]!.to])]);
		for (const { element, number } of this.arrows) element.classList.toggle('faded', related !== null && !related.has(number));
		for (const { element, number } of this.variables) {
			element.classList.toggle('faded', !names.has(nodes[number]!));
			element.setAttribute('aria-pressed', String(number === chosen));
		}
		this.told.textContent = chosen < 0 ? 'Point at an arrow for its effect; click a variable for its causes and effects alone.'
			: `Shown: the causes and effects of ${nodes[chosen]}. Click it again, or press Esc, for all.`;
		if (chosen >= 0) this.app.announce(this.told.textContent);
	}

	private showArrow(number: number, x: number, y: number): void {
		const edge = this.graph.edges[number]!;
		const rows = factsOf(edge).map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'number' }, value)));
		this.note.fill(h('div', { class: 'name' }, edgeName(edge)), h('table', {}, ...rows));
		this.note.place(x, y);
	}

	private showVariable(number: number, x: number, y: number): void {
		const name = this.graph.nodes[number]!;
		const count = (end: 'from' | 'to'): number => this.graph.edges.filter((edge) => edge.directed && edge[end] === name).length;
		this.note.fill(h('div', { class: 'name' }, name), h('div', { class: 'where' }, `direct causes: ${count('to')}, direct effects: ${count('from')}`));
		this.note.place(x, y);
	}

	private listen(): void {
		const { store } = this.app;
		/* the page's notes stand in for the picture's */
		for (const title of this.picture.svg.querySelectorAll('title')) title.remove();
		for (const { element, number } of this.arrows) {
			element.addEventListener('pointermove', (event) => this.showArrow(number, event.clientX, event.clientY));
			element.addEventListener('pointerleave', () => this.note.hide());
		}
		const choose = (number: number): void => store.update({ chosen: store.state.chosen === number ? -1 : number });
		for (const { element, number } of this.variables) {
			element.setAttribute('tabindex', '0');
			element.setAttribute('role', 'button');
			element.setAttribute('aria-label', this.graph.nodes[number]!);
			element.addEventListener('pointermove', (event) => this.showVariable(number, event.clientX, event.clientY));
			element.addEventListener('pointerleave', () => this.note.hide());
			element.addEventListener('click', (event) => {
				event.stopPropagation();
				choose(number);
			});
			element.addEventListener('keydown', (event) => {
				if (event.key !== 'Enter' && event.key !== ' ') return;
				event.preventDefault();
				choose(number);
			});
		}
		this.picture.svg.addEventListener('click', () => store.update({ chosen: -1 }));
	}
}
