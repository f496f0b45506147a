/* SPDX-License-Identifier: Apache-2.0 */
/* The layers with their colour and exclusive share: a click folds a layer away, pointing picks it out. */
import { css, LAYERS, layerSwatch } from '../logic/colour.ts';
import type { Theme } from '../logic/colour.ts';
import { layerOf } from '../logic/keys.ts';
import { HOT_SHARE } from '../logic/model.ts';
import { formatShare } from '../logic/units.ts';
import type { State } from '../store.ts';
import type { App, View } from './app.ts';
import { h } from './dom.ts';

/* Layers that the profile has below its root. */
function presentLayers(app: App): Set<string> {
	const { contexts } = app.model.profile;
	const present = new Set<string>();
	for (let c = 1; c < contexts.count; c++) present.add(layerOf(app.model.profile, contexts.frame[c]!));
	return present;
}

export function toggleLayer(app: App, layer: string): void {
	const folded = new Set(app.state.folded);
	if (!folded.delete(layer)) folded.add(layer);
	app.store.update({ folded });
}

export function createLegend(app: App, theme: () => Theme): View {
	const present = presentLayers(app);
	const layers = LAYERS.filter(({ id }) => present.has(id));
	const chips = layers.map(({ id, label }) => {
		const share = h('span', { class: 'share' });
		const swatch = h('span', { class: 'swatch' });
		const chip = h('button', {
			type: 'button', class: 'chip', 'data-layer': id,
			onclick: () => toggleLayer(app, id),
			onpointerenter: () => app.store.update({ dimmedBut: id }),
			onpointerleave: () => app.store.update({ dimmedBut: '' }),
		}, swatch, label, share);
		return { id, label, chip, swatch, share };
	});
	const hot = h('span', { class: 'hot-key', title: 'The bar lies below the part of the box that is its own cost' },
		h('span', { class: 'hot-bar' }), `own cost ≥ ${100 * HOT_SHARE} %`);
	const element = h('div', { class: 'legend', role: 'group', 'aria-label': 'Layers' }, ...chips.map(({ chip }) => chip), hot);
	const update = (state: State): void => {
		const shares = app.model.layers(state);
		const total = app.model.weights(state.metric, state.measure).total;
		for (const { id, label, chip, swatch, share } of chips) {
			const shown = !state.folded.has(id);
			chip.setAttribute('aria-pressed', String(shown));
			chip.title = shown ? `Fold ${label} away: its cost goes to its callers` : `Show ${label} again`;
			swatch.style.background = css(layerSwatch(id, theme()));
			const own = shares.get(id) ?? 0;
			share.textContent = own > 0 ? formatShare(own, total) : '';
		}
	};
	return { element, update };
}
