/* SPDX-License-Identifier: Apache-2.0 */
/* The zoomed path: each caller leads back to it. */
import { nameOf, spellings } from '../logic/label.ts';
import { ROOT } from '../logic/tree.ts';
import { formatShare } from '../logic/units.ts';
import type { App, View } from './app.ts';
import { h, icon, ICONS } from './dom.ts';

/* Crumbs shown at the end of a long path; the ones before are one click on the graph away. */
const MOST_CRUMBS = 8;

export function createBreadcrumb(app: App): View {
	const element = h('nav', { class: 'breadcrumb', 'aria-label': 'Zoomed path' });
	const update = (): void => {
		const { tree } = app;
		const zoomed = tree.find(app.state.zoom);
		const nodes = tree.nodesTo(zoomed);
		const left = nodes.length > MOST_CRUMBS + 1 ? [ROOT, -1, ...nodes.slice(-MOST_CRUMBS)] : nodes;
		const crumbs = left.map((node) => {
			if (node < 0) return h('span', { class: 'crumb-gap' }, `… ${nodes.length - left.length + 1} more`);
			const name = node === ROOT ? 'All' : nameOf(app.model.profile, tree.frameOf(node));
			const short = spellings(name);
			return h('button', {
				type: 'button', class: 'crumb', title: name, 'aria-current': node === zoomed ? 'true' : null,
				onclick: () => (node === ROOT ? app.reset() : app.zoomTo(node)),
			}, short[short.length - 1]!);
		});
		const share = h('span', { class: 'crumb-share', id: 'zoom-share' }, formatShare(tree.weight[zoomed]!, tree.total));
		const reset = h('button', {
			type: 'button', class: 'bare', id: 'reset', title: 'Show everything (0)', 'aria-label': 'Show everything',
			onclick: () => app.reset(),
		}, icon(ICONS.close));
		element.replaceChildren(h('div', { class: 'crumbs' }, ...crumbs), share, ...(zoomed === ROOT ? [] : [reset]));
	};
	return { element, update };
}
