/* SPDX-License-Identifier: Apache-2.0 */
/* How complete a measurement is, in words for the page's badge. */
import type { Drop, Profile } from '../format/decode.ts';

export interface Losses {
	readonly drops: readonly Drop[]; /* with a count, the greatest first */
	readonly share: number; /* of samples taken and lost; NaN where nothing was sampled */
	readonly samples: number;
	readonly why: string; /* not everything was measured, for people; '' where all was */
}

export function lossesOf(profile: Profile): Losses {
	const drops = profile.drops.filter((drop) => drop.count > 0).sort((a, b) => b.count - a.count);
	const { samples } = profile;
	const complete = (profile.properties.get('complete') ?? 'true') === 'true';
	const lost = drops.reduce((sum, drop) => sum + drop.count, 0);
	return {
		drops,
		share: samples > 0 ? lost / (lost + samples) : NaN,
		samples,
		why: complete ? '' : profile.properties.get('incomplete') || 'it is not known why',
	};
}
