/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the whole page. Fields keep the keys that they need themselves. */
import type { App } from './app.ts';
import type { Graph } from './graph.ts';
import { nextTheme } from './theme.ts';
import { stepFound } from './toolbar.ts';

function nextMetric(app: App, by: 1 | -1): void {
	const count = app.model.profile.metrics.length;
	if (count > 0) app.store.update({ metric: (app.state.metric + by + count) % count, formula: -1 });
}

function escape(app: App, graph: Graph): void {
	if (app.state.help || !graph.settle()) app.back();
}

function bindings(app: App, graph: Graph, search: HTMLInputElement): Record<string, () => void> {
	const selected = (): number => (graph.selectedNode >= 0 ? graph.selectedNode : graph.zoomedNode);
	const key = (): number => app.tree.key[selected()]!;
	return {
		'/': () => search.select(),
		'?': () => app.store.update({ help: true }),
		'0': () => app.reset(),
		Home: () => app.reset(),
		Backspace: () => escape(app, graph),
		b: () => app.setDirection(app.state.direction === 'top-down' ? 'bottom-up' : 'top-down'),
		m: () => nextMetric(app, 1),
		M: () => nextMetric(app, -1),
		t: () => nextTheme(app.store, app.announce),
		n: () => stepFound(app, 1),
		N: () => stepFound(app, -1),
		c: () => key() >= 0 && app.showCallers(key()),
		h: () => key() >= 0 && app.markFrame(app.tree.frameOf(selected())),
	};
}

const ARROWS = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'];

export function listenToKeys(app: App, graph: Graph, search: HTMLInputElement): void {
	const bound = bindings(app, graph, search);
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const target = event.target as HTMLElement;
		if (event.key === 'Escape') {
			if (target === search) search.blur();
			escape(app, graph);
			event.preventDefault();
			return;
		}
		if (target.matches('input, select, textarea') || app.state.help) return;
		const onGraph = target === document.body || graph.element.contains(target);
		if (onGraph && ARROWS.includes(event.key)) graph.arrow(event.key);
		else if (onGraph && event.key === 'Enter' && graph.selectedNode >= 0) app.zoomTo(graph.selectedNode);
		else if (bound[event.key]) bound[event.key]!();
		else return;
		event.preventDefault();
	});
}
