/**
 * What our plugins give each other.
 */

import { Token } from '@lumino/coreutils';

import type { IContext } from './components/context.js';

/** The engine, the surroundings and the language of a page: one of each, so that there is one socket. */
export const IPage = new Token<IContext>('jupyter-pai:IPage', 'The engine that views of training jobs ask.');
